#include "sim/run/simulate.h"

#include <gtest/gtest.h>

#include "sim/results/json_writer.h"
#include "tests/unit/run/run_fixture.h"

namespace foretrain {
namespace {

/// What folding may change: nothing but the order in which sums are formed.
constexpr double kFoldTolerance = 1e-9;

const char* const kMegatron = R"(foretrain: 1
name: fold
cluster:
  nodes: 8
  node: dgx-h100
  fabric: {kind: fat-tree, tiers: 2, rails: 8, routing: spray}
job:
  model: {name: llama-3-8b, layers: 8}
  sequence_length: 2048
  parallel: {tensor: 4, pipeline: 4, data: 4, sequence_parallel: true}
  batch: {global: 32, micro: 1}
  framework: megatron-lm
  optimizer: {kind: adam, shard: optimizer}
)";

const char* const kSharded = R"(foretrain: 1
name: fold-fsdp
cluster:
  nodes: 4
  node: dgx-h100
  fabric: {kind: fat-tree, tiers: 2, rails: 8, routing: spray}
job:
  model: {name: llama-3-8b, layers: 4}
  sequence_length: 2048
  batch: {global: 64, micro: 1}
  framework: fsdp2
)";

void expect_folding_changes_nothing(const std::string& text) {
  const RunReport folded = run_text(text, true);
  const RunReport everyone = run_text(text, false);
  EXPECT_FALSE(everyone.manifest.folded);
  EXPECT_NEAR(folded.step_time_s / everyone.step_time_s, 1, kFoldTolerance);
  for (std::size_t i = 0; i < kNumTimeKinds; ++i) {
    const auto kind = static_cast<TimeKind>(i);
    EXPECT_NEAR(folded.breakdown[kind], everyone.breakdown[kind],
                kFoldTolerance * everyone.step_time_s)
        << breakdown_key(kind);
  }
}

TEST(Simulate, FoldingChangesNothingForMegatron) { expect_folding_changes_nothing(kMegatron); }
TEST(Simulate, FoldingChangesNothingForShardedData) { expect_folding_changes_nothing(kSharded); }

TEST(Simulate, FoldingChangesNothingWithHashedRoutes) {
  std::string text = kMegatron;
  text.replace(text.find("spray"), 5, "ecmp");
  expect_folding_changes_nothing(text);
}

TEST(Simulate, HybridShardingFoldsToo) {
  expect_folding_changes_nothing(std::string{kSharded} +
                                 "  optimizer: {kind: adam, shard: parameters, shard_group: 8}\n");
}

TEST(Simulate, BreakdownSumsToTheStep) {
  for (const char* text : {kMegatron, kSharded}) {
    const RunReport report = run_text(text);
    EXPECT_NEAR(report.breakdown.total(), report.step_time_s, 1e-9 * report.step_time_s);
  }
}

TEST(Simulate, SameBytesTwice) {
  EXPECT_EQ(to_json(run_text(kMegatron)), to_json(run_text(kMegatron)));
}

/// Without contention nothing can be slower than the fluid network, and nothing may beat the sum of
/// its own computation.
TEST(Simulate, IdealIsNeverSlowerThanFluid) {
  const RunReport fluid = run_text(kMegatron);
  const RunReport ideal = run_text(std::string{kMegatron} + "fidelity: ideal\n");
  EXPECT_LE(ideal.step_time_s, fluid.step_time_s * (1 + kFoldTolerance));
  const double compute = ideal.breakdown[TimeKind::kGemm] + ideal.breakdown[TimeKind::kAttention];
  EXPECT_GT(ideal.step_time_s, compute);
}

/// One GPU at half speed holds up everyone: tensor groups run in lockstep, pipelines wait. GPU 50
/// is in the last stage, which holds the head and is the slowest of all.
TEST(Simulate, ASlowGpuHoldsUpTheStep) {
  std::string text = kMegatron;
  text.replace(text.find("  fabric:"), 0, "  faults: [{gpu: 50, speed: 50 %}]\n");
  const RunReport healthy = run_text(kMegatron);
  const RunReport slow = run_text(text);
  EXPECT_GT(slow.step_time_s, 1.3 * healthy.step_time_s);
  EXPECT_LT(slow.step_time_s, 2.1 * healthy.step_time_s);
}

/// Model FLOPs: 6 per matmul parameter and token plus causal attention; MFU is that over time and
/// peak.
TEST(Simulate, MfuFollowsFromTheStepTime) {
  const RunReport report = run_text(kMegatron);
  const double tokens = 32.0 * 2048;
  EXPECT_NEAR(report.throughput.tokens_per_s, tokens / report.step_time_s, 1e-6);
  EXPECT_NEAR(report.throughput.mfu * report.throughput.peak_flops_per_s,
              report.throughput.model_flops_per_s_per_gpu, 1e3);
  EXPECT_GT(report.throughput.hfu, 0.0);
  EXPECT_LT(report.throughput.mfu, 1.0);
}

TEST(Simulate, DoesNotFitIsAResultWithRemediesThatFit) {
  const RunReport report = run_text(R"(foretrain: 1
name: too-large
cluster: {nodes: 1, node: dgx-a100-40g}
job:
  model: llama-2-70b
  sequence_length: 4096
  parallel: {tensor: 8, sequence_parallel: true}
  batch: {global: 8, micro: 1}
  framework: megatron-lm
expect:
  - {metric: outcome, value: out_of_memory}
)");
  EXPECT_EQ(report.outcome, Outcome::kOutOfMemory);
  ASSERT_EQ(report.expectations.size(), 1u);
  EXPECT_TRUE(report.expectations[0].holds);
  for (const MemoryRemedyReport& remedy : report.remedies) {
    EXPECT_LE(remedy.peak, report.memory.limit) << remedy.change;
  }
}

/// Two NVL72 domains: more adapters a node than rails that a spine could join.
TEST(Simulate, TwoNvlinkDomainsAreWired) {
  const Scenario scenario =
      scenario_of("foretrain: 1\nname: x\ncluster: {nodes: 2, node: gb200-nvl72}\n");
  EXPECT_EQ(72 % scenario.cluster.fabric.rails, 0);
}

TEST(Simulate, ScenarioWithoutJobIsADiagnostic) {
  const Scenario scenario =
      scenario_of("foretrain: 1\nname: x\ncluster: {nodes: 1, node: dgx-h100}\n");
  RunOptions options;
  options.data_dir = data_dir();
  EXPECT_FALSE(simulate(scenario, options).has_value());
}

}  // namespace
}  // namespace foretrain
