#include "sim/document/document.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace foretrain {
namespace {

/// The only diagnostic of a text, or what came instead.
Diagnostic only_problem(const std::string& text, DocumentLimits limits = {}) {
  const Result<DocumentNode> document = parse_document(text, "a.yaml", limits);
  if (document) return {Severity::kNote, {}, {}, "parsed", {}};
  EXPECT_EQ(document.error().size(), 1u) << to_string(document.error());
  return document.error().front();
}

TEST(Document, KnowsThePlaceOfEveryNode) {
  const Result<DocumentNode> document =
      parse_document("cluster:\n  node: dgx-h100\n  list: [1, 'two']\n", "a.yaml");
  ASSERT_TRUE(document.has_value());
  const DocumentNode* cluster = document->find("cluster");
  ASSERT_NE(cluster, nullptr);
  const DocumentNode* node = cluster->find("node");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->location, (SourceLocation{"a.yaml", 2, 9}));
  EXPECT_EQ(cluster->entries[1].key_location, (SourceLocation{"a.yaml", 3, 3}));
  const DocumentNode& two = cluster->find("list")->items[1];
  EXPECT_EQ(two.location, (SourceLocation{"a.yaml", 3, 13}));
  EXPECT_EQ(two.scalar, "two");
  EXPECT_TRUE(two.quoted);
  EXPECT_FALSE(cluster->find("list")->items[0].quoted);
  EXPECT_EQ(cluster->find("absent"), nullptr);
}

TEST(Document, NullsAreNullsUnlessQuoted) {
  const Result<DocumentNode> document = parse_document("[~, null, '~', \"null\", ]", "a.yaml");
  ASSERT_TRUE(document.has_value());
  ASSERT_EQ(document->items.size(), 4u);
  EXPECT_EQ(document->items[0].kind, DocumentNode::Kind::kNull);
  EXPECT_EQ(document->items[1].kind, DocumentNode::Kind::kNull);
  EXPECT_EQ(document->items[2].kind, DocumentNode::Kind::kScalar);
  EXPECT_EQ(document->items[3].scalar, "null");
}

TEST(Document, AllDuplicateKeysAreNamedAtOnce) {
  const Result<DocumentNode> document = parse_document("a: 1\nb: {c: 1, c: 2}\na: 2\n", "a.yaml");
  ASSERT_FALSE(document.has_value());
  EXPECT_EQ(to_string(document.error()),
            "a.yaml:2:11: error: b.c: key 'c' appears twice; first in line 2\n"
            "  hint: keep one of them\n"
            "a.yaml:3:1: error: a: key 'a' appears twice; first in line 1\n"
            "  hint: keep one of them\n");
}

TEST(Document, MergeKeysAndTagsAreRefused) {
  EXPECT_EQ(only_problem("a: &x {b: 1}\nc: {<<: *x}\n").message,
            "merge keys (<<) are not supported");
  EXPECT_EQ(only_problem("'<<': 1\n").message, "parsed");
  EXPECT_EQ(only_problem("a: !python/object 1\n").path, "a");
}

TEST(Document, AliasesCopyTheirNode) {
  const Result<DocumentNode> document = parse_document("a: &x {b: 1}\nc: *x\n", "a.yaml");
  ASSERT_TRUE(document.has_value());
  EXPECT_EQ(document->find("c")->find("b")->scalar, "1");
  // The place is where the text stands.
  EXPECT_EQ(document->find("c")->find("b")->location.line, 1);
}

/// Nine levels of nine aliases would be 9^9 nodes; a limit of 1,000 stops at the fourth.
TEST(Document, AliasExpansionIsBounded) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int k = 0; k < 8; ++k) text += ", " + last;
    text += "]\n";
  }
  DocumentLimits limits;
  limits.max_nodes = 1000;
  const Diagnostic problem = only_problem(text, limits);
  EXPECT_EQ(problem.message, "the file holds more than 1000 values (after aliases are expanded)");
  EXPECT_EQ(problem.location.line, 4);
  EXPECT_GT(only_problem(text).location.line, 4);
}

TEST(Document, CyclesAreRefused) {
  EXPECT_EQ(only_problem("a: &x {b: *x}\n").message, "an alias refers to a node that contains it");
}

