// Transfers over time: both fidelities against algebra, and the fluid one against a naive
// simulation.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "sim/network/network_model.h"
#include "tests/unit/network/reference_solver.h"

namespace foretrain {
namespace {

using testing::random_network;

SimTime at_ps(std::int64_t ps) { return SimTime{SimDuration{ps}}; }
std::int64_t ps_of(SimTime time) { return time.time_since_epoch().count(); }

struct Transfer {
  std::vector<LinkUse> usage;
  double work = 0;
  std::int64_t latency_ps = 0;
  double cap = 0;  // bytes per second
};
ActivitySpec spec_of(const Transfer& transfer) {
  ActivitySpec spec;
  spec.usage = transfer.usage;
  spec.work_bytes = transfer.work;
  spec.latency = SimDuration{transfer.latency_ps};
  spec.rate_cap = DataRate::from_bytes_per_second(transfer.cap);
  return spec;
}

LinkCapacities links_of(int count, double bytes_per_second) {
  return LinkCapacities(static_cast<std::size_t>(count),
                        DataRate::from_bytes_per_second(bytes_per_second));
}

// Runs to the end; completion instant by id.
std::map<ActivityId, std::int64_t> run(NetworkModel& network) {
  std::map<ActivityId, std::int64_t> end;
  while (const auto next = network.next_completion()) {
    const auto completed = network.advance(*next);
    EXPECT_FALSE(completed.empty());
    for (const ActivityId id : completed) end[id] = ps_of(*next);
  }
  return end;
}

class BothFidelities : public ::testing::TestWithParam<bool> {
 protected:
  static std::unique_ptr<NetworkModel> make(LinkCapacities capacities) {
    return GetParam() ? make_fluid_network(std::move(capacities))
                      : make_ideal_network(std::move(capacities));
  }
};
INSTANTIATE_TEST_SUITE_P(IdealAndFluid, BothFidelities, ::testing::Bool());

// 1 GB at weight 2 over a link of 10 GB/s: rate 5 GB/s, 0.2 s, after 3 us.
TEST_P(BothFidelities, LoneTransferTakesLatencyPlusWorkOverRate) {
  auto network = make(links_of(1, 10e9));
  const ActivityId id = network->start(at_ps(7), spec_of({{{LinkId{0}, 2}}, 1e9, 3'000'000}));
  EXPECT_EQ(network->rate(id).bytes_per_second(), 0);
  ASSERT_EQ(network->next_completion(), at_ps(7 + 3'000'000 + 200'000'000'000));
  EXPECT_TRUE(network->advance(at_ps(3'000'007)).empty());
  EXPECT_EQ(network->rate(id).bytes_per_second(), 5e9);
  // Half way: 0.5 GB of work done, 1 GB over the link.
  EXPECT_TRUE(network->advance(at_ps(7 + 3'000'000 + 100'000'000'000)).empty());
  EXPECT_DOUBLE_EQ(network->link_bytes()[0], 1e9);
  EXPECT_EQ(network->advance(*network->next_completion()), std::vector<ActivityId>{id});
  EXPECT_DOUBLE_EQ(network->link_bytes()[0], 2e9);
  EXPECT_EQ(network->next_completion(), std::nullopt);
}

// Rounded up: 1 byte at 3 GB/s is 333.3 ps; 1e-9 bytes still take a picosecond; no bytes take none.
TEST_P(BothFidelities, TimesRoundUpToThePicosecond) {
  auto network = make(links_of(3, 3e9));
  const ActivityId byte = network->start(at_ps(0), spec_of({{{LinkId{0}, 1}}, 1}));
  const ActivityId crumb = network->start(at_ps(0), spec_of({{{LinkId{1}, 1}}, 1e-9}));
  const ActivityId nothing = network->start(at_ps(0), spec_of({{{LinkId{2}, 1}}, 0}));
  const ActivityId pure_delay = network->start(at_ps(0), spec_of({{}, 0, 5}));
  auto end = run(*network);
  EXPECT_EQ(end[byte], 334);
  EXPECT_EQ(end[crumb], 1);
  EXPECT_EQ(end[nothing], 0);
  EXPECT_EQ(end[pure_delay], 5);
}

// 10 GB at 10 GB/s; after 0.4 s capped to 2 GB/s (6 GB left), after 1 s more uncapped (4 GB left):
// ends at 0.4 + 1 + 0.4 = 1.8 s.
TEST_P(BothFidelities, CapMayChangeWhileRunning) {
  auto network = make(links_of(1, 10e9));
  const ActivityId id = network->start(at_ps(0), spec_of({{{LinkId{0}, 1}}, 10e9}));
  network->set_rate_cap(at_ps(400'000'000'000), id, DataRate::from_bytes_per_second(2e9));
  EXPECT_EQ(network->rate(id).bytes_per_second(), 2e9);
  network->set_rate_cap(at_ps(1'400'000'000'000), id, DataRate{});
  auto end = run(*network);
  EXPECT_EQ(end[id], 1'800'000'000'000);
  EXPECT_DOUBLE_EQ(network->link_bytes()[0], 10e9);
}

TEST_P(BothFidelities, CancelledTransferLeavesWhatItMoved) {
  auto network = make(links_of(1, 10e9));
  const ActivityId id = network->start(at_ps(0), spec_of({{{LinkId{0}, 1}}, 10e9}));
  const ActivityId waiting =
      network->start(at_ps(0), spec_of({{{LinkId{0}, 1}}, 1, 2'000'000'000'000}));
  EXPECT_EQ(network->next_completion(), at_ps(1'000'000'000'000));
  network->cancel(at_ps(250'000'000'000), id);
  network->cancel(at_ps(250'000'000'000), waiting);
  EXPECT_DOUBLE_EQ(network->link_bytes()[0], 2.5e9);
  EXPECT_EQ(network->next_completion(), std::nullopt);
}

TEST_P(BothFidelities, SameInstantCompletesInOrderOfIds) {
  auto network = make(links_of(4, 1e9));
  std::vector<ActivityId> ids;
  for (const int link : {2, 0, 3, 1}) {
    ids.push_back(network->start(at_ps(0), spec_of({{{LinkId{link}, 1}}, 1000})));
  }
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
  EXPECT_EQ(network->advance(*network->next_completion()), ids);
}

// Ring all-reduce, N = 64 on link-disjoint paths: 2 (N - 1) steps of one chunk of S / N to the
// neighbour, T = 2 (N - 1) (hops * alpha + S / (N B)). S = 1 GiB, B = 50 GB/s, 1 us per link, 6
// links: 126 * (6 us + 16 MiB / 50e9 B/s) = 126 * 341.544320 us = 43.034584320 ms. SimGrid 3.32
// (CM02) prints 43.034584.
TEST_P(BothFidelities, RingAllReduceOnDisjointPathsTakesItsClosedForm) {
  constexpr int kRanks = 64;
  constexpr int kHops = 6;
  auto network = make(links_of(kRanks * kHops, 50e9));
  SimTime now = at_ps(0);
  for (int step = 0; step < 2 * (kRanks - 1); ++step) {
    for (int rank = 0; rank < kRanks; ++rank) {
      Transfer chunk{{}, 16.0 * 1024 * 1024, kHops * 1'000'000};
      for (int hop = 0; hop < kHops; ++hop) chunk.usage.push_back({LinkId{rank * kHops + hop}, 1});
      network->start(now, spec_of(chunk));
    }
    now = *network->next_completion();
    ASSERT_EQ(network->advance(now).size(), static_cast<std::size_t>(kRanks));
  }
  EXPECT_EQ(ps_of(now), 43'034'584'320);
}

// Two transfers of 6 and 2 GB share 2 GB/s: 1 GB/s each until the small one ends at 2 s; the other
// has 4 GB left at 2 GB/s: ends at 4 s.
TEST(FluidNetwork, SharesBottleneckEquallyThenSpeedsUp) {
  auto network = make_fluid_network(links_of(1, 2e9));
  const ActivityId large = network->start(at_ps(0), spec_of({{{LinkId{0}, 1}}, 6e9}));
  const ActivityId small = network->start(at_ps(0), spec_of({{{LinkId{0}, 1}}, 2e9}));
  auto end = run(*network);
  EXPECT_EQ(end[small], 2'000'000'000'000);
  EXPECT_EQ(end[large], 4'000'000'000'000);
}

// A transfer in its latency phase joins at 1 s, before the first completion: alone 2 GB of 4 are
// done by then at 2 GB/s; then 1 GB/s each. The first ends at 1 + 2 = 3 s; the second (3 GB) has 1
// GB left and ends at 3.5 s. next_completion() sees past the join, and a later start takes that
// view back.
TEST(FluidNetwork, LooksPastTheEndOfALatencyPhase) {
  auto network = make_fluid_network(links_of(1, 2e9));
  const ActivityId first = network->start(at_ps(0), spec_of({{{LinkId{0}, 1}}, 4e9}));
  const ActivityId second =
      network->start(at_ps(0), spec_of({{{LinkId{0}, 1}}, 3e9, 1'000'000'000'000}));
  EXPECT_EQ(network->next_completion(), at_ps(3'000'000'000'000));
  EXPECT_EQ(network->rate(first).bytes_per_second(), 2e9);
  EXPECT_EQ(network->rate(second).bytes_per_second(), 0);
  EXPECT_EQ(network->next_completion(), at_ps(3'000'000'000'000));
  EXPECT_TRUE(network->advance(at_ps(500'000'000'000)).empty());
  EXPECT_DOUBLE_EQ(network->link_bytes()[0], 1e9);
  // At 0.5 s a third of 0.25 GB: 1 GB/s each, it ends at 0.75 s.
  const ActivityId third =
      network->start(at_ps(500'000'000'000), spec_of({{{LinkId{0}, 1}}, 0.25e9}));
  EXPECT_EQ(network->next_completion(), at_ps(750'000'000'000));
  // By 0.75 s the first has moved 1.25 GB, by 1 s 1.75 GB; 2.25 GB left at 1 GB/s: 3.25 s.
  // The second then has 0.75 GB left at 2 GB/s: 3.625 s.
  auto end = run(*network);
  EXPECT_EQ(end[third], 750'000'000'000);
  EXPECT_EQ(end[first], 3'250'000'000'000);
  EXPECT_EQ(end[second], 3'625'000'000'000);
}

// A completion and the end of a latency phase at the same picosecond.
TEST(FluidNetwork, LatencyMayEndWhenAnotherCompletes) {
  auto network = make_fluid_network(links_of(1, 1e9));
  const ActivityId first = network->start(at_ps(0), spec_of({{{LinkId{0}, 1}}, 1000}));
  const ActivityId second = network->start(at_ps(0), spec_of({{{LinkId{0}, 1}}, 500, 1'000'000}));
  EXPECT_EQ(network->next_completion(), at_ps(1'000'000));
  EXPECT_EQ(network->advance(at_ps(1'000'000)), std::vector<ActivityId>{first});
  EXPECT_EQ(network->rate(second).bytes_per_second(), 1e9);
  EXPECT_EQ(network->next_completion(), at_ps(1'500'000));
}

TEST(FluidNetwork, StalledTransferHasNoCompletion) {
  auto network = make_fluid_network(links_of(1, 0));
  const ActivityId id = network->start(at_ps(0), spec_of({{{LinkId{0}, 1}}, 1000, 10}));
  EXPECT_EQ(network->next_completion(), std::nullopt);
  network->cancel(at_ps(1000), id);
  EXPECT_EQ(network->next_completion(), std::nullopt);
}

// A coupled ring of 1024 edges is one activity; two such rings over the same edges halve each
// other.
TEST(FluidNetwork, CoupledRingsShareEveryEdge) {
  constexpr int kEdges = 1024;
  Transfer ring{{}, 1e9};
  for (int i = 0; i < kEdges; ++i) ring.usage.push_back({LinkId{i}, 1});
  auto network = make_fluid_network(links_of(kEdges, 50e9));
  network->start(at_ps(0), spec_of(ring));
  network->start(at_ps(0), spec_of(ring));
  for (const auto& [id, end] : run(*network)) EXPECT_EQ(end, 40'000'000'000);
  for (const double bytes : network->link_bytes()) EXPECT_DOUBLE_EQ(bytes, 2e9);
}

// ---- properties -------------------------------------------------------------------------------

// Naive simulation in double seconds: each activity's rate anew from water filling at every event.
std::vector<double> simulate_naively(const LinkCapacities& capacities,
                                     const std::vector<ActivitySpec>& activities,
                                     const std::vector<double>& start_s) {
  const std::size_t count = activities.size();
  std::vector<double> left(count), end(count, -1);
  for (std::size_t i = 0; i < count; ++i) left[i] = activities[i].work_bytes;
  double now = 0;
  while (std::any_of(end.begin(), end.end(), [](double e) { return e < 0; })) {
    std::vector<ActivitySpec> flowing;
    std::vector<std::size_t> index;
    double next = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < count; ++i) {
      const double begins = start_s[i] + to_seconds(activities[i].latency);
      if (end[i] >= 0) continue;
      if (begins > now + 1e-15) {
        next = std::min(next, begins);
      } else {
        flowing.push_back(activities[i]);
        index.push_back(i);
      }
    }
    const auto rates = testing::naive_max_min(capacities, flowing);
    for (std::size_t f = 0; f < index.size(); ++f) {
      next = std::min(next, now + left[index[f]] / rates[f]);
    }
    for (std::size_t f = 0; f < index.size(); ++f) {
      const std::size_t i = index[f];
      left[i] -= rates[f] * (next - now);
      if (left[i] <= 1e-9 * activities[i].work_bytes) end[i] = next;
    }
    now = next;
  }
  return end;
}

/// Each earlier event may be a picosecond late. What another activity misses by that is at most the
/// capacity for 1 ps; making up for it at its own rate takes capacity / rate ps, here up to about
/// 1000.
constexpr std::int64_t kPsPerEvent = 1000;
constexpr double kRelative = 1e-8;

struct StaggeredRun {
  std::vector<std::int64_t> start, end;  // ps
  std::vector<double> link_bytes;
};

// Starts each activity at its instant, in time order, and asks for the next completion in between.
StaggeredRun run_staggered(NetworkModel& network, const std::vector<ActivitySpec>& activities,
                           const std::vector<std::int64_t>& starts, bool limit_view = false) {
  StaggeredRun result{starts, std::vector<std::int64_t>(activities.size(), -1), {}};
  std::vector<std::size_t> order(activities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return starts[a] < starts[b]; });
  std::map<ActivityId, std::size_t> index;
  const auto run_until = [&](std::int64_t limit) {
    const auto next_one = [&] {
      return limit_view ? network.next_completion_until(at_ps(limit)) : network.next_completion();
    };
    for (auto next = next_one(); next && ps_of(*next) <= limit; next = next_one()) {
      for (const ActivityId id : network.advance(*next)) result.end[index[id]] = ps_of(*next);
    }
  };
  for (const std::size_t i : order) {
    run_until(starts[i]);
    index[network.start(at_ps(starts[i]), activities[i])] = i;
  }
  run_until(std::numeric_limits<std::int64_t>::max());
  const auto bytes = network.link_bytes();
  result.link_bytes.assign(bytes.begin(), bytes.end());
  return result;
}

std::vector<std::int64_t> start_times(std::uint64_t seed, std::size_t count) {
  std::vector<std::int64_t> starts;
  for (std::size_t i = 0; i < count; ++i) {
    starts.push_back(static_cast<std::int64_t>((seed / 7 + i * i * 31) % 11) * 300'000'000);
  }
  return starts;
}

RC_GTEST_PROP(FluidProperty, AgreesWithNaiveSimulation, (std::uint64_t seed, bool ties)) {
  const auto random = random_network(seed, {.max_activities = 14, .round_numbers = ties});
  const auto starts = start_times(seed, random.activities.size());
  const auto network = make_fluid_network(random.capacities);
  const auto result = run_staggered(*network, random.activities, starts);
  std::vector<double> start_s;
  for (const std::int64_t start : starts) start_s.push_back(static_cast<double>(start) * 1e-12);
  const auto expected = simulate_naively(random.capacities, random.activities, start_s);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double tolerance = kRelative * expected[i] + 1e-12 * static_cast<double>(kPsPerEvent) *
                                                           static_cast<double>(2 * expected.size());
    RC_ASSERT(std::abs(static_cast<double>(result.end[i]) * 1e-12 - expected[i]) <= tolerance);
  }
}

// Every byte of work crosses each of its links `weight` times, whatever happened in between.
RC_GTEST_PROP(FluidProperty, ConservesBytes, (std::uint64_t seed, bool fluid)) {
  const auto random = random_network(seed, {});
  const auto network =
      fluid ? make_fluid_network(random.capacities) : make_ideal_network(random.capacities);
  const auto result =
      run_staggered(*network, random.activities, start_times(seed, random.activities.size()));
  std::vector<double> expected(random.capacities.size(), 0.0);
  for (const ActivitySpec& activity : random.activities) {
    for (const LinkUse& use : activity.usage) {
      expected[use.link.position()] += use.weight * activity.work_bytes;
    }
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    RC_ASSERT(std::abs(result.link_bytes[i] - expected[i]) <= 1e-12 * expected[i]);
  }
}

// Twice the bandwidth and half the latency: half the time, but for roundings.
RC_GTEST_PROP(FluidProperty, ScalesWithBandwidth, (std::uint64_t seed, bool ties)) {
  const auto random = random_network(seed, {.round_numbers = ties});
  auto faster = random;
  for (DataRate& capacity : faster.capacities) capacity = capacity * 2;
  for (std::size_t i = 0; i < faster.activities.size(); ++i) {
    faster.activities[i].rate_cap = random.activities[i].rate_cap * 2;
    faster.activities[i].latency = random.activities[i].latency / 2;
  }
  const auto slow_network = make_fluid_network(random.capacities);
  const auto fast_network = make_fluid_network(faster.capacities);
  const std::vector<std::int64_t> at_zero(random.activities.size(), 0);
  const auto slow = run_staggered(*slow_network, random.activities, at_zero);
  const auto fast = run_staggered(*fast_network, faster.activities, at_zero);
  const auto slack = kPsPerEvent * static_cast<std::int64_t>(2 * random.activities.size());
  for (std::size_t i = 0; i < at_zero.size(); ++i) {
    RC_ASSERT(std::abs(slow.end[i] - 2 * fast.end[i]) <= slack);
  }
}

// No link is used by two: contention cannot matter, to the picosecond.
RC_GTEST_PROP(FluidProperty, EqualsIdealWhenNothingIsShared, (std::uint64_t seed)) {
  auto random = random_network(seed, {});
  LinkCapacities capacities;
  for (ActivitySpec& activity : random.activities) {
    for (LinkUse& use : activity.usage) {
      capacities.push_back(random.capacities[use.link.position()]);
      use.link = LinkId{static_cast<std::int32_t>(capacities.size() - 1)};
    }
  }
  const auto starts = start_times(seed, random.activities.size());
  const auto fluid = make_fluid_network(capacities);
  const auto ideal = make_ideal_network(capacities);
  const auto fluid_run = run_staggered(*fluid, random.activities, starts);
  const auto ideal_run = run_staggered(*ideal, random.activities, starts);
  RC_ASSERT(fluid_run.end == ideal_run.end);
  RC_ASSERT(fluid_run.link_bytes == ideal_run.link_bytes);
}

// A caller that asks only up to its own next event sees the same completions.
RC_GTEST_PROP(FluidProperty, LimitedViewChangesNothing, (std::uint64_t seed, bool ties)) {
  const auto random = random_network(seed, {.round_numbers = ties});
  const auto starts = start_times(seed, random.activities.size());
  const auto whole = make_fluid_network(random.capacities);
  const auto limited = make_fluid_network(random.capacities);
  const auto expected = run_staggered(*whole, random.activities, starts);
  const auto result = run_staggered(*limited, random.activities, starts, true);
  RC_ASSERT(result.end == expected.end);
  RC_ASSERT(result.link_bytes == expected.link_bytes);
}

// Contention only ever delays.
RC_GTEST_PROP(FluidProperty, NeverBeatsIdealForASetStartedTogether, (std::uint64_t seed)) {
  const auto random = random_network(seed, {});
  const std::vector<std::int64_t> at_zero(random.activities.size(), 0);
  const auto fluid = make_fluid_network(random.capacities);
  const auto ideal = make_ideal_network(random.capacities);
  const auto fluid_run = run_staggered(*fluid, random.activities, at_zero);
  const auto ideal_run = run_staggered(*ideal, random.activities, at_zero);
  for (std::size_t i = 0; i < at_zero.size(); ++i) {
    RC_ASSERT(fluid_run.end[i] + 1 >= ideal_run.end[i]);
  }
}

}  // namespace
}  // namespace foretrain
