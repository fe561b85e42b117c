// Chunk by chunk against the fluid form of the same call.
#include <cmath>

#include "sim/collectives/chunk_schedule.h"
#include "sim/execution/chunk_time.h"
#include "sim/run/machine_build.h"
#include "tests/unit/run/run_fixture.h"

namespace foretrain {
namespace {

struct Bench {
  Scenario scenario;
  Machine machine;
  ProcessGroup group;
  LinkCapacities capacities;
};

Bench bench_of(const std::string& cluster, const std::string& more = {}) {
  Bench bench{
      scenario_of("foretrain: 1\nname: chunks\ncluster: " + cluster + "\n" + more), {}, {}, {}};
  Result<Machine> machine = build_machine(bench.scenario, data_dir());
  EXPECT_TRUE(machine.has_value());
  bench.machine = std::move(*machine);
  for (int g = 0; g < bench.machine.topology->num_gpus(); ++g)
    bench.group.gpus.push_back(bench.machine.topology->gpu(g));
  for (const Link& link : bench.machine.topology->links())
    bench.capacities.push_back(link.bandwidth);
  return bench;
}

double fluid_seconds(const Bench& bench, CollectiveKind kind, Bytes size) {
  const LoweredCollective lowered = bench.machine.collectives->lower(kind, size, bench.group, 1);
  ActivitySpec spec;
  for (const LinkShare& use : lowered.usage) spec.usage.push_back({use.link, use.share});
  spec.work_bytes = lowered.work_bytes;
  spec.rate_cap = lowered.rate_cap;
  const DataRate rate = max_min_rates(bench.capacities, std::vector<ActivitySpec>{spec}).front();
  return to_seconds(lowered.latency) + spec.work_bytes / rate.bytes_per_second();
}

ChunkTime chunk_time(const Bench& bench, CollectiveKind kind, Bytes size) {
  Result<CommunicationSchedule> schedule =
      bench.machine.collectives->schedule(kind, size, bench.group, 1, kMostChunkTransfers);
  EXPECT_TRUE(schedule.has_value()) << (schedule ? "" : to_string(schedule.error()));
  return run_chunks({std::move(*schedule)}, bench.capacities);
}

const CollectiveKind kKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                 CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll};

/// Large calls: latencies hide behind the data of other chunks in both, the rest is bandwidth.
TEST(Chunks, LargeCollectivesAgreeWithTheFluidForm) {
  for (const char* cluster :
       {"{nodes: 1, node: dgx-h100}", "{nodes: 1, node: dgx-a100}",
        "{nodes: 4, node: dgx-h100, fabric: {kind: fat-tree, tiers: 2, rails: 8, routing: spray}}",
        "{nodes: 8, node: aws-p4d, fabric: {kind: fat-tree, tiers: 2, rails: 1, routing: "
        "spray}}"}) {
    const Bench bench = bench_of(cluster);
    for (const CollectiveKind kind : kKinds) {
      const Bytes size{std::int64_t{4} << 30};
      const ChunkTime chunks = chunk_time(bench, kind, size);
      EXPECT_TRUE(chunks.finished);
      EXPECT_NEAR(chunks.seconds / fluid_seconds(bench, kind, size), 1, 0.03)
          << cluster << " " << to_string(kind) << " " << chunks.transfers;
    }
  }
}

/// Every algorithm that NCCL can be told to take has the bandwidth of its fluid form.
TEST(Chunks, EveryAlgorithmAgreesWithTheFluidForm) {
  for (const char* algorithm : {"Ring", "Tree", "NVLSTree"}) {
    const Bench bench = bench_of(
        "{nodes: 4, node: dgx-h100, fabric: {kind: fat-tree, tiers: 2, rails: 8, routing: spray}}",
        std::string{"nccl: {NCCL_ALGO: "} + algorithm + "}\n");
    const Bytes size{std::int64_t{4} << 30};
    const ChunkTime chunks = chunk_time(bench, CollectiveKind::kAllReduce, size);
    EXPECT_NEAR(chunks.seconds / fluid_seconds(bench, CollectiveKind::kAllReduce, size), 1, 0.03)
        << algorithm << " " << chunks.transfers;
  }
}

/// c chunks down a chain of n ranks take (c + n - 2) / c of what the data alone take.
TEST(Chunks, BroadcastFillsItsChain) {
  const Bench bench = bench_of("{nodes: 1, node: dgx-h100}");
  const Bytes size{std::int64_t{4} << 30};
  const double fluid = fluid_seconds(bench, CollectiveKind::kBroadcast, size);
  const ChunkTime chunks = chunk_time(bench, CollectiveKind::kBroadcast, size);
  const double count = static_cast<double>(chunks.transfers) / 7;
  EXPECT_NEAR(chunks.seconds / (fluid * (count + 6) / count), 1, 0.01);
}

/// Every byte that a ring's ranks need goes out once, and once in: 2 (n - 1) / n each, plus flags.
TEST(Chunks, RingBytesAreTheClosedForm) {
  const Bench bench = bench_of("{nodes: 2, node: dgx-h100}", "nccl: {NCCL_ALGO: Ring}\n");
  const Bytes size{std::int64_t{1} << 30};
  const Result<CommunicationSchedule> schedule = bench.machine.collectives->schedule(
      CollectiveKind::kAllReduce, size, bench.group, 1, kMostChunkTransfers);
  ASSERT_TRUE(schedule.has_value());
  if (schedule->choice.algorithm != CollectiveAlgorithm::kRing)
    GTEST_SKIP() << "NCCL takes no ring";
  double sent = 0;
  for (const double bytes : schedule->bytes) sent += bytes;
  EXPECT_NEAR(sent / size.as_double(), 2.0 * 15, 2.0 * 15 * 0.07);
}

TEST(Chunks, TooManyAreRefused) {
  const Bench bench = bench_of("{nodes: 2, node: dgx-h100}");
  const auto schedule = bench.machine.collectives->schedule(CollectiveKind::kAllToAll,
                                                            Bytes{1 << 20}, bench.group, 1, 100);
  ASSERT_FALSE(schedule.has_value());
  EXPECT_NE(to_string(schedule.error()).find("more than 100 transfers"), std::string::npos);
}

}  // namespace
}  // namespace foretrain