TEST(Document, DepthIsBounded) {
  DocumentLimits limits;
  limits.max_depth = 3;
  EXPECT_EQ(only_problem("[[[1]]]", limits).message, "parsed");
  EXPECT_EQ(only_problem("[[[[1]]]]", limits).message, "nested deeper than 3 levels");
  EXPECT_EQ(only_problem("{a: {b: {c: {d: 1}}}}", limits).path, "a.b.c");
}

TEST(Document, TabsAndBytesThatAreNoText) {
  const Diagnostic tab = only_problem("a:\n\tb: 1\n");
  EXPECT_EQ(tab.message, "a tab in the indentation");
  EXPECT_EQ(tab.location, (SourceLocation{"a.yaml", 2, 1}));
  EXPECT_EQ(only_problem("a: 1\nb: \t2\n").message, "parsed");
  EXPECT_EQ(only_problem("a: 1\x04\nb: 2\n").message, "a control character (0x04)");
  EXPECT_EQ(only_problem("a: 1\r\nb:\r\n  c: 2\r\n").message, "parsed");
  EXPECT_EQ(only_problem("\xEF\xBB\xBF"
                         "a: 1\n")
                .message,
            "parsed");  // a byte-order mark
  EXPECT_EQ(only_problem(std::string("\xFF\xFE"
                                     "a\0",
                                     4))
                .message,
            "the file is UTF-16");
  EXPECT_EQ(only_problem(std::string("a: \0", 4)).location.column, 4);
  for (const char* wrong :
       {"a: \xC3(", "a: \xC0\x80", "a: \xF8", "a: \xE2\x82", "a: \xED\xA0\x80"}) {
    EXPECT_EQ(only_problem(wrong).message, "not valid UTF-8") << wrong;
  }
  EXPECT_EQ(only_problem("a: 10 \xC2\xB5s, \xE2\x82\xAC, \xF0\x9F\x98\x80\n").message, "parsed");
}

TEST(Document, EmptyAndSeveralDocuments) {
  for (const char* empty : {"", "# nothing\n", "---\n", "~\n", "\n\n"}) {
    EXPECT_EQ(only_problem(empty).message, "the file is empty") << empty;
  }
  const Diagnostic second = only_problem("a: 1\n---\nb: 2\n");
  EXPECT_EQ(second.message, "a second document in one file");
  EXPECT_EQ(second.location.line, 3);
}

TEST(Document, WrongYamlHasAPlace) {
  for (const char* wrong : {"a: [1, 2\n", "a: b: c\n", "a: 'x\n", "a: [1\n", "a: {b\n", "a: \"x\n",
                            "- a\nb: 1\n", "? [1, 2]\n: 3\n", "@a\n"}) {
    const Diagnostic problem = only_problem(wrong);
    EXPECT_EQ(problem.severity, Severity::kError) << wrong;
    EXPECT_GT(problem.location.line, 0) << wrong;
  }
}

/// Limits hold the work as well: each of these is 4 MB of something that could be quadratic.
TEST(Document, LargeFilesStayCheap) {
  std::string keys;
  for (int i = 0; i < 90'000; ++i) keys += "k" + std::to_string(i) + ": 1\n";
  EXPECT_EQ(only_problem(keys).message, "parsed");
  EXPECT_EQ(only_problem(std::string(4'000'000, '[')).severity, Severity::kError);
  EXPECT_EQ(only_problem(std::string(100, '[') + std::string(100, ']')).message,
            "nested deeper than 32 levels");
  EXPECT_EQ(only_problem("a: " + std::string(4'000'000, 'x')).message, "parsed");
  EXPECT_EQ(only_problem(std::string(5'000'000, ' ')).message,
            "the file is 5000000 bytes long; at most 4194304 are read");
}

TEST(Document, FilesThatCannotBeRead) {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::temp_directory_path() / ("foretrain-document-" + std::to_string(getpid()));
  fs::create_directories(folder);
  const auto message = [&](const std::string& name) {
    const Result<DocumentNode> document = read_document((folder / name).string());
    return document ? "parsed" : document.error().front().message;
  };
  EXPECT_EQ(message("absent.yaml"), "no such file");
  EXPECT_EQ(message("."), "this is a directory");
  std::ofstream{folder / "a.yaml"} << "a: 1\n";
  EXPECT_EQ(message("a.yaml"), "parsed");
  if (geteuid() != 0) {
    fs::permissions(folder / "a.yaml", fs::perms::none);
    EXPECT_EQ(message("a.yaml"), "cannot be read: Permission denied");
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace foretrain
