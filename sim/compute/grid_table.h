// Values on a rectangular grid with multilinear interpolation in the logarithm of each coordinate.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace foretrain {

class GridTable {
 public:
  GridTable() = default;
  /// `axes`: at least one, each strictly increasing and positive; `values`: row-major, last axis
  /// fastest, as many as the grid has points. @pre both hold (contract; the loader checks them).
  GridTable(std::vector<std::vector<double>> axes, std::vector<double> values);

  /// Multilinear between grid points in log2 of the coordinates; outside the grid the value at its
  /// edge. @pre one positive coordinate per axis.
  [[nodiscard]] double at(std::span<const double> point) const;
  /// True if every coordinate lies within its axis.
  [[nodiscard]] bool covers(std::span<const double> point) const;

  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] const std::vector<std::vector<double>>& axes() const { return axes_; }
  [[nodiscard]] const std::vector<double>& values() const { return values_; }

 private:
  std::vector<std::vector<double>> axes_;
  std::vector<double> values_;
};

}  // namespace foretrain
