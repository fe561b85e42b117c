#include "sim/document/document.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace foretrain {

const DocumentNode* DocumentNode::find(std::string_view key) const {
  for (const DocumentEntry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

namespace {

/// Ends the parse; the diagnostic has been recorded.
struct StopParsing {};

SourceLocation location_of(const std::string& file, const YAML::Mark& mark) {
  return {file, mark.line + 1, mark.column + 1};
}

std::size_t count_nodes(const DocumentNode& node) {
  std::size_t count = 1;
  for (const DocumentNode& item : node.items) count += count_nodes(item);
  for (const DocumentEntry& entry : node.entries) count += count_nodes(entry.value);
  return count;
}

/// Builds the tree from yaml-cpp's events, so that limits hold while reading and keys are seen
/// twice.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& file, const DocumentLimits& limits)
      : file_(file), limits_(limits) {}

  DocumentNode take() { return std::move(root_); }
  [[nodiscard]] const Diagnostics& problems() const { return problems_; }

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(leaf(DocumentNode::Kind::kNull, mark), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      stop(mark, "an alias refers to a node that contains it", "write the value out instead");
    }
    nodes_ += count_nodes(found->second);
    check_size(mark);
    add(found->second, 0);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (is_custom(tag))
      problem(mark, fmt::format("tags such as '{}' are not used here", tag), "remove the tag");
    DocumentNode node = leaf(DocumentNode::Kind::kScalar, mark);
    node.scalar = value;
    node.quoted = tag == "!";
    // Plain nothings: yaml-cpp reports "~" and "null" as scalars of these texts.
    if (!node.quoted && (value == "~" || value == "null")) node.kind = DocumentNode::Kind::kNull;
    add(std::move(node), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(DocumentNode::Kind::kSequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(DocumentNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    DocumentNode node;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    bool drop = false;  // the value of a key that was refused
    std::string key;
    SourceLocation key_location;
    std::map<std::string, int> key_lines;  // of the keys seen, so that long maps stay cheap
  };

  static bool is_custom(const std::string& tag) {
    return !tag.empty() && tag != "?" && tag != "!" && !tag.starts_with("tag:yaml.org,2002:");
  }

  void problem(const YAML::Mark& mark, std::string message, std::string hint) {
    problems_.push_back(
        {Severity::kError, location_of(file_, mark), path(), std::move(message), std::move(hint)});
  }
  [[noreturn]] void stop(const YAML::Mark& mark, std::string message, std::string hint) {
    problem(mark, std::move(message), std::move(hint));
    throw StopParsing{};
  }
  [[nodiscard]] std::string path() const {
    std::string text;
    for (const Open& open : open_) {
      if (!open.has_key) continue;
      text += (text.empty() ? "" : ".") + open.key;
    }
    return text;
  }
  void check_size(const YAML::Mark& mark) {
    if (nodes_ <= limits_.max_nodes) return;
    stop(mark,
         fmt::format("the file holds more than {} values (after aliases are expanded)",
                     limits_.max_nodes),
         "split it, or write less by alias");
  }

  DocumentNode leaf(DocumentNode::Kind kind, const YAML::Mark& mark) {
    ++nodes_;
    check_size(mark);
    DocumentNode node;
    node.kind = kind;
    node.location = location_of(file_, mark);
    return node;
  }

  void open(DocumentNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    if (is_custom(tag))
      problem(mark, fmt::format("tags such as '{}' are not used here", tag), "remove the tag");
    if (static_cast<int>(open_.size()) >= limits_.max_depth) {
      stop(mark, fmt::format("nested deeper than {} levels", limits_.max_depth),
           "a scenario needs fewer than ten");
    }
    Open entry;
    entry.node = leaf(kind, mark);
    entry.anchor = anchor;
    open_.push_back(std::move(entry));
  }

  void close() {
    Open entry = std::move(open_.back());
    open_.pop_back();
    add(std::move(entry.node), entry.anchor);
  }

  void add(DocumentNode node, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_.insert_or_assign(anchor, node);
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == DocumentNode::Kind::kSequence) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.has_key) {
      take_key(parent, node);
    } else {
      if (!parent.drop) {
        parent.node.entries.push_back({parent.key, parent.key_location, std::move(node)});
      }
      parent.has_key = false;
      parent.drop = false;
    }
  }

  void take_key(Open& parent, const DocumentNode& key) {
    parent.key_location = key.location;
    if (key.kind != DocumentNode::Kind::kScalar) {
      const bool null = key.kind == DocumentNode::Kind::kNull;
      problems_.push_back({Severity::kError, key.location, path(),
                           null ? "an empty key" : "a key must be a plain word, not a list or map",
                           "write `key: value`"});
      parent.drop = true;
    } else if (key.scalar == "<<" && !key.quoted) {
      problems_.push_back({Severity::kError, key.location, path(),
                           "merge keys (<<) are not supported",
                           "use `extends:` to share between files, or write the keys out"});
      parent.drop = true;
    } else if (const auto [first, is_new] = parent.key_lines.emplace(key.scalar, key.location.line);
               !is_new) {
      const std::string prefix = path();
      problems_.push_back(
          {Severity::kError, key.location, prefix.empty() ? key.scalar : prefix + "." + key.scalar,
           fmt::format("key '{}' appears twice; first in line {}", key.scalar, first->second),
           "keep one of them"});
      parent.drop = true;
    }
    parent.key = key.scalar;
    parent.has_key = true;
  }

  std::string file_;
  DocumentLimits limits_;
  Diagnostics problems_;
  DocumentNode root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, DocumentNode> anchors_;
  std::size_t nodes_ = 0;
};

/// Position of the first byte that is not valid UTF-8, or npos.
std::size_t first_invalid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    std::size_t length = 1;
    if (byte >= 0x80) {
      if (byte >= 0xC2 && byte <= 0xDF)
        length = 2;
      else if (byte >= 0xE0 && byte <= 0xEF)
        length = 3;
      else if (byte >= 0xF0 && byte <= 0xF4)
        length = 4;
      else
        return i;
      if (i + length > text.size()) return i;
      for (std::size_t k = 1; k < length; ++k) {
        if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return i;
      }
      // Longer than need be, half of a UTF-16 pair, or beyond the last code point.
      const auto second = static_cast<unsigned char>(text[i + 1]);
      if ((byte == 0xE0 && second < 0xA0) || (byte == 0xED && second > 0x9F) ||
          (byte == 0xF0 && second < 0x90) || (byte == 0xF4 && second > 0x8F)) {
        return i;
      }
    }
    i += length;
  }
  return std::string_view::npos;
}

