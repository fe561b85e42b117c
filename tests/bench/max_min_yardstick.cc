#include "tests/bench/max_min_yardstick.h"

#include <cstdint>
#include <limits>
#include <utility>

namespace foretrain::bench {

std::vector<double> max_min_by_rounds(const LinkCapacities& capacities,
                                      std::span<const ActivitySpec> activities) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> remaining, usage(capacities.size(), 0.0), rates(activities.size(), -1);
  std::vector<std::vector<std::uint32_t>> on_link(capacities.size());
  for (const DataRate capacity : capacities) remaining.push_back(capacity.bytes_per_second());
  for (std::uint32_t a = 0; a < activities.size(); ++a) {
    for (const LinkUse& use : activities[a].usage) {
      usage[use.link.position()] += use.weight;
      on_link[use.link.position()].push_back(a);
    }
  }
  std::vector<std::uint32_t> live, saturated;
  for (std::uint32_t link = 0; link < capacities.size(); ++link) {
    if (!on_link[link].empty()) live.push_back(link);
  }
  while (!live.empty()) {
    double level = kInfinity;
    saturated.clear();
    for (const std::uint32_t link : live) {
      const double own = remaining[link] / usage[link];
      if (own < level) {
        level = own;
        saturated.clear();
      }
      if (own <= level) saturated.push_back(link);
    }
    for (const std::uint32_t link : saturated) {
      for (const std::uint32_t a : on_link[link]) {
        if (rates[a] >= 0) continue;
        rates[a] = level;
        for (const LinkUse& use : activities[a].usage) {
          remaining[use.link.position()] -= use.weight * level;
          usage[use.link.position()] -= use.weight;
        }
      }
    }
    std::erase_if(live, [&](std::uint32_t link) { return usage[link] < 1e-9; });
  }
  return rates;
}

}  // namespace foretrain::bench
