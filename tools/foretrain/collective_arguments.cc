#include "tools/foretrain/collective_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "sim/core/unit_parser.h"
#include "sim/document/csv_rows.h"

namespace foretrain {
namespace {

const std::vector<std::string>& op_names() {
  static const std::vector<std::string> names{"all_reduce", "all_gather", "reduce_scatter",
                                              "broadcast",  "reduce",     "all_to_all",
                                              "send_recv"};
  return names;
}

std::optional<int> whole_number(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream{text};
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

/// "1GiB" as "1 GiB"; a bare number is bytes, as nccl-tests takes it.
Result<Bytes> parse_size(const std::string& text) {
  std::string spaced = text;
  const std::size_t unit = spaced.find_first_not_of("0123456789.");
  if (unit == std::string::npos) {
    spaced += " B";
  } else if (unit > 0 && spaced[unit] != ' ') {
    spaced.insert(unit, " ");
  }
  const UnitResult<Bytes> size = parse_bytes(spaced);
  if (!size)
    return fail(fmt::format("size '{}': {}", text, size.error().message), size.error().hint);
  if (size->count() <= 0) return fail(fmt::format("size '{}' must be positive", text));
  return *size;
}

}  // namespace

Result<CollectiveKind> parse_op(const std::string& text) {
  static const std::map<std::string, std::string> others{
      {"alltoall", "all_to_all"},          {"sendrecv", "send_recv"},
      {"allreduce", "all_reduce"},         {"allgather", "all_gather"},
      {"reducescatter", "reduce_scatter"}, {"all_to_all_single", "all_to_all"}};
  std::string name = text.ends_with("_perf") ? text.substr(0, text.size() - 5) : text;
  if (const auto found = others.find(name); found != others.end()) name = found->second;
  const auto& names = op_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    const std::string nearest = nearest_name(name, names);
    return fail(
        fmt::format("'{}' is not a collective", text),
        nearest.empty()
            ? "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, send_recv"
            : "did you mean " + nearest + "?");
  }
  // In the order of the enumerators.
  return static_cast<CollectiveKind>(found - names.begin());
}

Result<std::vector<int>> parse_ranks(const std::string& text, int num_gpus) {
  std::vector<int> ranks;
  std::set<int> seen;
  if (text == "all") {
    for (int rank = 0; rank < num_gpus; ++rank) ranks.push_back(rank);
    return ranks;
  }
  for (const std::string& part : split(text, ',')) {
    const std::size_t colon = part.find(':');
    const std::string range = part.substr(0, colon);
    const std::size_t dash = range.find('-');
    const auto first = whole_number(range.substr(0, dash));
    const auto last = dash == std::string::npos ? first : whole_number(range.substr(dash + 1));
    const auto step =
        colon == std::string::npos ? std::optional<int>{1} : whole_number(part.substr(colon + 1));
    if (!first || !last || !step || *step < 1 || *last < *first) {
      return fail(fmt::format("ranks '{}' cannot be read", text), "all, 0-7, 0,8,16 or 0-63:8");
    }
    if (*last >= num_gpus) {
      return fail(fmt::format("there is no rank {}", *last),
                  fmt::format("ranks are 0 to {}", num_gpus - 1));
    }
    for (int rank = *first; rank <= *last; rank += *step) {
      if (!seen.insert(rank).second) return fail(fmt::format("rank {} is named twice", rank));
      ranks.push_back(rank);
    }
  }
  if (ranks.empty()) return fail("no ranks are named", "all, 0-7, 0,8,16 or 0-63:8");
  return ranks;
}

Result<std::vector<int>> parse_query_ranks(const std::string& text, int num_gpus) {
  if (text.empty()) return parse_ranks("all", num_gpus);
  const auto count = whole_number(text);
  if (!count) return parse_ranks(text, num_gpus);
  if (*count < 1 || *count > num_gpus) {
    return fail(fmt::format("{} ranks do not fit on {} GPUs", *count, num_gpus));
  }
  return parse_ranks(fmt::format("0-{}", *count - 1), num_gpus);
}

Result<std::vector<Bytes>> parse_sizes(const std::string& text) {
  constexpr std::size_t kMostSizes = 10'000;
  const std::vector<std::string> parts = split(text, ':');
  if (parts.empty() || parts.size() == 2 || parts.size() > 3) {
    return fail(fmt::format("sizes '{}' cannot be read", text), "1GiB, or a sweep: 1KiB:8GiB:x2");
  }
  const Result<Bytes> first = parse_size(parts[0]);
  if (!first) return tl::make_unexpected(first.error());
  if (parts.size() == 1) return std::vector<Bytes>{*first};
  const Result<Bytes> last = parse_size(parts[1]);
  if (!last) return tl::make_unexpected(last.error());
  if (*last < *first) return fail(fmt::format("sizes '{}' end before they start", text));
  std::vector<Bytes> sizes;
  if (parts[2].starts_with('x')) {
    const auto factor = parse_plain_number(parts[2].substr(1));
    if (!factor || *factor <= 1)
      return fail("the factor of a sweep must be greater than 1", "1KiB:8GiB:x2");
    for (double size = first->as_double(); size <= last->as_double(); size *= *factor) {
      if (sizes.size() == kMostSizes)
        return fail(fmt::format("a sweep has at most {} sizes", kMostSizes));
      const Bytes next{static_cast<std::int64_t>(size)};
      if (sizes.empty() || sizes.back() < next) sizes.push_back(next);
    }
    return sizes;
  }
  const Result<Bytes> step = parse_size(parts[2]);
  if (!step) return tl::make_unexpected(step.error());
  for (Bytes size = *first; size <= *last; size += *step) {
    if (sizes.size() == kMostSizes)
      return fail(fmt::format("a sweep has at most {} sizes", kMostSizes));
    sizes.push_back(size);
  }
  return sizes;
}

Result<QueryFile> read_query_file(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) return fail(SourceLocation{path, 0, 0}, "", "cannot be read");
  QueryFile result;
  std::vector<std::string> columns;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (number == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    if (columns.empty()) {
      columns = split_csv_line(line);
      result.header = line;
      for (const char* needed : {"op", "bytes"}) {
        if (std::find(columns.begin(), columns.end(), needed) == columns.end()) {
          return fail(SourceLocation{path, 1, 1}, needed, "column is missing",
                      "columns: op,bytes,ranks,algorithm,protocol");
        }
      }
      continue;
    }
    if (line.empty()) continue;
    const std::vector<std::string> cells = split_csv_line(line);
    const auto cell = [&](const char* column) {
      const auto found = std::find(columns.begin(), columns.end(), column);
      const auto at = static_cast<std::size_t>(found - columns.begin());
      return at < cells.size() ? cells[at] : std::string{};
    };
    result.rows.push_back(
        {line, cell("op"), cell("bytes"), cell("ranks"), cell("algorithm"), cell("protocol")});
  }
  if (columns.empty())
    return fail(SourceLocation{path, 1, 1}, "", "is empty",
                "columns: op,bytes,ranks,algorithm,protocol");
  return result;
}

}  // namespace foretrain
