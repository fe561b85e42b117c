// Reads the keys of one catalog entry strictly: every wrong, missing or unknown key becomes a
// diagnostic with its place, and reading goes on, so that a file's problems are shown together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/core/unit_parser.h"
#include "sim/document/document.h"

namespace foretrain {

class EntryReader {
 public:
  struct IntegerRange {
    std::int64_t low = 0;
    std::int64_t high = 0;
  };

  /// `map` and `diagnostics` must outlive the reader. `path` leads to the entry ("gpus.h100-sxm").
  EntryReader(const DocumentNode& map, std::string path, Diagnostics& diagnostics);

  [[nodiscard]] std::string text(std::string_view key);
  [[nodiscard]] std::string optional_text(std::string_view key);
  /// One of `choices`; otherwise a diagnostic that names the nearest and lists all.
  [[nodiscard]] std::string choice(std::string_view key, const std::vector<std::string>& choices);
  /// The same, and `fallback` where the key is absent.
  [[nodiscard]] std::string optional_choice(std::string_view key,
                                            const std::vector<std::string>& choices,
                                            std::string fallback);
  /// A whole number in the range; 0 after a diagnostic.
  [[nodiscard]] std::int64_t integer(std::string_view key, IntegerRange range);

  /// A quantity with its unit, read by one of the parsers of sim/core/unit_parser.h.
  template <class T>
  [[nodiscard]] T quantity(std::string_view key, UnitResult<T> (*parse)(std::string_view)) {
    const DocumentNode* node = scalar(key, true);
    return node == nullptr ? T{} : parsed(key, *node, parse);
  }
  /// The same, and T{} where the key is absent.
  template <class T>
  [[nodiscard]] T optional_quantity(std::string_view key,
                                    UnitResult<T> (*parse)(std::string_view)) {
    const DocumentNode* node = scalar(key, false);
    return node == nullptr ? T{} : parsed(key, *node, parse);
  }

  /// A map under `key`, or nullptr (with a diagnostic if it is required and absent, or no map).
  [[nodiscard]] const DocumentNode* map(std::string_view key, bool required);

  /// Reports `message` at the value of `key`.
  void report(std::string_view key, std::string message, std::string hint = {});
  /// Reports keys that nothing has asked for, with the nearest known one.
  void finish();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::vector<std::string>& known_keys() const { return known_; }

 private:
  [[nodiscard]] const DocumentNode* scalar(std::string_view key, bool required);
  [[nodiscard]] std::string checked(std::string_view key, const DocumentNode& node,
                                    const std::vector<std::string>& choices);
  void add(const SourceLocation& at, std::string path, std::string message, std::string hint);
  template <class T>
  [[nodiscard]] T parsed(std::string_view key, const DocumentNode& node,
                         UnitResult<T> (*parse)(std::string_view)) {
    auto result = parse(node.scalar);
    if (result) return *result;
    add(node.location, path_ + "." + std::string{key}, result.error().message, result.error().hint);
    return T{};
  }

  const DocumentNode& map_;
  std::string path_;
  Diagnostics& diagnostics_;
  std::vector<std::string> known_;
};

}  // namespace foretrain
