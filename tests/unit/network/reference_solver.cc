#include "tests/unit/network/reference_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/core/random_stream.h"

namespace foretrain::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double cap_of(const ActivitySpec& activity) {
  const double cap = activity.rate_cap.bytes_per_second();
  return cap > 0 ? cap : kInfinity;
}

}  // namespace

std::vector<double> naive_max_min(const LinkCapacities& capacities,
                                  const std::vector<ActivitySpec>& activities) {
  std::vector<double> rates(activities.size(), -1);  // -1: still growing
  const auto level_of = [&](std::size_t link) {
    double left = capacities[link].bytes_per_second();
    double claim = 0;
    for (std::size_t a = 0; a < activities.size(); ++a) {
      for (const LinkUse& use : activities[a].usage) {
        if (use.link.position() != link) continue;
        if (rates[a] < 0) {
          claim += use.weight * activities[a].share_weight;
        } else {
          left -= use.weight * rates[a];
        }
      }
    }
    return claim > 0 ? left / claim : kInfinity;
  };
  while (std::any_of(rates.begin(), rates.end(), [](double rate) { return rate < 0; })) {
    std::vector<double> levels;
    double level = kInfinity;
    for (std::size_t link = 0; link < capacities.size(); ++link) {
      levels.push_back(level_of(link));
      level = std::min(level, levels.back());
    }
    for (std::size_t a = 0; a < activities.size(); ++a) {
      if (rates[a] < 0) level = std::min(level, cap_of(activities[a]) / activities[a].share_weight);
    }
    constexpr double kTie = 1e-11;
    for (std::size_t a = 0; a < activities.size(); ++a) {
      if (rates[a] >= 0) continue;
      const double share = activities[a].share_weight;
      bool stops = cap_of(activities[a]) / share <= level * (1 + kTie);
      for (const LinkUse& use : activities[a].usage) {
        stops = stops || levels[use.link.position()] <= level * (1 + kTie);
      }
      if (stops) rates[a] = std::min(cap_of(activities[a]), std::max(level, 0.0) * share);
    }
  }
  return rates;
}

std::string max_min_violation(const LinkCapacities& capacities,
                              const std::vector<ActivitySpec>& activities,
                              const std::vector<double>& rates, double tolerance) {
  std::vector<double> load(capacities.size(), 0.0);
  std::vector<double> highest(capacities.size(), 0.0);  // rate / share on the link
  for (std::size_t a = 0; a < activities.size(); ++a) {
    for (const LinkUse& use : activities[a].usage) {
      const std::size_t link = use.link.position();
      load[link] += use.weight * rates[a];
      highest[link] = std::max(highest[link], rates[a] / activities[a].share_weight);
    }
  }
  for (std::size_t link = 0; link < capacities.size(); ++link) {
    if (load[link] > capacities[link].bytes_per_second() * (1 + tolerance)) {
      return "link " + std::to_string(link) + " carries more than it can";
    }
  }
  for (std::size_t a = 0; a < activities.size(); ++a) {
    const double cap = cap_of(activities[a]);
    if (rates[a] > cap * (1 + tolerance)) return "activity " + std::to_string(a) + " above its cap";
    if (rates[a] >= cap * (1 - tolerance)) continue;
    const bool has_bottleneck = std::any_of(
        activities[a].usage.begin(), activities[a].usage.end(), [&](const LinkUse& use) {
          const std::size_t link = use.link.position();
          return load[link] >= capacities[link].bytes_per_second() * (1 - tolerance) &&
                 rates[a] / activities[a].share_weight >= highest[link] * (1 - tolerance);
        });
    if (!has_bottleneck) return "activity " + std::to_string(a) + " could have more";
  }
  return "";
}

RandomNetwork random_network(std::uint64_t seed, const RandomShape& shape) {
  const RandomStream random{seed, RandomPurpose::kTest};
  std::uint64_t draw = 0;
  const auto below = [&](int bound) {
    return static_cast<int>(random.below(static_cast<std::uint64_t>(bound), 0, draw++));
  };
  const auto value = [&](double low, double high) {
    if (shape.round_numbers) return low * (1 + below(3));
    return low * std::pow(high / low, random.uniform(0, draw++));
  };
  RandomNetwork network;
  const int num_links = 1 + below(shape.max_links);
  for (int i = 0; i < num_links; ++i) {
    network.capacities.push_back(DataRate::from_bytes_per_second(value(1e9, 1e11)));
  }
  const int num_activities = 1 + below(shape.max_activities);
  for (int i = 0; i < num_activities; ++i) {
    ActivitySpec activity;
    const int density = 1 + below(4);  // from a quarter of the links to all
    for (int link = 0; link < num_links; ++link) {
      if (below(4) < density) activity.usage.push_back({LinkId{link}, value(0.25, 4.0)});
    }
    if (activity.usage.empty() || below(3) == 0) {
      activity.rate_cap = DataRate::from_bytes_per_second(value(1e8, 1e11));
    }
    if (below(2) == 0) activity.share_weight = value(0.5, 8.0);
    activity.work_bytes = value(1e5, 1e8);
    if (below(2) == 0) activity.latency = SimDuration{below(2'000'000'000)};
    network.activities.push_back(activity);
    while (below(4) == 0 && static_cast<int>(network.activities.size()) < shape.max_activities) {
      network.activities.push_back(activity);  // identical ones are the rule in collectives
    }
  }
  return network;
}

std::vector<double> bytes_per_second(const std::vector<DataRate>& rates) {
  std::vector<double> result;
  for (const DataRate rate : rates) result.push_back(rate.bytes_per_second());
  return result;
}

}  // namespace foretrain::testing
