// The result as JSON: fixed key order, units in key names, shortest round-trip numbers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/results/run_report.h"

namespace foretrain {

/// The whole result, indented, with a final newline. Identical bytes for identical reports.
[[nodiscard]] std::string to_json(const RunReport& report);

/// The value at a dotted path of the result ("step.time_s", "memory.items_bytes.weights",
/// "outcome").
struct MetricValue {
  std::optional<double> number;
  std::optional<std::string> text;
};
/// Looks paths up in one result; parsing it once.
class MetricLookup {
 public:
  explicit MetricLookup(const RunReport& report);
  ~MetricLookup();
  MetricLookup(const MetricLookup&) = delete;
  MetricLookup& operator=(const MetricLookup&) = delete;
  /// Nothing if there is no such scalar; booleans read as text "true" and "false".
  [[nodiscard]] std::optional<MetricValue> find(const std::string& path) const;
  /// All scalar paths, for "did you mean".
  [[nodiscard]] std::vector<std::string> paths() const;

 private:
  struct Tree;
  std::unique_ptr<Tree> tree_;
};

}  // namespace foretrain
