// Scattered values onto a grid: a Gaussian-weighted mean in the logarithm of the coordinates.
#pragma once

#include <vector>

#include "sim/compute/grid_table.h"

namespace foretrain {

struct ScatteredPoint {
  std::vector<double> position;  // positive, one per axis
  double value = 0;
};

/// Value of every grid point: the mean of the points' values with weights
/// exp(-d^2 / (2 h^2)), d the distance in log2 of the coordinates. Where the nearest point is
/// further than 2 h away the bandwidth h grows until it is within, so that no grid point is left
/// empty.
/// @pre at least one point; bandwidth > 0 (octaves).
/// @source Nadaraya (1964), Watson (1964): kernel regression.
[[nodiscard]] GridTable smooth_onto_grid(const std::vector<ScatteredPoint>& points,
                                         std::vector<std::vector<double>> axes, double bandwidth);

}  // namespace foretrain
