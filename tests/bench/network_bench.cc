// What the fluid network costs. Ratios compare with the yardstick in the same process.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <vector>

#include "sim/core/random_stream.h"
#include "sim/network/fluid_network.h"
#include "tests/bench/max_min_yardstick.h"

namespace foretrain {
namespace {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : stream_(seed, RandomPurpose::kTest) {}
  int below(int bound) {
    return static_cast<int>(stream_.below(static_cast<std::uint64_t>(bound), 0, index_++));
  }

 private:
  RandomStream stream_;
  std::uint64_t index_ = 0;
};

ActivitySpec random_activity(Draws& draws, int first_link, int num_links, int length) {
  std::set<int> links;
  while (static_cast<int>(links.size()) < length) links.insert(first_link + draws.below(num_links));
  ActivitySpec spec;
  for (const int link : links) spec.usage.push_back({LinkId{link}, 1});
  spec.work_bytes = 1e6 * (1 + draws.below(1000));
  return spec;
}

// 10 000 activities of 12 links in flight on 100 000 links, four to a neighbourhood of 40 links;
// each completion starts another one. range(0): distinct usages per neighbourhood.
void churn(benchmark::State& state) {
  constexpr int kNeighbourhoods = 2500;
  constexpr int kLinks = 40;
  constexpr int kInFlight = 4;
  const auto pool_size = static_cast<int>(state.range(0));
  Draws draws{1};
  std::vector<ActivitySpec> pool;
  for (int i = 0; i < kNeighbourhoods * pool_size; ++i) {
    pool.push_back(random_activity(draws, i / pool_size * kLinks, kLinks, 12));
  }
  const auto network = make_fluid_network(
      LinkCapacities(kNeighbourhoods * kLinks, gigabytes_per_second(50)), FluidOptions{});
  std::vector<int> neighbourhood_of;
  const auto start = [&](SimTime now, int neighbourhood) {
    network->start(
        now, pool[static_cast<std::size_t>(neighbourhood * pool_size + draws.below(pool_size))]);
    neighbourhood_of.push_back(neighbourhood);
  };
  for (int i = 0; i < kNeighbourhoods * kInFlight; ++i) start(SimTime{}, i % kNeighbourhoods);
  std::vector<ActivityId> completed;
  std::int64_t transfers = 0;
  for (auto _ : state) {
    const SimTime now = *network->next_completion();
    network->advance_into(now, completed);
    for (const ActivityId id : completed) start(now, neighbourhood_of[id.position()]);
    transfers += static_cast<std::int64_t>(completed.size());
  }
  state.counters["transfers_per_s"] =
      benchmark::Counter(static_cast<double>(transfers), benchmark::Counter::kIsRate);
  state.counters["memo_hit_share"] = static_cast<double>(network->statistics().memo_hits) /
                                     static_cast<double>(network->statistics().components);
}
BENCHMARK(churn)->Arg(8)->Arg(64)->Unit(benchmark::kMicrosecond)->MinTime(2);

double seconds_of_yardstick(const LinkCapacities& capacities,
                            const std::vector<ActivitySpec>& activities) {
  const auto begin = std::chrono::steady_clock::now();
  benchmark::DoNotOptimize(bench::max_min_by_rounds(capacities, activities));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void time_solver(benchmark::State& state, const LinkCapacities& capacities,
                 const std::vector<ActivitySpec>& activities, bool quotient) {
  MaxMinProblem problem;
  MaxMinSolver solver;
  ColourRefinement refinement;
  std::vector<double> rates;
  double seconds = 0;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    problem.clear();
    for (const DataRate capacity : capacities) problem.add_link(capacity.bytes_per_second());
    for (const ActivitySpec& a : activities) {
      for (const LinkUse& use : a.usage) {
        problem.add_entry(static_cast<std::uint32_t>(use.link.index()), use.weight);
      }
      problem.end_column(1, 1e300, 1);
    }
    if (quotient && refinement.refine(problem)) {
      solver.solve(refinement.quotient(), rates);
    } else {
      solver.solve(problem, rates);
    }
    benchmark::DoNotOptimize(rates.data());
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  state.counters["times_faster"] = seconds_of_yardstick(capacities, activities) /
                                   (seconds / static_cast<double>(state.iterations()));
}

// 16 384 activities of 12 random links each out of 8192: one component, thousands of rounds.
void solve_random(benchmark::State& state) {
  Draws draws{2};
  LinkCapacities capacities;
  for (int i = 0; i < 8192; ++i) capacities.push_back(gigabytes_per_second(25 + draws.below(75)));
  std::vector<ActivitySpec> activities;
  for (int i = 0; i < 16384; ++i) activities.push_back(random_activity(draws, 0, 8192, 12));
  time_solver(state, capacities, activities, state.range(0) != 0);
}
BENCHMARK(solve_random)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

// All-to-all on an 8 x 8 x 4 torus by dimension order: 65 280 flows at once, no two rounds of equal
// sums.
std::vector<ActivitySpec> torus_all_to_all() {
  const int size[3] = {8, 8, 4};
  constexpr int kRanks = 256;
  std::vector<ActivitySpec> flows;
  for (int from = 0; from < kRanks; ++from) {
    for (int to = 0; to < kRanks; ++to) {
      if (from == to) continue;
      ActivitySpec spec;
      spec.work_bytes = 4 << 20;
      int at = from;
      int stride = 1;
      for (const int n : size) {
        const int goal = to / stride % n;
        for (int here = at / stride % n; here != goal; here = at / stride % n) {
          const bool up = (goal - here + n) % n <= n / 2;
          const int dimension = stride == 1 ? 0 : (stride == 8 ? 1 : 2);
          spec.usage.push_back({LinkId{at * 6 + dimension * 2 + (up ? 0 : 1)}, 1});
          at += ((here + (up ? 1 : n - 1)) % n - here) * stride;
        }
        stride *= n;
      }
      std::sort(spec.usage.begin(), spec.usage.end(),
                [](const LinkUse& a, const LinkUse& b) { return a.link < b.link; });
      flows.push_back(spec);
    }
  }
  return flows;
}

void solve_torus_all_to_all(benchmark::State& state) {
  time_solver(state, LinkCapacities(256 * 6, gigabytes_per_second(50)), torus_all_to_all(),
              state.range(0) != 0);
}
BENCHMARK(solve_torus_all_to_all)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

// The same all-to-all over time, from the burst to the last completion.
void run_torus_all_to_all(benchmark::State& state) {
  const auto flows = torus_all_to_all();
  std::vector<ActivityId> completed;
  double simulated_ms = 0;
  for (auto _ : state) {
    const auto network = make_fluid_network(LinkCapacities(256 * 6, gigabytes_per_second(50)),
                                            {.quotient = state.range(0) != 0});
    for (const ActivitySpec& flow : flows) network->start(SimTime{}, flow);
    while (const auto next = network->next_completion()) {
      network->advance_into(*next, completed);
      simulated_ms = to_seconds(*next) * 1e3;
    }
    state.counters["solves"] = static_cast<double>(network->statistics().solves);
  }
  state.counters["simulated_ms"] = simulated_ms;
}
BENCHMARK(run_torus_all_to_all)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->Iterations(1);

// Ring all-reduce of 1024 ranks as 2046 steps of 1024 transfers on disjoint paths of 6 links.
void ring_1024_by_steps(benchmark::State& state) {
  constexpr int kRanks = 1024;
  std::vector<ActivitySpec> chunks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ActivitySpec spec;
    for (int hop = 0; hop < 6; ++hop) spec.usage.push_back({LinkId{rank * 6 + hop}, 1});
    spec.work_bytes = 1 << 20;
    spec.latency = SimDuration{6'000'000};
    chunks.push_back(spec);
  }
  std::vector<ActivityId> completed;
  for (auto _ : state) {
    const auto network =
        make_fluid_network(LinkCapacities(kRanks * 6, gigabytes_per_second(50)), FluidOptions{});
    SimTime now{};
    for (int step = 0; step < 2 * (kRanks - 1); ++step) {
      for (const ActivitySpec& chunk : chunks) network->start(now, chunk);
      now = *network->next_completion();
      network->advance_into(now, completed);
    }
  }
  state.counters["transfers_per_s"] =
      benchmark::Counter(2.0 * (kRanks - 1) * kRanks * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}
BENCHMARK(ring_1024_by_steps)->Unit(benchmark::kMillisecond)->Iterations(1);

// The same ring as one coupled activity: two events.
void ring_1024_coupled(benchmark::State& state) {
  ActivitySpec ring;
  for (int link = 0; link < 6144; ++link) ring.usage.push_back({LinkId{link}, 1});
  ring.work_bytes = 1 << 30;
  const auto network =
      make_fluid_network(LinkCapacities(6144, gigabytes_per_second(50)), FluidOptions{});
  std::vector<ActivityId> completed;
  SimTime now{};
  for (auto _ : state) {
    network->start(now, ring);
    now = *network->next_completion();
    network->advance_into(now, completed);
  }
}
BENCHMARK(ring_1024_coupled)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace foretrain
