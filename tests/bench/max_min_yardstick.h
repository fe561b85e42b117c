// A max-min solver as simulators usually have it, to compare with in one process on one machine.
#pragma once

#include <span>
#include <vector>

#include "sim/network/network_model.h"

namespace foretrain::bench {

/// Rounds over all live constraints, each looking for the smallest remaining / usage; ties by exact
/// equality; O(rounds * live links + incidences). The shape of SimGrid's MaxMin solver, without its
/// lists.
/// @source SimGrid 3.32, src/kernel/lmm/maxmin.cpp.
[[nodiscard]] std::vector<double> max_min_by_rounds(const LinkCapacities& capacities,
                                                    std::span<const ActivitySpec> activities);

}  // namespace foretrain::bench
