// Memo, quotient, components and looking ahead are shortcuts: none may change a result.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/core/random_stream.h"
#include "sim/network/colour_refinement.h"
#include "sim/network/fluid_network.h"
#include "tests/unit/network/reference_solver.h"

namespace foretrain {
namespace {

using testing::random_network;

constexpr double kSameRate = 1e-12;

SimTime at_ps(std::int64_t ps) { return SimTime{SimDuration{ps}}; }
std::int64_t ps_of(SimTime time) { return time.time_since_epoch().count(); }

LinkCapacities links_of(int count, double bytes_per_second) {
  return LinkCapacities(static_cast<std::size_t>(count),
                        DataRate::from_bytes_per_second(bytes_per_second));
}

// Random starts, cancellations, caps and completions. After each, the rate of every flowing
// activity must be what one solve of all of them from scratch gives, bit for bit unless the
// quotient was used.
void check_random_history(std::uint64_t seed, FluidOptions options, double tolerance) {
  const auto random =
      random_network(seed, {.max_links = 16, .max_activities = 24, .round_numbers = seed % 2 == 0});
  const RandomStream stream{seed, RandomPurpose::kTest};
  const auto network = make_fluid_network(random.capacities, options);
  std::map<ActivityId, ActivitySpec> living;
  std::map<ActivityId, std::int64_t> flow_start;
  std::int64_t now = 0;
  for (std::uint64_t step = 0; step < 60; ++step) {
    const auto below = [&](std::uint64_t bound, std::uint64_t draw) {
      return stream.below(bound, 1000 + draw, step);
    };
    const std::uint64_t action = below(8, 0);
    const auto chosen = [&] {
      auto at = living.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(below(living.size(), 1)));
      return at;
    };
    if (action < 4 || living.empty()) {
      const ActivitySpec& spec = random.activities[below(random.activities.size(), 2)];
      const ActivityId id = network->start(at_ps(now), spec);
      living[id] = spec;
      flow_start[id] = now + spec.latency.count();
    } else if (action == 4) {
      const auto at = chosen();
      network->cancel(at_ps(now), at->first);
      living.erase(at);
    } else if (action == 5) {
      const auto at = chosen();
      at->second.rate_cap =
          DataRate::from_bytes_per_second(1e8 * static_cast<double>(1 + below(50, 3)));
      network->set_rate_cap(at_ps(now), at->first, at->second.rate_cap);
    } else if (const auto next = network->next_completion()) {
      now = action == 6 ? ps_of(*next) : now + (ps_of(*next) - now) / 2;
      for (const ActivityId id : network->advance(at_ps(now))) living.erase(id);
    }
    std::vector<ActivitySpec> flowing;
    for (const auto& [id, spec] : living) {
      if (flow_start[id] <= now) flowing.push_back(spec);
    }
    const auto expected = max_min_rates(random.capacities, flowing);
    std::size_t index = 0;
    for (const auto& [id, spec] : living) {
      const double rate = network->rate(id).bytes_per_second();
      const double wanted = flow_start[id] <= now ? expected[index++].bytes_per_second() : 0.0;
      RC_ASSERT(std::abs(rate - wanted) <= tolerance * wanted);
    }
  }
}

RC_GTEST_PROP(FluidShortcuts, IncrementalEqualsFromScratch, (std::uint64_t seed)) {
  check_random_history(seed, {.memo = false, .quotient = false}, 0.0);
}
RC_GTEST_PROP(FluidShortcuts, MemoEqualsFromScratch, (std::uint64_t seed)) {
  check_random_history(seed, {.memo = true, .quotient = false}, 0.0);
}
// The quotient sums the same loads in another order, and later rounds divide small differences.
RC_GTEST_PROP(FluidShortcuts, QuotientEqualsFromScratch, (std::uint64_t seed)) {
  check_random_history(seed, {.memo = true, .quotient = true, .quotient_threshold = 1}, 1e-9);
}

ActivitySpec flow(std::vector<LinkUse> usage, double work = 1e6) {
  ActivitySpec spec;
  spec.usage = std::move(usage);
  spec.work_bytes = work;
  return spec;
}

// All-to-all of pods: each rank has an up and a down link, each pod a pair of trunk links
// (oversubscribed, one of them slower). Classes: pairs inside a pod, across pods, from and to the
// slow pod.
std::vector<ActivitySpec> pod_all_to_all(int pods, int ranks_per_pod) {
  const int ranks = pods * ranks_per_pod;
  std::vector<ActivitySpec> flows;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from == to) continue;
      std::vector<LinkUse> usage = {{LinkId{from}, 1}, {LinkId{ranks + to}, 1}};
      if (from / ranks_per_pod != to / ranks_per_pod) {
        usage.push_back({LinkId{2 * ranks + from / ranks_per_pod}, 1});
        usage.push_back({LinkId{2 * ranks + pods + to / ranks_per_pod}, 1});
      }
      flows.push_back(flow(usage));
    }
  }
  return flows;
}

