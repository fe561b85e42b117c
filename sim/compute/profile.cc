#include "sim/compute/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/core/fingerprint.h"

namespace foretrain {
namespace {

using Json = nlohmann::json;

constexpr int kSchemaVersion = 1;
constexpr std::size_t kMaxBytes = 8u << 20;
constexpr std::size_t kMaxPoints = 1u << 20;
constexpr double kMilli = 1e-3;

struct Range {
  double low = 0;
  double high = 0;
};

/// Reads members of a JSON object; each problem becomes a diagnostic with the dotted path.
class ObjectReader {
 public:
  ObjectReader(const Json& json, std::string path, const std::string& file, Diagnostics& problems)
      : json_(json), path_(std::move(path)), file_(file), problems_(problems) {
    if (!json_.is_object()) report("", "must be an object");
  }

  void report(const std::string& key, std::string message) {
    const std::string joined = path_.empty() ? key : key.empty() ? path_ : path_ + "." + key;
    problems_.push_back(Diagnostic{Severity::kError, SourceLocation{file_, 0, 0}, joined,
                                   std::move(message),
                                   "make the profile again with foretrain calibrate"});
  }

  const Json* member(const std::string& key) {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(key);
    if (found != json_.end()) return &*found;
    report(key, "is missing");
    return nullptr;
  }

  double number(const std::string& key, Range range) {
    const Json* found = member(key);
    if (found == nullptr) return range.low;
    return checked(*found, key, range);
  }

  std::string text(const std::string& key) {
    const Json* found = member(key);
    if (found == nullptr) return {};
    if (!found->is_string()) {
      report(key, "must be a string");
      return {};
    }
    return found->get<std::string>();
  }

  std::vector<double> numbers(const std::string& key, Range range) {
    std::vector<double> values;
    const Json* found = member(key);
    if (found == nullptr) return values;
    if (!found->is_array() || found->size() > kMaxPoints) {
      report(key, "must be a list of numbers");
      return values;
    }
    values.reserve(found->size());
    for (const Json& item : *found) {
      const std::size_t before = problems_.size();
      values.push_back(checked(item, key, range));
      if (problems_.size() > before) break;  // one report for a list is enough
    }
    return values;
  }

  ObjectReader child(const std::string& key) {
    static const Json empty = Json::object();
    const Json* found = member(key);
    return {found == nullptr ? empty : *found, path_.empty() ? key : path_ + "." + key, file_,
            problems_};
  }

  std::vector<ObjectReader> children(const std::string& key) {
    std::vector<ObjectReader> readers;
    const Json* found = member(key);
    if (found == nullptr) return readers;
    if (!found->is_array()) {
      report(key, "must be a list");
      return readers;
    }
    for (std::size_t i = 0; i < found->size(); ++i) {
      readers.push_back({(*found)[i], fmt::format("{}[{}]", key, i), file_, problems_});
    }
    return readers;
  }

  [[nodiscard]] const Json& json() const { return json_; }
  [[nodiscard]] Diagnostics& problems() { return problems_; }

 private:
  double checked(const Json& value, const std::string& key, Range range) {
    if (!value.is_number()) {
      report(key, "must be a number");
      return range.low;
    }
    const double number = value.get<double>();
    if (!std::isfinite(number) || number < range.low || number > range.high) {
      report(key, fmt::format("{} is not within {} to {}", number, range.low, range.high));
      return range.low;
    }
    return number;
  }

