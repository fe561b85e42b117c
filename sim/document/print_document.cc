#include <fmt/format.h>

#include <algorithm>

#include "sim/document/document.h"

namespace foretrain {
namespace {

/// True if a flow collection takes the text as it stands, as one scalar that is not null.
bool is_plain(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "<<") return false;
  const auto harmless = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '/' || c == '+' || c == '-' || c == ' ';
  };
  if (!std::all_of(text.begin(), text.end(), harmless)) return false;
  const auto is_word = [](char c) { return c != ' ' && c != '-'; };
  // A leading '-' is safe before a digit (a negative number); "---" and "..." are not.
  const bool negative = text.size() > 1 && text[0] == '-' && text[1] >= '0' && text[1] <= '9';
  return (is_word(text.front()) || negative) && text.back() != ' ' && !text.starts_with("...");
}

void print_scalar(const std::string& text, bool quoted, std::string& out) {
  if (!quoted && is_plain(text)) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  out += '"';
}

void print(const DocumentNode& node, std::string& out) {
  const char* separator = "";
  switch (node.kind) {
    case DocumentNode::Kind::kNull: out += "null"; return;
    case DocumentNode::Kind::kScalar: print_scalar(node.scalar, node.quoted, out); return;
    case DocumentNode::Kind::kSequence:
      out += '[';
      for (const DocumentNode& item : node.items) {
        out += separator;
        print(item, out);
        separator = ", ";
      }
      out += ']';
      return;
    case DocumentNode::Kind::kMap:
      out += '{';
      for (const DocumentEntry& entry : node.entries) {
        out += separator;
        print_scalar(entry.key, entry.key == "<<", out);
        out += ": ";
        print(entry.value, out);
        separator = ", ";
      }
      out += '}';
      return;
  }
}

}  // namespace

std::string print_document(const DocumentNode& node) {
  std::string text;
  print(node, text);
  return text;
}

}  // namespace foretrain
