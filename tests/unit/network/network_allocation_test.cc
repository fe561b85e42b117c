// The hot path does not allocate: starts, completions, caps and cancellations reuse what is there.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "sim/network/network_model.h"
#include "tests/unit/engine/allocation_counter.h"

namespace foretrain {
namespace {

constexpr int kGroups = 16;
constexpr int kLinksPerGroup = 8;

std::vector<ActivitySpec> recurring_transfers() {
  std::vector<ActivitySpec> specs;
  for (int i = 0; i < 96; ++i) {
    ActivitySpec spec;
    const int base = (i % kGroups) * kLinksPerGroup;
    for (int link = 0; link < kLinksPerGroup; ++link) {
      if ((i + link) % 3 != 0) spec.usage.push_back({LinkId{base + link}, 1.0 + i % 2});
    }
    spec.work_bytes = 1e5 * (1 + i % 7);
    spec.latency = SimDuration{(i % 4) * 1'000'000};
    specs.push_back(spec);
  }
  return specs;
}

// Plays `num_starts` transfers, always 40 in flight; cancels and caps some.
void churn(NetworkModel& network, const std::vector<ActivitySpec>& specs, int num_starts,
           SimTime& now, std::vector<ActivityId>& completed) {
  static constexpr int kInFlight = 40;
  int in_flight = 0;
  for (int i = 0; i < num_starts; ++i) {
    const ActivityId id = network.start(now, specs[static_cast<std::size_t>(i) % specs.size()]);
    ++in_flight;
    if (i % 5 == 0) network.set_rate_cap(now, id, gigabytes_per_second(1 + i % 3));
    if (i % 11 == 0) {
      network.cancel(now, id);
      --in_flight;
    }
    while (in_flight >= kInFlight) {
      now = *network.next_completion();
      network.advance_into(now, completed);
      in_flight -= static_cast<int>(completed.size());
    }
  }
  while (const auto next = network.next_completion()) {
    now = *next;
    network.advance_into(now, completed);
  }
}

class Allocation : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(IdealAndFluid, Allocation, ::testing::Bool());

TEST_P(Allocation, IsNotNeededPerEventInSteadyState) {
  LinkCapacities capacities(kGroups * kLinksPerGroup, gigabytes_per_second(10));
  const auto network = GetParam() ? make_fluid_network(capacities) : make_ideal_network(capacities);
  const auto specs = recurring_transfers();
  std::vector<ActivityId> completed;
  SimTime now{};
  constexpr int kStarts = 10'000;
  churn(*network, specs, 3 * kStarts, now, completed);
  const std::int64_t before = testing::num_allocations();
  churn(*network, specs, kStarts, now, completed);
  // Buffers that double (a new set of transfers to remember, a longer list on a link) are the only
  // reason left.
  constexpr std::int64_t kAmortisedGrowth = 20;
  EXPECT_LE(testing::num_allocations() - before, kAmortisedGrowth);
}

}  // namespace
}  // namespace foretrain
