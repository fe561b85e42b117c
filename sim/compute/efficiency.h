// Efficiencies and overheads by GPU architecture, read from scenarios/catalog/efficiency.yaml.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/core/diagnostics.h"

namespace foretrain {

/// One constant with where it comes from.
struct EfficiencyValue {
  double value = 0;
  std::string unit;
  std::string source;
  std::string date;
};

/// Names that every architecture must have, sorted as in the file's description.
[[nodiscard]] std::vector<std::string> required_constants();

/// Legal values of a constant. An unknown name may have any value.
struct ConstantRange {
  double low = 0;
  double high = 0;
};
[[nodiscard]] ConstantRange constant_range(const std::string& name);

/// constant name -> architecture ("hopper", …, or "all") -> value.
class EfficiencyTable {
 public:
  /// Reads the file strictly; every wrong, unknown or missing key becomes a diagnostic.
  [[nodiscard]] static Result<EfficiencyTable> load(const std::string& path);

  /// The architecture's value, else the one of "all", else nullptr.
  [[nodiscard]] const EfficiencyValue* find(const std::string& name,
                                            const std::string& architecture) const;
  /// The same for constants that load() has checked to exist. @pre find() is not nullptr.
  [[nodiscard]] double value(const std::string& name, const std::string& architecture) const;

  /// Every constant that the architecture has, by name.
  [[nodiscard]] std::map<std::string, EfficiencyValue> all_of(
      const std::string& architecture) const;

 private:
  std::map<std::string, std::map<std::string, EfficiencyValue>> constants_;
};

}  // namespace foretrain