  const Json& json_;
  std::string path_;
  const std::string& file_;
  Diagnostics& problems_;
};

DataType read_type(ObjectReader& reader) {
  const std::string text = reader.text("dtype");
  const std::optional<DataType> type = parse_data_type(text);
  if (!type) reader.report("dtype", fmt::format("'{}' is no data type", text));
  return type.value_or(DataType::kBf16);
}

HeldOutError read_error(ObjectReader reader) {
  HeldOutError error;
  error.points = static_cast<int>(reader.number("points", {0, 1e9}));
  error.median = reader.number("median_abs_error", {0, 1e3});
  error.p90 = reader.number("p90_abs_error", {0, 1e3});
  return error;
}

GridTable read_grid(ObjectReader& reader, const std::vector<std::string>& names) {
  std::vector<std::vector<double>> axes;
  std::size_t points = 1;
  bool sound = true;
  for (const std::string& name : names) {
    axes.push_back(reader.numbers(name, {1, 1e9}));
    const std::vector<double>& axis = axes.back();
    const bool increasing =
        std::adjacent_find(axis.begin(), axis.end(), std::greater_equal<>()) == axis.end();
    if (axis.empty() || !increasing) {
      reader.report(name, "must be a strictly increasing list");
      sound = false;
    }
    points = axis.empty() ? 0 : points * axis.size();
    if (points > kMaxPoints) points = kMaxPoints + 1;
  }
  std::vector<double> values = reader.numbers("log2_ratio_milli", {-20'000, 20'000});
  if (sound && values.size() != points) {
    reader.report("log2_ratio_milli",
                  fmt::format("has {} values, the grid has {} points", values.size(), points));
    sound = false;
  }
  if (!sound) return {};
  for (double& value : values) value *= kMilli;
  return GridTable{std::move(axes), std::move(values)};
}

std::vector<GemmTile> read_tiles(ObjectReader& reader) {
  std::vector<GemmTile> tiles;
  for (ObjectReader& item : reader.children("tiles")) {
    GemmTile tile;
    tile.m = static_cast<int>(item.number("m", {8, 4096}));
    tile.n = static_cast<int>(item.number("n", {8, 4096}));
    tile.efficiency = item.number("efficiency", {0.001, 1});
    tiles.push_back(tile);
  }
  if (tiles.empty()) reader.report("tiles", "needs at least one tile");
  return tiles;
}

GemmTable read_gemm(ObjectReader& reader) {
  GemmTable table;
  table.type = read_type(reader);
  table.memory_efficiency = reader.number("memory_efficiency", {0.001, 1});
  table.fixed_seconds = reader.number("fixed_s", {0, 1});
  table.fill_k = reader.number("fill_k", {0, 1e6});
  table.split_seconds = reader.number("split_s", {0, 1});
  table.cast_seconds_per_element = reader.number("cast_s_per_element", {0, 1e-9});
  table.tiles = read_tiles(reader);
  table.log2_ratio = read_grid(reader, {"m", "n", "k"});
  table.held_out = read_error(reader.child("held_out"));
  table.held_out_large = read_error(reader.child("held_out_large"));
  return table;
}

AttentionTable read_attention(ObjectReader& reader) {
  AttentionTable table;
  table.type = read_type(reader);
  table.head_dim = static_cast<int>(reader.number("head_dim", {1, 4096}));
  table.window = static_cast<int>(reader.number("window", {0, 1e9}));
  table.efficiency = reader.number("efficiency", {0.001, 1});
  table.fixed_seconds = reader.number("fixed_s", {0, 1});
  table.log2_ratio = read_grid(reader, {"sequence", "batch_heads"});
  table.held_out = read_error(reader.child("held_out"));
  table.held_out_large = read_error(reader.child("held_out_large"));
  return table;
}

ProfiledGpu read_profiled_gpu(ObjectReader reader) {
  ProfiledGpu gpu;
  gpu.name = reader.text("name");
  gpu.architecture = reader.text("architecture");
  gpu.sm_count = static_cast<int>(reader.number("sm_count", {1, 100'000}));
  gpu.memory_bytes_per_s = reader.number("memory_bandwidth_bytes_per_s", {1e9, 1e15});
  ObjectReader peaks = reader.child("peak_flops_per_s");
  if (peaks.json().is_object()) {
    for (const auto& [type, value] : peaks.json().items()) {
      gpu.peak_flops_per_s[type] = peaks.number(type, {1e9, 1e18});
    }
  }
  return gpu;
}

Range allowed_range(const std::string& name) {
  const ConstantRange range = constant_range(name);
  return {range.low, range.high};
}

std::map<std::string, EfficiencyValue> read_constants(ObjectReader reader) {
  std::map<std::string, EfficiencyValue> constants;
  if (!reader.json().is_object()) return constants;
  for (const auto& [name, value] : reader.json().items()) {
    ObjectReader item = reader.child(name);
    EfficiencyValue constant;
    constant.value = item.number("value", allowed_range(name));
    constant.unit = item.text("unit");
    constant.source = item.text("source");
    constant.date = item.text("date");
    constants[name] = constant;
  }
  for (const std::string& name : required_constants()) {
    if (constants.find(name) == constants.end()) reader.report(name, "is missing");
  }
  return constants;
}

Profile read_profile(ObjectReader reader) {
  Profile profile;
  if (reader.number("schema_version", {0, 1e6}) != kSchemaVersion) {
    reader.report("schema_version", fmt::format("must be {}", kSchemaVersion));
  }
  profile.name = reader.text("name");
  profile.gpu = read_profiled_gpu(reader.child("gpu"));
  ObjectReader source = reader.child("source");
  profile.source.title = source.text("title");
  profile.source.url = source.text("url");
  profile.source.licence = source.text("licence");
  profile.source.date = source.text("date");
  profile.source.command = source.text("command");
  for (ObjectReader& item : reader.children("gemm")) profile.gemm.push_back(read_gemm(item));
  for (ObjectReader& item : reader.children("attention")) {
    profile.attention.push_back(read_attention(item));
  }
  profile.constants = read_constants(reader.child("constants"));
  return profile;
}

}  // namespace

Result<Profile> parse_profile(const std::string& text, const std::string& name) {
  if (text.size() > kMaxBytes) {
    return fail({name, 0, 0}, "", "is larger than 8 MiB", "this is no profile");
  }
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    return fail({name, 0, 0}, "", "is not valid JSON",
                "make the profile again with foretrain calibrate");
  }
  Diagnostics problems;
  Profile profile = read_profile(ObjectReader{json, "", name, problems});
  if (!problems.empty()) return tl::make_unexpected(problems);
  profile.file = name;
  Fingerprint fingerprint;
  fingerprint.add(text);
  profile.fingerprint = fmt::format("{:016x}", fingerprint.value());
  return profile;
}

Result<Profile> load_profile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return fail({path, 0, 0}, "", "cannot be read",
                "name a shipped profile (foretrain catalog) or the path of a profile file");
  }
  const std::string text{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
  return parse_profile(text, path);
}

}  // namespace foretrain
