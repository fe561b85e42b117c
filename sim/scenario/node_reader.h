// Typed reading of a document's map: every problem becomes a diagnostic, unknown keys name the
// nearest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/core/unit_parser.h"
#include "sim/document/document.h"
#include "sim/scenario/keys.h"

namespace foretrain {

/// Collects problems; shared by all readers of one scenario.
struct Problems {
  Diagnostics diagnostics;
  void error(const SourceLocation& at, std::string path, std::string message,
             std::string hint = {});
  void note(Severity severity, const SourceLocation& at, std::string path, std::string message,
            std::string hint = {});
  /// True if an error concerns a path or what lies below it.
  [[nodiscard]] bool any_below(std::string_view path) const;
};

/// A map of the scenario and the path of its keys in the table of keys.h.
class NodeReader {
 public:
  /// `node` may be null (absent: everything is absent) or not a map (a diagnostic, then as absent).
  NodeReader(const DocumentNode* node, std::string path, Problems& problems);
  /// An item of a list: `path` is "expect[]" in the table, problems say "expect[2]".
  static NodeReader item(const DocumentNode& node, const std::string& list, std::size_t index,
                         Problems& problems);

  [[nodiscard]] bool present() const { return node_ != nullptr; }
  [[nodiscard]] const SourceLocation& location() const { return location_; }
  /// Path of a key as messages show it.
  [[nodiscard]] std::string path_of(const std::string& key) const;
  /// Place of a dotted path, seen from the top: of its deepest part that is written.
  [[nodiscard]] SourceLocation locate(std::string_view path) const;
  /// Place of a key's value, or of the map if it is absent.
  [[nodiscard]] SourceLocation at(const std::string& key) const;
  /// The value of a key, or nullptr if it is absent or null. @pre the table of keys has the key.
  [[nodiscard]] const DocumentNode* child(const std::string& key) const;
  [[nodiscard]] NodeReader map(const std::string& key) const;

  [[nodiscard]] std::optional<std::string> text(const std::string& key) const;
  /// Whole number in [least, most].
  [[nodiscard]] std::optional<std::int64_t> integer(const std::string& key, std::int64_t least,
                                                    std::int64_t most) const;
  [[nodiscard]] std::optional<double> number(const std::string& key) const;
  [[nodiscard]] std::optional<bool> boolean(const std::string& key) const;
  /// A word of the key's choices in the table, or of `words` where those are catalog names.
  [[nodiscard]] std::optional<std::string> choice(const std::string& key,
                                                  const std::vector<std::string>& words = {}) const;
  template <class T>
  [[nodiscard]] std::optional<T> quantity(const std::string& key,
                                          UnitResult<T> (*parse)(std::string_view)) const {
    const std::optional<std::string> value = text(key);
    if (!value) return std::nullopt;
    const UnitResult<T> parsed = parse(*value);
    if (!parsed) {
      problems_->error(at(key), path_of(key), parsed.error().message, parsed.error().hint);
      return std::nullopt;
    }
    return *parsed;
  }
  /// A problem of a key's value, and of the map as a whole.
  void error(const std::string& key, std::string message, std::string hint = {}) const {
    problems_->error(at(key), path_of(key), std::move(message), std::move(hint));
  }
  void error_here(std::string message, std::string hint = {}) const {
    problems_->error(location_, shown_, std::move(message), std::move(hint));
  }
  /// Something assumed or ignored: not an error.
  void warn(const std::string& key, std::string message, std::string hint = {}) const {
    problems_->note(Severity::kWarning, at(key), path_of(key), std::move(message), std::move(hint));
  }
  /// Missing required key.
  void require(const std::string& key, const std::string& hint) const;

 private:
  NodeReader(const DocumentNode* node, std::string path, std::string shown, Problems& problems);
  void check_keys() const;
  [[nodiscard]] const KeySpec& spec_of(const std::string& key) const;

  const DocumentNode* node_;
  std::string path_;   // in the table of keys
  std::string shown_;  // in messages
  Problems* problems_;
  SourceLocation location_;
};

/// "a" or "a, b or c" for messages.
[[nodiscard]] std::string listed(const std::vector<std::string>& words);

/// Exact decimal or scientific whole number.
[[nodiscard]] std::optional<std::int64_t> parse_integer(const std::string& text);
[[nodiscard]] std::optional<double> parse_number(const std::string& text);

}  // namespace foretrain
