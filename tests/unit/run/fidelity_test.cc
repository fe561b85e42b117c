// What contention and the hash of the switches do to a step, and what `ideal` leaves out.
#include <algorithm>

#include "tests/unit/run/run_fixture.h"

namespace foretrain {
namespace {

constexpr double kSame = 1e-9;

/// 32 GPUs on four NICs a node: two GPUs share a NIC, so groups of different GPUs meet on it.
std::string shared_nics(const std::string& fabric, const std::string& more = {}) {
  return "foretrain: 1\nname: shared\ncluster:\n  nodes: 4\n  node: aws-p4d\n  fabric: {kind: "
         "fat-tree, tiers: 2, rails: 1, " +
         fabric +
         "}\njob:\n  model: {name: llama-3-8b, layers: 4}\n  sequence_length: 2048\n"
         "  parallel: {tensor: 2, data: 16}\n  batch: {global: 16, micro: 1}\n"
         "  framework: megatron-lm\n  optimizer: {kind: adam, shard: optimizer}\n" +
         more;
}

/// No collisions, no thin uplinks: the ideal step is that of any fabric with the same adapters.
TEST(Fidelity, IdealDoesNotSeeTheSwitches) {
  const RunReport wide = run_text(shared_nics("routing: spray", "fidelity: ideal\n"));
  const RunReport thin =
      run_text(shared_nics("oversubscription: 4, routing: ecmp", "fidelity: ideal\n"));
  EXPECT_NEAR(thin.step_time_s / wide.step_time_s, 1, kSame);
  const RunReport real = run_text(shared_nics("oversubscription: 4, routing: ecmp"));
  EXPECT_GT(real.step_time_s, thin.step_time_s * 1.01);
}

/// Every rank alone, one by one, is what the folded ranks are.
TEST(Fidelity, FoldingChangesNothingWithoutContention) {
  for (const char* routing : {"routing: spray", "oversubscription: 4, routing: ecmp"}) {
    const std::string text = shared_nics(routing, "fidelity: ideal\n");
    const RunReport folded = run_text(text, true);
    const RunReport everyone = run_text(text, false);
    EXPECT_TRUE(folded.manifest.folded);
    EXPECT_NEAR(folded.step_time_s / everyone.step_time_s, 1, kSame) << routing;
  }
}

/// Sharded over 64 GPUs behind thin uplinks: each gather is a ring through every leaf, and where
/// two of its hops share an uplink it runs at half the speed.
TEST(Fidelity, IntervalHoldsOtherDrawsOfTheHash) {
  const std::string text =
      "foretrain: 1\nname: draws\ncluster:\n  nodes: 8\n  node: aws-p4d\n"
      "  fabric: {kind: fat-tree, tiers: 2, rails: 1, oversubscription: 4, routing: ecmp}\n"
      "job:\n  model: {name: llama-3-8b, layers: 4}\n  sequence_length: 2048\n"
      "  batch: {global: 64, micro: 1}\n  framework: fsdp2\nseed: ";
  double low = 0, high = 1e30;
  std::vector<double> steps;
  bool said = false;
  for (const char* seed : {"1", "2", "3", "4", "5", "6"}) {
    const RunReport report = run_text(text + seed + "\n");
    steps.push_back(report.step_time_s);
    low = std::max(low, report.step_interval.low);
    high = std::min(high, report.step_interval.high);
    said |= std::any_of(report.findings.begin(), report.findings.end(),
                        [](const Finding& f) { return f.id == "hash-collisions"; });
  }
  EXPECT_TRUE(said);
  for (const double step : steps) {
    EXPECT_GT(step, low);
    EXPECT_LT(step, high);
  }
}

/// Spraying leaves nothing to chance.
TEST(Fidelity, SprayingIgnoresTheSeed) {
  const RunReport one = run_text(shared_nics("routing: spray", "seed: 1\n"));
  const RunReport two = run_text(shared_nics("routing: spray", "seed: 2\n"));
  EXPECT_EQ(one.step_time_s, two.step_time_s);
}

/// Chunk by chunk the same bytes cross the same links: large collectives take about as long (here
/// two groups share each NIC, and their chunks get out of step), and folding changes nothing.
TEST(Fidelity, ChunksAgreeWithTheFluidStep) {
  for (const char* routing : {"routing: spray", "oversubscription: 4, routing: ecmp"}) {
    const RunReport fluid = run_text(shared_nics(routing));
    const RunReport chunks = run_text(shared_nics(routing, "fidelity: chunk\n"));
    EXPECT_EQ(chunks.manifest.fidelity, "chunk");
    EXPECT_NEAR(chunks.step_time_s / fluid.step_time_s, 1, 0.10) << routing;
    const RunReport everyone = run_text(shared_nics(routing, "fidelity: chunk\n"), false);
    EXPECT_NEAR(everyone.step_time_s / chunks.step_time_s, 1, kSame);
  }
}

/// 2,048 GPUs all to all have four million flows a step: said, not computed for an hour.
TEST(Fidelity, TooManyChunksAreADiagnostic) {
  const Scenario scenario = scenario_of(
      "foretrain: 1\nname: many\nfidelity: chunk\ncluster: {nodes: 256, node: dgx-h100}\njob:\n"
      "  model: {name: llama-3-8b, layers: 4}\n  sequence_length: 8192\n"
      "  batch: {global: 2048, micro: 1}\n  framework: fsdp2\nnccl: {NCCL_ALGO: Ring}\n");
  RunOptions options;
  options.data_dir = data_dir();
  const Result<RunReport> report = simulate(scenario, options);
  ASSERT_FALSE(report.has_value());
  EXPECT_NE(to_string(report.error()).find("transfers"), std::string::npos);
}

/// Gathering only when a unit is needed can hide nothing: the gathers' own time becomes exposed.
TEST(Fidelity, WithoutPrefetchGathersAreExposed) {
  const std::string head =
      "foretrain: 1\nname: gather\ncluster: {nodes: 2, node: dgx-h100}\njob:\n"
      "  model: {name: llama-3-8b, layers: 4}\n  sequence_length: 8192\n"
      "  batch: {global: 16, micro: 1}\n  framework: fsdp2\n  options: {overlap_param_gather: ";
  const RunReport prefetched = run_text(head + "true}\n");
  const RunReport late = run_text(head + "false}\n");
  EXPECT_GT(late.breakdown[TimeKind::kData], 2 * prefetched.breakdown[TimeKind::kData]);
  EXPECT_GT(late.step_time_s, prefetched.step_time_s);
}

}  // namespace
}  // namespace foretrain