SourceLocation place_of(std::string_view text, std::size_t offset, const std::string& file) {
  SourceLocation location{file, 1, 1};
  for (std::size_t i = 0; i < offset; ++i) {
    if (text[i] == '\n') {
      ++location.line;
      location.column = 1;
    } else {
      ++location.column;
    }
  }
  return location;
}

/// What can be said of the bytes before YAML is tried.
Diagnostics check_bytes(std::string_view text, const std::string& file,
                        const DocumentLimits& limits) {
  const auto problem = [&](SourceLocation at, std::string message, std::string hint) {
    return Diagnostics{{Severity::kError, std::move(at), {}, std::move(message), std::move(hint)}};
  };
  const SourceLocation whole{file, 0, 0};
  if (text.size() > limits.max_bytes) {
    return problem(whole,
                   fmt::format("the file is {} bytes long; at most {} are read", text.size(),
                               limits.max_bytes),
                   "a scenario is a few kilobytes; is this the right file?");
  }
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    return problem(whole, "the file is UTF-16", "save it as UTF-8");
  }
  const auto is_control = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
  };
  const auto control = std::find_if(text.begin(), text.end(), is_control);
  if (control != text.end()) {
    const auto offset = static_cast<std::size_t>(control - text.begin());
    return problem(place_of(text, offset, file),
                   *control == '\0' ? "a NUL byte: this is not a text file"
                                    : fmt::format("a control character (0x{:02x})", *control),
                   "save it as UTF-8 text");
  }
  const std::size_t invalid = first_invalid_utf8(text);
  if (invalid != std::string_view::npos) {
    return problem(place_of(text, invalid, file), "not valid UTF-8", "save the file as UTF-8");
  }
  // A tab where YAML wants indentation gives a message nobody understands.
  std::size_t line_start = 0;
  for (int line = 1; line_start < text.size(); ++line) {
    const std::size_t indent = text.find_first_not_of(' ', line_start);
    if (indent != std::string_view::npos && text[indent] == '\t') {
      const std::size_t content = text.find_first_not_of(" \t", indent);
      if (content != std::string_view::npos && text[content] != '\n' && text[content] != '#') {
        return problem({file, line, static_cast<int>(indent - line_start) + 1},
                       "a tab in the indentation", "YAML indents with spaces only");
      }
    }
    const std::size_t end = text.find('\n', line_start);
    if (end == std::string_view::npos) break;
    line_start = end + 1;
  }
  return {};
}