TEST(FluidShortcuts, QuotientGivesTheRatesOfTheDirectSolve) {
  constexpr int kPods = 6;
  constexpr int kRanksPerPod = 6;
  LinkCapacities capacities = links_of(2 * kPods * kRanksPerPod, 50e9);
  for (int i = 0; i < 2 * kPods; ++i) {
    capacities.push_back(DataRate::from_bytes_per_second(i == 0 ? 70e9 : 110e9));
  }
  const auto flows = pod_all_to_all(kPods, kRanksPerPod);
  const auto direct = make_fluid_network(capacities, {.memo = false, .quotient = false});
  const auto quotient = make_fluid_network(capacities, {.memo = false, .quotient = true});
  std::vector<ActivityId> direct_ids, quotient_ids;
  for (const ActivitySpec& spec : flows) {
    direct_ids.push_back(direct->start(at_ps(0), spec));
    quotient_ids.push_back(quotient->start(at_ps(0), spec));
  }
  std::vector<double> rates;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const double expected = direct->rate(direct_ids[i]).bytes_per_second();
    rates.push_back(quotient->rate(quotient_ids[i]).bytes_per_second());
    EXPECT_NEAR(rates.back(), expected, kSameRate * expected);
  }
  EXPECT_EQ(quotient->statistics().quotients, 1);
  EXPECT_EQ(testing::max_min_violation(capacities, flows, rates, 1e-9), "");
}

// Symmetric pods with all trunks alike: two classes of flows and three of links, whatever the size.
TEST(ColourRefinement, FindsTheClassesOfASymmetricFabric) {
  const auto classes_of = [](int pods, int ranks_per_pod) {
    const int ranks = pods * ranks_per_pod;
    MaxMinProblem problem;
    for (int i = 0; i < 2 * ranks + 2 * pods; ++i) problem.add_link(50e9);
    for (const ActivitySpec& spec : pod_all_to_all(pods, ranks_per_pod)) {
      for (const LinkUse& use : spec.usage) {
        problem.add_entry(static_cast<std::uint32_t>(use.link.index()), use.weight);
      }
      problem.end_column(1, 1e30, 1);
    }
    ColourRefinement refinement;
    EXPECT_TRUE(refinement.refine(problem));
    return std::pair{refinement.quotient().num_columns(), refinement.quotient().num_links()};
  };
  // Up and down links look alike to the flows, and so do the two trunks of a pod.
  EXPECT_EQ(classes_of(4, 4), (std::pair<std::size_t, std::size_t>{2, 2}));
  EXPECT_EQ(classes_of(8, 5), (std::pair<std::size_t, std::size_t>{2, 2}));
}

TEST(ColourRefinement, RefusesWhatHasNoSymmetry) {
  MaxMinProblem problem;
  for (const double capacity : {1, 2, 3, 4, 5, 6, 7, 8}) problem.add_link(capacity);
  for (std::uint32_t i = 0; i < 7; ++i) {
    problem.add_entry(i, 1);
    problem.add_entry(i + 1, 1);
    problem.end_column(1, 1e30, 1);
  }
  ColourRefinement refinement;
  EXPECT_FALSE(refinement.refine(problem));
}

// A step that repeats: four phases, each a set of transfers over one shared trunk. From the second
// round on every set is known.
TEST(FluidShortcuts, MemoKnowsRecurringSets) {
  const auto network = make_fluid_network(links_of(9, 10e9), FluidOptions{});
  std::int64_t solves_of_first_round = 0;
  for (int round = 0; round < 50; ++round) {
    for (int phase = 0; phase < 4; ++phase) {
      const SimTime now =
          network->next_completion().value_or(at_ps(1'000'000'000'000LL * (4 * round + phase)));
      for (int i = 0; i <= phase; ++i) {
        network->start(now, flow({{LinkId{0}, 1}, {LinkId{1 + i}, 1}}, 1e6 * (1 + i)));
      }
      while (const auto next = network->next_completion()) (void)network->advance(*next);
    }
    if (round == 0) solves_of_first_round = network->statistics().solves;
  }
  const FluidStatistics& statistics = network->statistics();
  // A phase of p + 1 transfers passes through sets of p + 1, p, … 2 classes: 1 + 2 + 3 sets a
  // round.
  EXPECT_EQ(statistics.memo_hits, 49 * 6);
  // Sets of one class are solved directly, which is cheaper than remembering them.
  EXPECT_LT(statistics.solves, solves_of_first_round + 50 * 8);
}

