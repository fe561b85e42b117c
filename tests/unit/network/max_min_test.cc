#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "sim/network/network_model.h"
#include "tests/unit/network/reference_solver.h"

namespace foretrain {
namespace {

using testing::bytes_per_second;
using testing::max_min_violation;
using testing::naive_max_min;
using testing::random_network;
using testing::RandomShape;

/// Links count as tied within 1e-12, and each of up to a dozen rounds divides by what the earlier
/// rounds left of a link, which the random networks never make less than about a thousandth of it.
constexpr double kSolverTolerance = 1e-8;

ActivitySpec on_links(std::vector<LinkUse> usage) {
  ActivitySpec spec;
  spec.usage = std::move(usage);
  spec.work_bytes = 1;
  return spec;
}

LinkCapacities gigabytes_each(const std::vector<double>& values) {
  LinkCapacities capacities;
  for (const double value : values) capacities.push_back(gigabytes_per_second(value));
  return capacities;
}

std::vector<double> solve(const LinkCapacities& capacities,
                          const std::vector<ActivitySpec>& activities) {
  return bytes_per_second(max_min_rates(capacities, activities));
}

// Bertsekas and Gallager's textbook line: links 0, 1, 2 of capacity 1; a long flow over all three
// and short ones: one on link 0, one on link 1, three on link 2. Link 2 has 4 flows: level 1/4
// freezes the long flow and the three; links 0 and 1 then have 3/4 left for one flow each.
TEST(MaxMin, FillsLineOfThreeLinks) {
  const auto rates =
      solve(gigabytes_each({1, 1, 1}),
            {on_links({{LinkId{0}, 1}, {LinkId{1}, 1}, {LinkId{2}, 1}}), on_links({{LinkId{0}, 1}}),
             on_links({{LinkId{1}, 1}}), on_links({{LinkId{2}, 1}}), on_links({{LinkId{2}, 1}}),
             on_links({{LinkId{2}, 1}})});
  const std::vector<double> expected = {0.25e9, 0.75e9, 0.75e9, 0.25e9, 0.25e9, 0.25e9};
  EXPECT_EQ(rates, expected);
}

// A coupled activity crosses link 0 with weight 2 and link 1 with weight 1/2; a plain flow shares
// link 0. Level t: 2 t + t = 6 GB/s, t = 2 GB/s for both; link 1 carries 1 of 6.
TEST(MaxMin, WeightsAreBytesPerByteOfWork) {
  const auto rates = solve(gigabytes_each({6, 6}), {on_links({{LinkId{0}, 2}, {LinkId{1}, 0.5}}),
                                                    on_links({{LinkId{0}, 1}})});
  EXPECT_EQ(rates, (std::vector<double>{2e9, 2e9}));
}

// An activity that stands for 3 flows claims thrice: 3 t + t = 8 GB/s, t = 2: rates 6 and 2. With a
// cap of 3 on the heavy one the other takes the rest: 5.
TEST(MaxMin, ShareWeightAndCapDecideTheSplit) {
  ActivitySpec heavy = on_links({{LinkId{0}, 1}});
  heavy.share_weight = 3;
  const ActivitySpec light = on_links({{LinkId{0}, 1}});
  EXPECT_EQ(solve(gigabytes_each({8}), {heavy, light}), (std::vector<double>{6e9, 2e9}));
  heavy.rate_cap = gigabytes_per_second(3);
  EXPECT_EQ(solve(gigabytes_each({8}), {heavy, light}), (std::vector<double>{3e9, 5e9}));
}

TEST(MaxMin, DeadLinkStopsItsActivitiesOnly) {
  const auto rates = solve(gigabytes_each({0, 4}), {on_links({{LinkId{0}, 1}, {LinkId{1}, 1}}),
                                                    on_links({{LinkId{1}, 1}})});
  EXPECT_EQ(rates, (std::vector<double>{0, 4e9}));
}

// All-to-all of n ranks over a switch: n (n - 1) flows, each over its source's and its
// destination's link. By symmetry every rate is capacity / (n - 1); the sums of all links must give
// the same bits.
TEST(MaxMin, SymmetricFlowsGetBitIdenticalRates) {
  constexpr int kRanks = 23;
  std::vector<ActivitySpec> flows;
  for (int from = 0; from < kRanks; ++from) {
    for (int to = 0; to < kRanks; ++to) {
      if (from != to) flows.push_back(on_links({{LinkId{from}, 1}, {LinkId{kRanks + to}, 1}}));
    }
  }
  const auto rates = solve(LinkCapacities(2 * kRanks, gigabytes_per_second(50)), flows);
  for (const double rate : rates) EXPECT_EQ(rate, rates.front());
  EXPECT_DOUBLE_EQ(rates.front(), 50e9 / (kRanks - 1));
}

// Two symmetric halves whose second round divides what is left over: link A of each half has 100
// flows of which 99 freeze elsewhere at 0.1 GB/s. What remains, 10 - 9.9 GB/s, must be equal in
// both halves.
TEST(MaxMin, TiesSurviveDifferencesOfNearlyEqualSums) {
  std::vector<ActivitySpec> flows;
  LinkCapacities capacities;
  for (int half = 0; half < 2; ++half) {
    const int base = half * 100;
    capacities.push_back(gigabytes_per_second(10));
    flows.push_back(on_links({{LinkId{base}, 1}}));
    for (int i = 1; i < 100; ++i) {
      capacities.push_back(gigabytes_per_second(0.07));
      flows.push_back(on_links({{LinkId{base}, 1}, {LinkId{base + i}, 1}}));
      flows.push_back(on_links({{LinkId{base + i}, 0.5}}));
    }
  }
  const auto rates = solve(capacities, flows);
  EXPECT_EQ(rates[0], rates[rates.size() / 2]);
  EXPECT_NEAR(rates[0], 10e9 - 99 * 0.07e9 / 1.5, 1e-3);
}

RC_GTEST_PROP(MaxMinProperty, MeetsTheOptimalityConditions, (std::uint64_t seed, bool ties)) {
  const auto network =
      random_network(seed, {.max_links = 20, .max_activities = 40, .round_numbers = ties});
  const auto rates = solve(network.capacities, network.activities);
  RC_ASSERT(max_min_violation(network.capacities, network.activities, rates, kSolverTolerance) ==
            "");
}

RC_GTEST_PROP(MaxMinProperty, AgreesWithNaiveWaterFilling, (std::uint64_t seed, bool ties)) {
  const auto network = random_network(seed, {.round_numbers = ties});
  const auto rates = solve(network.capacities, network.activities);
  const auto expected = naive_max_min(network.capacities, network.activities);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    RC_ASSERT(std::abs(rates[i] - expected[i]) <= kSolverTolerance * expected[i]);
  }
}

// Bit for bit: classes are ordered by content, not by arrival.
RC_GTEST_PROP(MaxMinProperty, OrderOfActivitiesDoesNotMatter, (std::uint64_t seed, bool ties)) {
  const auto network = random_network(seed, {.round_numbers = ties});
  const std::size_t count = network.activities.size();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::reverse(order.begin(), order.end());
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count / 3), order.end());
  std::vector<ActivitySpec> permuted;
  for (const std::size_t i : order) permuted.push_back(network.activities[i]);
  const auto rates = solve(network.capacities, network.activities);
  const auto permuted_rates = solve(network.capacities, permuted);
  for (std::size_t i = 0; i < count; ++i) RC_ASSERT(permuted_rates[i] == rates[order[i]]);
}

// An activity with multiplicity folded into weight and share gives the same rate per member as
// listing all.
RC_GTEST_PROP(MaxMinProperty, FoldingIdenticalActivitiesKeepsRates, (std::uint64_t seed)) {
  auto network = random_network(seed, {.max_activities = 8});
  std::vector<ActivitySpec> unfolded;
  for (ActivitySpec& activity : network.activities) {
    for (int copy = 0; copy < 3; ++copy) unfolded.push_back(activity);
    for (LinkUse& use : activity.usage) use.weight *= 3;
  }
  const auto folded = solve(network.capacities, network.activities);
  const auto rates = solve(network.capacities, unfolded);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    RC_ASSERT(std::abs(rates[i] - folded[i / 3]) <= kSolverTolerance * rates[i]);
  }
}

}  // namespace
}  // namespace foretrain
