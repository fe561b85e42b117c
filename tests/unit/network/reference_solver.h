// Brute-force oracles of max-min fairness, and random networks to try them on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/network/network_model.h"

namespace foretrain::testing {

/// Water filling by definition: raise all rates together, look through everything for the first
/// thing that stops, freeze, repeat. O(rounds * incidences), without heap, classes or components.
[[nodiscard]] std::vector<double> naive_max_min(const LinkCapacities& capacities,
                                                const std::vector<ActivitySpec>& activities);

/// What breaks the conditions that characterise the one weighted max-min allocation, or "":
///  - no link carries more than its capacity, no rate exceeds its cap;
///  - each activity is at its cap, or crosses a saturated link on which no other activity has a
///    larger rate / share_weight (its bottleneck).
/// @source Bertsekas and Gallager, Data Networks, section 6.5.2.
[[nodiscard]] std::string max_min_violation(const LinkCapacities& capacities,
                                            const std::vector<ActivitySpec>& activities,
                                            const std::vector<double>& rates, double tolerance);

struct RandomNetwork {
  LinkCapacities capacities;
  std::vector<ActivitySpec> activities;
};
struct RandomShape {
  int max_links = 12;
  int max_activities = 20;
  bool round_numbers = false;  // few distinct values: many ties
};
/// A pure function of the seed.
[[nodiscard]] RandomNetwork random_network(std::uint64_t seed, const RandomShape& shape);

[[nodiscard]] std::vector<double> bytes_per_second(const std::vector<DataRate>& rates);

}  // namespace foretrain::testing
