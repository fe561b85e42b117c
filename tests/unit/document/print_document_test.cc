// What is printed parses to the same tree: random trees with awkward texts.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <set>

#include "sim/document/document.h"

namespace foretrain {
namespace {

bool same(const DocumentNode& a, const DocumentNode& b) {
  if (a.kind != b.kind || a.scalar != b.scalar) return false;
  if (a.items.size() != b.items.size() || a.entries.size() != b.entries.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!same(a.items[i], b.items[i])) return false;
  }
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    if (a.entries[i].key != b.entries[i].key) return false;
    if (!same(a.entries[i].value, b.entries[i].value)) return false;
  }
  return true;
}

rc::Gen<std::string> text() {
  static const std::string kAlphabet = "ab0.-~ :#,[]{}&*!|>'\"\\%@`?<=\n\tn/+";
  return rc::gen::oneOf(
      rc::gen::container<std::string>(rc::gen::elementOf(kAlphabet)),
      rc::gen::element<std::string>("400 Gbit/s", "true", "null", "~", "-1", "1e-5", "- a", "---",
                                    "...", "<<", "a: b", "50 %", "\xC2\xB5s", "2.28", " x", "-"));
}

DocumentNode tree(int depth) {
  DocumentNode node;
  const int kind = *rc::gen::inRange(0, depth > 0 ? 4 : 2);
  if (kind == 0) return node;
  if (kind == 1) {
    node.kind = DocumentNode::Kind::kScalar;
    node.scalar = *text();
    return node;
  }
  node.kind = kind == 2 ? DocumentNode::Kind::kSequence : DocumentNode::Kind::kMap;
  const int size = *rc::gen::inRange(0, 4);
  std::set<std::string> keys;
  for (int i = 0; i < size; ++i) {
    if (kind == 2) {
      node.items.push_back(tree(depth - 1));
      continue;
    }
    const std::string key = *text();
    if (keys.insert(key).second) node.entries.push_back({key, {}, tree(depth - 1)});
  }
  return node;
}

RC_GTEST_PROP(PrintDocument, ParsesToTheSameTree, ()) {
  DocumentNode root;
  root.kind = DocumentNode::Kind::kMap;
  root.entries.push_back({"root", {}, tree(4)});
  const std::string printed = print_document(root);
  const Result<DocumentNode> parsed = parse_document(printed, "printed");
  RC_LOG() << printed << "\n";
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(same(root, *parsed));
  // Printing what was parsed changes nothing more.
  RC_ASSERT(print_document(*parsed) == printed);
}

TEST(PrintDocument, KeepsUsualTextsPlain) {
  const std::string text =
      "{a: {bandwidth: 400 Gbit/s, count: 8, on: true}, list: [1, -2.5, null]}";
  const Result<DocumentNode> parsed = parse_document(text, "a.yaml");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(print_document(*parsed), text);
}

}  // namespace
}  // namespace foretrain
