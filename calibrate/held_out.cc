#include "calibrate/held_out.h"

#include <algorithm>

namespace foretrain {
namespace {

constexpr std::size_t kFirst = 3;
constexpr std::size_t kStride = 7;

}  // namespace

HeldOutLines::HeldOutLines(const std::vector<std::vector<double>>& axes) {
  for (const std::vector<double>& axis : axes) {
    lines_.emplace_back();
    for (std::size_t i = kFirst; i + 1 < axis.size(); i += kStride)
      lines_.back().push_back(axis[i]);
  }
}

bool HeldOutLines::contains(std::size_t axis, double value) const {
  const std::vector<double>& lines = lines_[axis];
  return std::find(lines.begin(), lines.end(), value) != lines.end();
}

HeldOutError summarise_errors(std::vector<double> errors) {
  HeldOutError summary;
  summary.points = static_cast<int>(errors.size());
  if (errors.empty()) return summary;
  std::sort(errors.begin(), errors.end());
  summary.median = errors[errors.size() / 2];
  summary.p90 = errors[errors.size() * 9 / 10];
  return summary;
}

}  // namespace foretrain
