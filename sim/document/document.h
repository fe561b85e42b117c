// A YAML file as plain data in which every node knows its place. Hides yaml-cpp. Duplicate keys,
// merge keys, cycles, tabs, wrong encoding, too large files and too deep nesting are diagnostics,
// never crashes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/diagnostics.h"

namespace foretrain {

struct DocumentEntry;

struct DocumentNode {
  enum class Kind { kNull, kScalar, kSequence, kMap };
  Kind kind = Kind::kNull;
  SourceLocation location;
  std::string scalar;                  // text of a scalar, as written
  bool quoted = false;                 // "no" and no can be told apart
  std::vector<DocumentNode> items;     // of a sequence
  std::vector<DocumentEntry> entries;  // of a map, in file order, keys unique

  /// The value of a key of this map, or nullptr.
  [[nodiscard]] const DocumentNode* find(std::string_view key) const;
};

struct DocumentEntry {
  std::string key;
  SourceLocation key_location;
  DocumentNode value;
};

struct DocumentLimits {
  std::size_t max_bytes = 4u << 20;  // 4 MiB
  int max_depth = 32;
  std::size_t max_nodes = 200'000;  // after expansion of aliases
};

/// Reads a file. `file` in locations is `path` as given.
[[nodiscard]] Result<DocumentNode> read_document(const std::string& path,
                                                 DocumentLimits limits = {});
/// Parses text; `name` stands for the file in locations.
[[nodiscard]] Result<DocumentNode> parse_document(std::string_view text, const std::string& name,
                                                  DocumentLimits limits = {});

/// One line of YAML (flow style) that parses to the same tree, places apart. A plain scalar that
/// needs quotes here gets them.
[[nodiscard]] std::string print_document(const DocumentNode& node);

}  // namespace foretrain
