#include "sim/compute/grid_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/core/contracts.h"

namespace foretrain {
namespace {

/// The cell of a coordinate: index of its lower grid value, and the share of the upper one.
struct Cell {
  std::size_t lower = 0;
  double share = 0;
};

Cell cell_of(const std::vector<double>& axis, double value) {
  if (value <= axis.front()) return {0, 0};
  if (value >= axis.back()) return {axis.size() - 1, 0};
  const auto upper = std::upper_bound(axis.begin(), axis.end(), value);
  const auto lower = static_cast<std::size_t>(upper - axis.begin()) - 1;
  return {lower, std::log2(value / axis[lower]) / std::log2(axis[lower + 1] / axis[lower])};
}

}  // namespace

GridTable::GridTable(std::vector<std::vector<double>> axes, std::vector<double> values)
    : axes_(std::move(axes)), values_(std::move(values)) {
  std::size_t points = 1;
  for (const std::vector<double>& axis : axes_) points *= axis.size();
  FORETRAIN_EXPECTS(!axes_.empty() && points == values_.size() && points > 0,
                    "a grid needs one value per point");
}

double GridTable::at(std::span<const double> point) const {
  FORETRAIN_EXPECTS(point.size() == axes_.size(), "one coordinate per axis");
  std::vector<Cell> cells;
  cells.reserve(axes_.size());
  for (std::size_t a = 0; a < axes_.size(); ++a) cells.push_back(cell_of(axes_[a], point[a]));
  double sum = 0;
  const std::size_t corners = std::size_t{1} << axes_.size();
  for (std::size_t corner = 0; corner < corners; ++corner) {
    double weight = 1;
    std::size_t index = 0;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const bool upper = ((corner >> a) & 1u) != 0;
      weight *= upper ? cells[a].share : 1 - cells[a].share;
      index = index * axes_[a].size() + cells[a].lower + (upper && cells[a].share > 0 ? 1 : 0);
    }
    if (weight > 0) sum += weight * values_[index];
  }
  return sum;
}

bool GridTable::covers(std::span<const double> point) const {
  FORETRAIN_EXPECTS(point.size() == axes_.size(), "one coordinate per axis");
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if (point[a] < axes_[a].front() || point[a] > axes_[a].back()) return false;
  }
  return true;
}

}  // namespace foretrain
