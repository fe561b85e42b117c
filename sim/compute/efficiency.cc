#include "sim/compute/efficiency.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "sim/core/contracts.h"
#include "sim/document/document.h"

namespace foretrain {
namespace {

struct KnownConstant {
  std::string name;
  double low = 0;           // smallest legal value
  double high = 0;          // largest legal value
  bool everywhere = false;  // every architecture must have a value
};

std::vector<KnownConstant> all_constants() {
  std::vector<KnownConstant> known = {
      {"gemm_efficiency_bf16", 0.01, 1, true},
      {"gemm_efficiency_fp8", 0.01, 1, true},
      {"gemm_efficiency_fp8_block", 0.01, 1, true},
      {"gemm_efficiency_fp32", 0.01, 1, true},
      {"gemm_tile_m", 16, 1024, true},
      {"gemm_tile_n", 16, 1024, true},
      {"gemm_fill_k", 0, 10000, true},
      {"gemm_fixed_seconds", 0, 1e-3, true},
      {"gemm_memory_efficiency", 0.01, 1, true},
      {"gemm_relative_sigma", 0, 10, true},
      {"sustained_gemm_factor", 0.1, 1, true},
      {"sustained_reference_share", 0.1, 1, true},
      {"sustained_relative_sigma", 0, 1, true},
      {"accumulate_exposed_share", 0, 1, true},
      {"layout_relative_sigma", 0, 1, true},
      {"attention_auto", 0, 4, true},
      {"attention_forward_efficiency", 0.01, 1, true},
      {"attention_backward_rate_ratio", 0.1, 2, true},
      {"attention_fill_keys", 0, 5000, true},
      {"attention_fp8_efficiency_ratio", 0.1, 2, true},
      {"attention_tile_rows", 16, 1024, true},
      {"attention_fixed_seconds", 0, 1e-3, true},
      {"attention_relative_sigma", 0, 10, true},
      {"memory_efficiency", 0.01, 1, true},
      {"memory_fixed_seconds", 0, 1e-3, true},
      {"memory_relative_sigma", 0, 10, true},
      {"launch_seconds", 0, 1e-3, true},
      {"kernel_gap_seconds", 0, 1e-3, true},
  };
  for (const char* kernel : {"flash1", "flash2", "flash3", "cudnn"}) {
    for (const char* direction : {"forward", "backward"}) {
      for (const char* dim : {"64", "128", "256"}) {
        const std::string stem = fmt::format("attention_{}_{}_", kernel, direction);
        known.push_back({stem + "efficiency_" + dim, 0.01, 1, false});
        known.push_back({stem + "fill_keys_" + dim, 0, 5000, false});
      }
    }
  }
  return known;
}

const std::vector<KnownConstant>& known_constants() {
  static const std::vector<KnownConstant> known = all_constants();
  return known;
}

const std::vector<std::string>& architectures() {
  static const std::vector<std::string> names = {"volta", "ampere", "ada", "hopper", "blackwell"};
  return names;
}

class Reader {
 public:
  explicit Reader(Diagnostics& problems) : problems_(problems) {}

  std::map<std::string, EfficiencyValue> constant(const DocumentEntry& entry,
                                                  const KnownConstant& known) {
    std::map<std::string, EfficiencyValue> values;
    if (entry.value.kind != DocumentNode::Kind::kMap) {
      report(entry.value.location, entry.key, "must map architectures to values",
             "write `all: {value: …, unit: …, source: …, date: …}`");
      return values;
    }
    for (const DocumentEntry& item : entry.value.entries) {
      const std::string path = entry.key + "." + item.key;
      const auto& names = architectures();
      if (item.key != "all" && std::find(names.begin(), names.end(), item.key) == names.end()) {
        report(item.key_location, path, "is no known architecture",
               "volta, ampere, ada, hopper, blackwell or all");
        continue;
      }
      values[item.key] = one(item.value, path, known);
    }
    return values;
  }

  void report(const SourceLocation& at, std::string path, std::string message, std::string hint) {
    problems_.push_back(
        Diagnostic{Severity::kError, at, std::move(path), std::move(message), std::move(hint)});
  }

