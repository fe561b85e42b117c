// What a scenario leaves out, against what the documentation says of it.
#include "tests/unit/scenario/scenario_fixture.h"

namespace foretrain {
namespace {

using Defaults = ScenarioFixture;

TEST_F(Defaults, ThreeKeysAreEnough) {
  const Scenario scenario = good("cluster: {node: dgx-h100}\n");
  EXPECT_EQ(scenario.cluster.nodes, 1);
  EXPECT_EQ(scenario.cluster.num_gpus(), 8);
  EXPECT_FALSE(scenario.job.has_value());
  EXPECT_EQ(scenario.fidelity, Fidelity::kFluid);
  EXPECT_EQ(scenario.seed, 1u);
  EXPECT_EQ(scenario.nccl.version_minor, 28);
  EXPECT_EQ(scenario.profile, test_data_dir() + "/profiles/h100-sxm.json");
}

TEST_F(Defaults, JobIsLlamaInBf16WithoutFramework) {
  const Scenario scenario = good(
      "cluster: {nodes: 2, node: dgx-h100}\njob:\n"
      "  model: {layers: 4, hidden: 1024, heads: 16, ffn_hidden: 4096, vocab: 32000}\n"
      "  sequence_length: 2048\n  batch: {global: 64}\n");
  const TrainingJob& job = *scenario.job;
  EXPECT_EQ(job.model.name, "custom");
  EXPECT_EQ(job.model.kv_heads, 16);
  EXPECT_EQ(job.model.head_dim, 64);
  EXPECT_EQ(job.model.activation, Activation::kSwiglu);
  EXPECT_EQ(job.model.norm, Norm::kRmsNorm);
  EXPECT_EQ(job.model.positions, Positions::kRotary);
  EXPECT_FALSE(job.model.tied_embeddings);
  EXPECT_EQ(job.micro_batch, 1);
  EXPECT_EQ(job.parallel.data, 16);  // follows from the GPUs
  EXPECT_EQ(job.accumulation(), 4);
  EXPECT_EQ(job.precision, Precision::kBf16);
  EXPECT_EQ(job.optimizer, OptimizerKind::kAdam);
  EXPECT_EQ(job.sharding, Sharding::kNone);
  EXPECT_EQ(job.recompute, RecomputeMode::kNone);
  EXPECT_EQ(job.schedule, PipelineSchedule::kOneFOneB);
  EXPECT_EQ(job.framework, Framework::kNone);
}

TEST_F(Defaults, ModelFieldsFollowEachOther) {
  const std::string head =
      "cluster: {node: dgx-h100}\njob:\n  sequence_length: 4096\n  batch: {global: 8}\n";
  const Scenario learned =
      good(head +
           "  model: {layers: 4, hidden: 1024, heads: 16, ffn_hidden: 4096, vocab: 32000, "
           "positions: learned, norm: layernorm, biases: true}\n");
  EXPECT_EQ(learned.job->model.learned_position_rows, 4096);
  EXPECT_TRUE(learned.job->model.norm_bias);
  EXPECT_TRUE(learned.job->model.qkv_bias && learned.job->model.attention_output_bias &&
              learned.job->model.mlp_bias);
  const Scenario cut = good(head + "  model: {name: llama-3-405b, layers: 7}\n");
  EXPECT_EQ(cut.job->model.layers, 7);
  EXPECT_EQ(cut.job->model.hidden, 16384);
  EXPECT_EQ(cut.job->model.kv_heads, 8);
  EXPECT_EQ(cut.job->model.head_dim, 128);
}

TEST_F(Defaults, FrameworksBringTheirBooks) {
  const Scenario megatron =
      good(job_text(4, "  framework: megatron-lm\n  parallel: {tensor: 8}\n"));
  EXPECT_EQ(megatron.job->framework, Framework::kMegatronLm);
  EXPECT_TRUE(megatron.job->parallel.sequence_parallel);
  EXPECT_EQ(megatron.job->sharding, Sharding::kNone);  // the distributed optimizer is asked for
  EXPECT_EQ(megatron.job->options.gradient_bytes, 4);
  EXPECT_EQ(megatron.job->options.vocab_multiple, 128);
  const Scenario nemo = good(job_text(4, "  framework: nemo\n  parallel: {tensor: 8}\n"));
  EXPECT_EQ(nemo.job->framework, Framework::kMegatronLm);
  EXPECT_EQ(nemo.job->options.gradient_bytes, 2);
  const Scenario stages = good(job_text(
      4,
      "  framework: megatron-lm\n  parallel: {tensor: 8, pipeline: 2}\n  optimizer: {shard: "
      "gradients}\n"));
  EXPECT_EQ(stages.job->sharding, Sharding::kOptimizer);
  const Scenario composer = good(job_text(4, "  framework: llm-foundry\n"));
  EXPECT_EQ(composer.job->framework, Framework::kFsdp2);
  EXPECT_TRUE(composer.job->options.fused_loss);
  const Scenario fsdp = good(job_text(4, "  framework: fsdp\n"));
  EXPECT_EQ(fsdp.job->framework, Framework::kFsdp2);
  EXPECT_EQ(fsdp.job->sharding, Sharding::kParameters);
  EXPECT_EQ(good(job_text(4, "  framework: torchtitan\n")).job->sharding, Sharding::kParameters);
  const Scenario ddp = good(job_text(4, "  framework: ddp\n"));
  EXPECT_EQ(ddp.job->options.bucket_parameters * ddp.job->options.gradient_bytes, 25 << 20);
}

TEST_F(Defaults, OptionsOverrideTheFramework) {
  const Scenario scenario = good(job_text(
      4,
      "  framework: megatron-lm\n  parallel: {tensor: 8, sequence_parallel: false}\n"
      "  optimizer: {shard: optimizer}\n  attention: flash3\n"
      "  options: {overlap_grad_reduce: false, gradient_bytes: 2, bucket_parameters: 1000,\n"
      "    host_time_per_launch: 4 us, step_overhead: 20 ms, compiled: true}\n"));
  const TrainingJob& job = *scenario.job;
  EXPECT_FALSE(job.parallel.sequence_parallel);
  EXPECT_EQ(job.sharding, Sharding::kOptimizer);
  EXPECT_EQ(job.attention, AttentionKernel::kFlash3);
  EXPECT_FALSE(job.options.overlap_grad_reduce);
  EXPECT_TRUE(job.options.overlap_param_gather);
  EXPECT_EQ(job.options.gradient_bytes, 2);
  EXPECT_EQ(job.options.bucket_parameters, 1000);
  EXPECT_DOUBLE_EQ(job.options.host_seconds_per_launch, 4e-6);
  EXPECT_DOUBLE_EQ(job.options.step_overhead_seconds, 0.02);
  EXPECT_TRUE(job.options.compiled);
}

TEST_F(Defaults, VirtualStagesMeanInterleaving) {
  const std::string plan = "  parallel: {tensor: 8, pipeline: 4, virtual_stages: 2}\n";
  EXPECT_EQ(good(job_text(4, plan)).job->schedule, PipelineSchedule::kInterleaved);
  EXPECT_EQ(good(job_text(4, plan + "  schedule: 1f1b\n")).job->schedule,
            PipelineSchedule::kInterleaved);
}

/// NDR InfiniBand with Quantum-2's 64 ports: a two-tier rail fabric holds 64 / 2 nodes a unit and
/// 64 / 8 units, 256 in all.
TEST_F(Defaults, FabricFollowsTheNode) {
  const auto fabric_of = [&](int nodes, const std::string& node) {
    return good("cluster: {nodes: " + std::to_string(nodes) + ", node: " + node + "}\n")
        .cluster.fabric;
  };
  const FabricSpec small = fabric_of(256, "dgx-h100");
  EXPECT_EQ(small.kind, FabricKind::kFatTree);
  EXPECT_EQ(small.rails, 8);
  EXPECT_EQ(small.tiers, 2);
  EXPECT_EQ(small.switch_ports, 64);
  EXPECT_EQ(small.routing, Routing::kSpray);
  EXPECT_DOUBLE_EQ(small.link_bandwidth.bits_per_second(), 400e9);
  EXPECT_EQ(fabric_of(257, "dgx-h100").tiers, 3);
  const FabricSpec ethernet = fabric_of(16, "gcp-a3-mega");
  EXPECT_EQ(ethernet.rails, 1);
  EXPECT_EQ(ethernet.routing, Routing::kEcmp);
  // 32 adapters of 100 Gbit/s do not fit under one leaf of 32 ports, of which 16 face down.
  EXPECT_EQ(fabric_of(4, "aws-p5").rails, 2);
  EXPECT_EQ(fabric_of(1, "dgx-h100").rails, 1);
  EXPECT_EQ(fabric_of(2, "{gpu: a100-80, gpus: 4, nics: 1, nic: cx6-200g}").tiers, 1);
}

TEST_F(Defaults, WarningsAreNotesOfAGoodScenario) {
  const Scenario scenario = good(
      "cluster: {nodes: 4, node: dgx-h100, fabric: {kind: ideal, tiers: 2}}\n"
      "nccl: {version: 2.27.5, NCCL_ALGOS: Ring}\n");
  ASSERT_EQ(scenario.notes.size(), 2u) << to_string(scenario.notes);
  EXPECT_FALSE(has_errors(scenario.notes));
  EXPECT_EQ(scenario.notes[0].path, "cluster.fabric.tiers");
  EXPECT_EQ(scenario.notes[1].path, "nccl.NCCL_ALGOS");
  EXPECT_EQ(scenario.notes[1].location, (SourceLocation{"test.yaml", 4, 25}));
  EXPECT_EQ(scenario.nccl.version_minor, 27);
}

TEST_F(Defaults, FingerprintKnowsValuesNotTheirOrder) {
  const auto print = [&](const std::string& text) { return good(text).fingerprint; };
  const std::uint64_t one = print("cluster: {nodes: 2, node: dgx-h100}\nseed: 3\n");
  EXPECT_EQ(one, print("seed: 3\ncluster:\n  node: dgx-h100\n  nodes: 2\n"));
  EXPECT_NE(one, print("cluster: {nodes: 3, node: dgx-h100}\nseed: 3\n"));
  EXPECT_NE(one, print("cluster: {nodes: 2, node: dgx-h100}\n"));
}

}  // namespace
}  // namespace foretrain
