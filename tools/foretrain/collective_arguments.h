// What `foretrain collective` understands on its command line and in query files.
#pragma once

#include <string>
#include <vector>

#include "sim/collectives/collective.h"
#include "sim/core/diagnostics.h"
#include "sim/core/units.h"

namespace foretrain {

/// "all_reduce", also as nccl-tests names it ("alltoall", "sendrecv", "all_reduce_perf").
[[nodiscard]] Result<CollectiveKind> parse_op(const std::string& text);
/// "all", "0-7", "0,8,16", "0-3,8-11", "0-63:8" (every eighth). Ascending order is not needed;
/// duplicates are errors.
[[nodiscard]] Result<std::vector<int>> parse_ranks(const std::string& text, int num_gpus);
/// In query files also a count: "16" stands for ranks 0 to 15. Empty: all.
[[nodiscard]] Result<std::vector<int>> parse_query_ranks(const std::string& text, int num_gpus);
/// "1GiB", "1 GiB", or a sweep "1KiB:8GiB:x2" (factor) or "1MiB:4MiB:1MiB" (step).
[[nodiscard]] Result<std::vector<Bytes>> parse_sizes(const std::string& text);

struct QueryRow {
  std::string line;  // as read
  std::string op, bytes, ranks, algorithm, protocol;
};
struct QueryFile {
  std::string header;
  std::vector<QueryRow> rows;
};
/// A CSV file with columns op and bytes, and perhaps ranks, algorithm, protocol and others.
[[nodiscard]] Result<QueryFile> read_query_file(const std::string& path);

}  // namespace foretrain
