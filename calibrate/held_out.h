// Which lines of a measured grid a check leaves out, and the summary of its errors.
#pragma once

#include <vector>

#include "sim/compute/profile.h"

namespace foretrain {

/// Every seventh value of each axis, from the fourth on (never the last): about a seventh of each
/// axis, the same on every machine.
class HeldOutLines {
 public:
  explicit HeldOutLines(const std::vector<std::vector<double>>& axes);
  [[nodiscard]] bool contains(std::size_t axis, double value) const;

 private:
  std::vector<std::vector<double>> lines_;
};

/// Median and 90th percentile (nearest rank) of absolute relative errors; zeros if there are none.
[[nodiscard]] HeldOutError summarise_errors(std::vector<double> errors);

}  // namespace foretrain