// Changes at one instant are solved once.
TEST(FluidShortcuts, ChangesOfOneInstantAreOneSolve) {
  const auto network = make_fluid_network(links_of(1, 10e9), {.memo = false});
  for (int i = 0; i < 100; ++i) network->start(at_ps(0), flow({{LinkId{0}, 1}}, 1e6 * (1 + i)));
  EXPECT_TRUE(network->next_completion().has_value());
  EXPECT_EQ(network->statistics().solves, 1);
}

// A caller with events of its own closer than the ends of latencies makes no view void.
TEST(FluidShortcuts, LimitedViewIsNeverTakenBack) {
  const auto network = make_fluid_network(links_of(1, 10e9), FluidOptions{});
  ActivitySpec spec = flow({{LinkId{0}, 1}}, 1e6);
  spec.latency = SimDuration{5'000'000};
  for (int i = 0; i < 100; ++i) {
    network->start(at_ps(i * 1000), spec);
    EXPECT_EQ(network->next_completion_until(at_ps((i + 1) * 1000)), std::nullopt);
  }
  EXPECT_EQ(network->statistics().rollbacks, 0);
  EXPECT_TRUE(network->next_completion().has_value());
}

// Transfers that share nothing do not solve each other again.
TEST(FluidShortcuts, OnlyTheTouchedComponentIsSolved) {
  const auto network = make_fluid_network(links_of(100, 10e9), {.memo = false});
  for (int i = 0; i < 100; ++i) network->start(at_ps(0), flow({{LinkId{i}, 1}}, 1e9));
  (void)network->next_completion();
  const std::int64_t before = network->statistics().components;
  network->start(at_ps(5), flow({{LinkId{17}, 1}}, 1e9));
  (void)network->next_completion();
  EXPECT_EQ(network->statistics().components, before + 1);
}

// A class that was forgotten while its usage lives on must come back as a known one.
TEST(UsageClasses, ForgottenCapOfALivingUsageComesBack) {
  const std::vector<LinkUse> usage = {{LinkId{3}, 1}};
  UsageClasses classes;
  bool is_new = false;
  const std::int32_t kept = classes.acquire(usage, 1e9, 1, is_new);
  EXPECT_TRUE(is_new);
  const std::int32_t dropped = classes.acquire_with_cap(kept, 2e9);
  EXPECT_NE(dropped, kept);
  classes.release(dropped);
  classes.collect();
  const std::int32_t other = classes.acquire(usage, 3e9, 1, is_new);  // may take the free id
  EXPECT_FALSE(is_new);
  const std::int32_t again = classes.acquire(usage, 2e9, 1, is_new);
  EXPECT_NE(again, other);
  EXPECT_EQ(classes.cap(again), 2e9);
  EXPECT_EQ(classes.acquire(usage, 2e9, 1, is_new), again);
  classes.release(again);
  classes.release(again);
  classes.release(other);
  classes.release(kept);
  classes.collect();
  (void)classes.acquire(usage, 1e9, 1, is_new);
  EXPECT_TRUE(is_new);
}

// More distinct usages than the network keeps: forgetting must not disturb what still runs.
TEST(FluidShortcuts, ForgettingOldClassesChangesNothing) {
  constexpr int kLinks = 64;
  const auto network = make_fluid_network(links_of(kLinks, 10e9), FluidOptions{});
  const ActivityId pinned = network->start(at_ps(0), flow({{LinkId{0}, 1}}, 1e15));
  for (int i = 0; i < 60'000; ++i) {
    const double weight = 1 + i * 1e-5;  // a new usage each time
    const SimTime now = network->next_completion().value_or(at_ps(0));
    (void)network->advance(i == 0 ? at_ps(0) : now);
    network->start(i == 0 ? at_ps(0) : now,
                   flow({{LinkId{0}, weight}, {LinkId{1 + i % 63}, 1}}, 1e3));
  }
  const std::int64_t last_weight_index = 59'999;
  const double level = 10e9 / (1 + 1 + static_cast<double>(last_weight_index) * 1e-5);
  EXPECT_NEAR(network->rate(pinned).bytes_per_second(), level, 1e-9 * level);
}

}  // namespace
}  // namespace foretrain