 private:
  EfficiencyValue one(const DocumentNode& node, const std::string& path,
                      const KnownConstant& known) {
    EfficiencyValue result;
    result.unit = text(node, path, "unit");
    result.source = text(node, path, "source");
    result.date = text(node, path, "date");
    const std::string number = text(node, path, "value");
    if (number.empty()) return result;
    char* end = nullptr;
    result.value = std::strtod(number.c_str(), &end);
    const bool whole = end == number.c_str() + number.size();
    if (!whole || !std::isfinite(result.value) || result.value < known.low ||
        result.value > known.high) {
      report(node.find("value")->location, path + ".value",
             fmt::format("'{}' is not a number from {} to {}", number, known.low, known.high), "");
      result.value = known.low;
    }
    return result;
  }

  std::string text(const DocumentNode& node, const std::string& path, const char* key) {
    const DocumentNode* found = node.kind == DocumentNode::Kind::kMap ? node.find(key) : nullptr;
    if (found == nullptr || found->kind != DocumentNode::Kind::kScalar || found->scalar.empty()) {
      report(node.location, path, fmt::format("needs the key '{}'", key),
             "every constant has value, unit, source and date");
      return {};
    }
    return found->scalar;
  }

  Diagnostics& problems_;
};

}  // namespace

std::vector<std::string> required_constants() {
  std::vector<std::string> names;
  for (const KnownConstant& known : known_constants()) {
    if (known.everywhere) names.emplace_back(known.name);
  }
  return names;
}

ConstantRange constant_range(const std::string& name) {
  for (const KnownConstant& known : known_constants()) {
    if (name == known.name) return {known.low, known.high};
  }
  return {-std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
}

std::map<std::string, EfficiencyValue> EfficiencyTable::all_of(
    const std::string& architecture) const {
  std::map<std::string, EfficiencyValue> result;
  for (const auto& [name, values] : constants_) {
    if (const EfficiencyValue* found = find(name, architecture)) result[name] = *found;
  }
  return result;
}

Result<EfficiencyTable> EfficiencyTable::load(const std::string& path) {
  Result<DocumentNode> document = read_document(path);
  if (!document) return tl::make_unexpected(document.error());
  EfficiencyTable table;
  Diagnostics problems;
  Reader reader(problems);
  std::vector<std::string> names;
  for (const KnownConstant& known : known_constants()) names.emplace_back(known.name);
  if (document->kind == DocumentNode::Kind::kMap) {
    for (const DocumentEntry& entry : document->entries) {
      const auto found = std::find(names.begin(), names.end(), entry.key);
      if (found == names.end()) {
        const std::string nearest = nearest_name(entry.key, names);
        reader.report(entry.key_location, entry.key, "is no known constant",
                      nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest));
        continue;
      }
      const auto index = static_cast<std::size_t>(found - names.begin());
      table.constants_[entry.key] = reader.constant(entry, known_constants()[index]);
    }
  }
  for (const KnownConstant& known : known_constants()) {
    if (!known.everywhere) continue;
    for (const std::string& architecture : architectures()) {
      if (table.find(known.name, architecture) != nullptr) continue;
      reader.report(SourceLocation{path, 0, 0}, known.name,
                    fmt::format("has no value for {}", architecture),
                    "give one under the architecture's name or under all");
    }
  }
  if (!problems.empty()) return tl::make_unexpected(problems);
  return table;
}

const EfficiencyValue* EfficiencyTable::find(const std::string& name,
                                             const std::string& architecture) const {
  const auto constant = constants_.find(name);
  if (constant == constants_.end()) return nullptr;
  auto found = constant->second.find(architecture);
  if (found == constant->second.end()) found = constant->second.find("all");
  return found == constant->second.end() ? nullptr : &found->second;
}

double EfficiencyTable::value(const std::string& name, const std::string& architecture) const {
  const EfficiencyValue* found = find(name, architecture);
  FORETRAIN_EXPECTS(found != nullptr, "efficiency constants are checked when the file is read");
  return found->value;
}

}  // namespace foretrain
