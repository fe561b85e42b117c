// Putting a scenario together: `extends`, patches, and single values from the command line.
#pragma once

#include <string>

#include "sim/core/diagnostics.h"
#include "sim/document/document.h"

namespace foretrain {

/// `over` on top of `base`: maps merge key by key, everything else replaces. Places stay those of
/// the text.
[[nodiscard]] DocumentNode merge_documents(DocumentNode base, const DocumentNode& over);

/// Follows `extends` of a parsed document whose file is `path` (for relative names). Cycles and
/// more than 8 levels are diagnostics. The `extends` key itself is gone from the result.
[[nodiscard]] Result<DocumentNode> resolve_extends(DocumentNode document, const std::string& path);

/// Sets one value, "job.parallel.tensor=4"; the value is YAML, null takes the key away. Maps on the
/// way are created; items of a list go by their number from 0.
[[nodiscard]] Result<DocumentNode> set_value(DocumentNode document, const std::string& assignment);

}  // namespace foretrain