Diagnostic yaml_problem(const YAML::Exception& error, const std::string& name, int lines) {
  SourceLocation at = {name, 0, 0};
  if (!error.mark.is_null()) at = location_of(name, error.mark);
  const bool at_end = at.line > lines;  // in what was added
  if (at_end) at = {name, lines, 1};
  if (at_end && error.msg == "illegal document indicator in scalar") {
    return {Severity::kError, at, {}, "not valid YAML: a quotation is never closed", {}};
  }
  if (error.msg == "illegal tab when looking for indentation") {
    return {Severity::kError, at, {}, "a tab in the indentation", "YAML indents with spaces only"};
  }
  return {Severity::kError, at, {}, "not valid YAML: " + error.msg, {}};
}

Result<DocumentNode> parse_checked(std::string_view text, const std::string& name,
                                   const DocumentLimits& limits) {
  // yaml-cpp takes a quotation that the end of the file leaves open; the end of a document it
  // refuses.
  std::istringstream stream{std::string{text} + "\n...\n"};
  const int lines = static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 1;
  TreeBuilder builder{name, limits};
  TreeBuilder second{name, limits};
  Diagnostics problems;
  try {
    YAML::Parser parser{stream};
    parser.HandleNextDocument(builder);
    while (builder.problems().empty() && parser.HandleNextDocument(second)) {
      const DocumentNode more = second.take();
      if (more.kind == DocumentNode::Kind::kNull) continue;
      return fail(more.location, {}, "a second document in one file",
                  "keep one document; remove the `---` line");
    }
  } catch (const StopParsing&) {
  } catch (const YAML::Exception& error) {
    problems.push_back(yaml_problem(error, name, lines));
  }
  problems.insert(problems.begin(), second.problems().begin(), second.problems().end());
  problems.insert(problems.begin(), builder.problems().begin(), builder.problems().end());
  if (!problems.empty()) return tl::make_unexpected(problems);
  DocumentNode root = builder.take();
  if (root.kind == DocumentNode::Kind::kNull) {
    return fail({name, 0, 0}, {}, "the file is empty", "a scenario begins with `foretrain: 1`");
  }
  return root;
}

}  // namespace

Result<DocumentNode> parse_document(std::string_view text, const std::string& name,
                                    DocumentLimits limits) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  Diagnostics problems = check_bytes(text, name, limits);
  if (!problems.empty()) return tl::make_unexpected(problems);
  return parse_checked(text, name, limits);
}

Result<DocumentNode> read_document(const std::string& path, DocumentLimits limits) {
  const SourceLocation whole{path, 0, 0};
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return fail(whole, {}, "no such file");
  if (std::filesystem::is_directory(status)) {
    return fail(whole, {}, "this is a directory", "name a scenario file (.yaml)");
  }
  if (!std::filesystem::is_regular_file(status)) return fail(whole, {}, "not a regular file");
  const auto size = std::filesystem::file_size(path, error);
  if (!error && size > limits.max_bytes) {
    return fail(
        whole, {},
        fmt::format("the file is {} bytes long; at most {} are read", size, limits.max_bytes),
        "a scenario is a few kilobytes; is this the right file?");
  }
  std::ifstream file{path, std::ios::binary};
  if (!file) return fail(whole, {}, fmt::format("cannot be read: {}", std::strerror(errno)));
  std::ostringstream content;
  content << file.rdbuf();
  if (!file) return fail(whole, {}, fmt::format("cannot be read: {}", std::strerror(errno)));
  return parse_document(content.str(), path, limits);
}

}  // namespace foretrain
