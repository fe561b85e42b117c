// Test values: Korthikanti et al. (arXiv:2205.05198), ZeRO (arXiv:1910.02054), and counts by hand.
#include "sim/memory/memory_model.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/memory/activations.h"
#include "sim/memory/model_state.h"
#include "sim/workload/step_program.h"
#include "tests/unit/workload/test_jobs.h"

namespace foretrain {
namespace {

constexpr double kPrintedDigits =
    5e-4;  // relative; the values are printed with four or five digits
constexpr double kWorkspace = 33'554'432;

void expect_close(double actual, double expected) {
  EXPECT_NEAR(actual, expected, kPrintedDigits * expected);
}

GpuSpec h100() {
  GpuSpec gpu;
  gpu.name = "h100-sxm";
  gpu.compute_capability = 90;
  gpu.memory = Bytes{80'000'000'000};
  return gpu;
}

double item(const MemoryFootprint& footprint, const std::string& name) {
  for (const MemoryItem& entry : footprint.items) {
    if (entry.name == name) return entry.size.as_double();
  }
  ADD_FAILURE() << "no item " << name;
  return 0;
}

MemoryFootprint footprint(const TrainingJob& job, int rank) {
  return memory_footprint(job, h100(), MemoryAssumptions{}, rank);
}

double state(const MemoryFootprint& of) {
  return item(of, "weights") + item(of, "gradients") + item(of, "optimizer");
}

// Figure 1 of arXiv:1910.02054: 31.4, 16.6 and 1.9 GB.
TEST(ModelState, ZeroStagesOfSevenAndAHalfBillionParameters) {
  TrainingJob job;
  job.framework = Framework::kDeepSpeed;
  job.options.gradient_bytes = 2;
  job.parallel.data = 64;
  const auto gigabytes_at = [&](Sharding sharding) {
    job.sharding = sharding;
    return model_state(job, 7.5e9).total() / 1e9;
  };
  EXPECT_DOUBLE_EQ(gigabytes_at(Sharding::kNone), 120);
  expect_close(gigabytes_at(Sharding::kOptimizer), 31.406);
  expect_close(gigabytes_at(Sharding::kGradients), 16.641);
  expect_close(gigabytes_at(Sharding::kParameters), 1.875);
}

TEST(ModelState, FullyShardedLlama8b) {
  const ModelState held = model_state(test::job_d(), 8'030'261'248.0);
  expect_close(held.weights, 4.015e9);
  expect_close(held.gradients, 4.015e9);
  expect_close(held.optimizer, 8.030e9);
}

TEST(ModelState, DistributedOptimizerOfLlama70b) {
  TrainingJob job = test::job_a();
  expect_close(model_state(job, 2'271'543'296.0).total(), 14.481e9);
  expect_close(model_state(job, 2'139'422'720.0).total(), 13.639e9);
  job.sharding = Sharding::kNone;
  expect_close(model_state(job, 2'271'543'296.0).total(), 40.888e9);
}

struct Korthikanti {
  std::int64_t heads, hidden, layers;
  int micro_batch;
  double none, tensor, sequence, both, percent;
};

// Bytes of a layer in GB: no parallelism; t 8; t 8 with sequence parallelism; and selective
// recomputation.
TEST(LayerActivations, KorthikantiTable) {
  const std::vector<Korthikanti> rows{{64, 6144, 48, 4, 7.0800, 1.3254, 0.8850, 0.21391, 16.1},
                                      {96, 12288, 96, 1, 2.8689, 0.5788, 0.3586, 0.10695, 18.5},
                                      {128, 20480, 105, 1, 4.1104, 0.8808, 0.5138, 0.17826, 20.2},
                                      {160, 25600, 128, 1, 5.1380, 1.1010, 0.6423, 0.22282, 20.2}};
  for (const Korthikanti& row : rows) {
    TrainingJob job;
    job.model = test::gpt(row.layers, row.hidden, row.heads);
    job.sequence_length = 2048;
    job.micro_batch = job.global_batch = row.micro_batch;
    job.framework = Framework::kMegatronLm;
    job.attention = AttentionKernel::kUnfused;
    const auto layer = [&] {
      return layer_activations(job, 0, 1).kept * 2048 * row.micro_batch / 1e9;
    };
    expect_close(layer(), row.none);
    job.parallel.tensor = 8;
    const double tensor = layer();
    expect_close(tensor, row.tensor);
    job.parallel.sequence_parallel = true;
    expect_close(layer(), row.sequence);
    job.recompute = RecomputeMode::kSelective;
    expect_close(layer(), row.both);
    EXPECT_NEAR(100 * layer() / tensor, row.percent, 0.05);
  }
}

// First stage with sequence parallelism and selective recomputation: 10.27, 13.26, 24.78, 28.52 GB.
TEST(MemoryFootprint, KorthikantiFirstStages) {
  struct Row {
    std::int64_t layers, hidden, heads;
    int pipeline, chunks, micro_batch;
    double gigabytes;
  };
  for (const Row& row :
       {Row{48, 6144, 64, 1, 1, 4, 10.27}, Row{96, 12288, 96, 8, 3, 1, 13.26},
        Row{105, 20480, 128, 35, 3, 1, 24.78}, Row{128, 25600, 160, 64, 1, 1, 28.52}}) {
    TrainingJob job = test::job_b();
    job.model = test::gpt(row.layers, row.hidden, row.heads);
    job.attention = AttentionKernel::kUnfused;
    job.recompute = RecomputeMode::kSelective;
    job.parallel.data = 1;
    job.parallel.pipeline = row.pipeline;
    job.parallel.virtual_stages = row.chunks;
    if (row.chunks > 1) job.schedule = PipelineSchedule::kInterleaved;
    job.micro_batch = row.micro_batch;
    job.global_batch = row.micro_batch * row.pipeline * 4;
    const double norm = row.pipeline == 1 ? final_norm_bytes(job) * 2048 * row.micro_batch : 0;
    expect_close(item(footprint(job, 0), "activations") - norm, row.gigabytes * 1e9);
  }
}

TEST(LayerActivations, ModernLayersByImplementation) {
  TrainingJob job = test::job_d(Framework::kMegatronLm);
  const auto per_token = [&] { return layer_activations(job, 0, 1).kept; };
  EXPECT_DOUBLE_EQ(per_token(), 139'400);
  job.framework = Framework::kTorchTitan;
  EXPECT_DOUBLE_EQ(per_token(), 168'072);
  job.framework = Framework::kFsdp2;
  job.options.fused_kernels = false;
  EXPECT_DOUBLE_EQ(per_token(), 200'840);
  job.model = test::llama(16, 2048, 32, 8192);
  job.model.head_dim = 64;
  EXPECT_DOUBLE_EQ(per_token(), 108'680);
  EXPECT_DOUBLE_EQ(layer_activations(test::job_a(), 0, 1).kept, 34'337);
  TrainingJob large = test::job_a();
  large.model = test::llama_3_405b();
  EXPECT_DOUBLE_EQ(layer_activations(large, 0, 1).kept, 65'089);
}

TEST(LayerActivations, TorchtitanSelectiveKeepsEverySecondProduct) {
  TrainingJob job = test::job_d();
  job.recompute = RecomputeMode::kSelective;
  EXPECT_DOUBLE_EQ(layer_activations(job, 0, 1).kept, 63'616);
  expect_close(layer_activations(job, 0, 1).kept * 32 * 8192, 16.677e9);
}

// DeepSeek-V3: MLA 201,344 and MoE 256,000 bytes a token, and 8 bytes of norm statistics.
TEST(LayerActivations, LatentAttentionAndExperts) {
  TrainingJob job;
  job.model = test::llama(61, 7168, 128, 18432, 128);
  job.model.mla = MlaSpec{1536, 512, 128, 64, 128};
  MoeSpec moe;
  moe.experts = 256;
  moe.top_k = 8;
  moe.shared_experts = 1;
  moe.expert_ffn_hidden = 2048;
  job.model.moe = moe;
  job.sequence_length = 4096;
  job.global_batch = 1;
  EXPECT_DOUBLE_EQ(layer_activations(job, 10, 1).kept, 457'344 + 8);
}

// Formula: 12N/8 + 2(Vh+h) + 2 * 218,112,000 + L A T + 4hT + 12VT at the start of the backward.
TEST(MemoryFootprint, FullyShardedLlama8bAtTheLoss) {
  TrainingJob job = test::job_d();
  job.options.fused_kernels = false;
  const auto counted = [&] {
    const MemoryFootprint result = footprint(job, 0);
    EXPECT_EQ(result.phase, "last stage loss");
    expect_close(item(result, "logits"), 12.608e9);
    return state(result) + item(result, "activations") + item(result, "logits") +
           item(result, "temporary") - kWorkspace;
  };
  expect_close(counted(), 70.334e9);
  job.recompute = RecomputeMode::kFull;
  expect_close(counted(), 28.422e9);
}

// Hugging Face eager, bf16 AdamW: 6N (8N accumulating) + L A T + 8hT + 12VT + workspace. The state
// is taken from the formula (no scenario has bf16 moments); activations and logits are the model's.
// Two micro-batches, so that gradients exist at the loss and the peak is there.
TEST(MemoryFootprint, HuggingFaceEagerOneGpu) {
  const auto beside_state = [](TrainingJob job, std::int64_t sequence) {
    job.framework = Framework::kFsdp2;
    job.options.fused_kernels = false;
    job.options.vocab_multiple = 1;
    job.sequence_length = sequence;
    job.global_batch = 2;
    const MemoryFootprint result = footprint(job, 0);
    EXPECT_EQ(result.phase, "last stage loss");
    return item(result, "activations") + item(result, "logits") + item(result, "temporary");
  };
  TrainingJob small;
  small.model = test::llama(16, 2048, 32, 8192);
  small.model.head_dim = 64;
  expect_close(beside_state(small, 8192) + 6.0 * 1'498'482'688, 36.012e9);
  TrainingJob checkpointed;
  checkpointed.model = test::llama(28, 3072, 24, 8192);
  checkpointed.recompute = RecomputeMode::kFull;
  expect_close(beside_state(checkpointed, 8192) + 6.0 * 3'606'752'256, 35.893e9);
  expect_close(beside_state(checkpointed, 8192) + 8.0 * 3'606'752'256, 43.106e9);
}

TEST(MemoryFootprint, Llama70bOn1024Gpus) {
  TrainingJob job = test::job_a();
  const std::vector<double> activations{22.503e9, 16.877e9, 11.252e9, 5.626e9};
  for (int rank = 0; rank < 4; ++rank) {
    const double norm = rank == 3 ? final_norm_bytes(job) * 8192 : 0;
    expect_close(item(footprint(job, rank), "activations") - norm,
                 activations[static_cast<std::size_t>(rank)]);
  }
  expect_close(state(footprint(job, 0)), 14.481e9);
  EXPECT_EQ(footprint(job, 0).phase, "first backward");
  EXPECT_EQ(footprint(job, 3).phase, "last stage loss");
  expect_close(item(footprint(job, 3), "logits"), 0.793e9);
  const MemoryFootprint worst = memory_footprint(job, h100(), MemoryAssumptions{});
  EXPECT_EQ(worst.pipeline_rank, 0);
  EXPECT_TRUE(worst.fits());

  job.schedule = PipelineSchedule::kInterleaved;
  job.parallel.virtual_stages = 5;
  expect_close(item(footprint(job, 0), "activations"), 25.879e9);
}

// Inputs of the layers 1.342 GB and one recomputed layer 281.3 MB.
TEST(MemoryFootprint, FullRecomputationOfLlama70b) {
  TrainingJob job = test::job_a();
  job.recompute = RecomputeMode::kFull;
  const MemoryFootprint result = footprint(job, 0);
  expect_close(item(result, "activations"), 1.342e9);
  const double transient = (2 * 8192 + 4 * 28672) / 8.0 * 8192;
  const double attention = 4.0 * 8192 * (1024 + 8);
  expect_close(item(result, "temporary") - kWorkspace - transient - attention, 281.3e6);
}

TEST(MemoryFootprint, Llama405bOn16384Gpus) {
  TrainingJob job = test::job_a();
  job.model = test::llama_3_405b();
  job.parallel.pipeline = 16;
  job.parallel.data = 128;
  job.global_batch = 128 * 32;
  expect_close(item(footprint(job, 0), "activations"), 59.719e9);
  expect_close(item(footprint(job, 1), "activations"), 63.985e9);
  expect_close(state(footprint(job, 1)), 19.426e9);
  EXPECT_FALSE(memory_footprint(job, h100(), MemoryAssumptions{}).fits());
}

TEST(MemoryFootprint, ItemsSumToThePeakInAFixedOrder) {
  const MemoryFootprint result = footprint(test::job_d(), 0);
  const std::vector<std::string> names{"weights",     "gradients", "optimizer",
                                       "activations", "temporary", "logits",
                                       "nccl",        "context",   "fragmentation"};
  Bytes sum;
  ASSERT_EQ(result.items.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(result.items[i].name, names[i]);
    sum += result.items[i].size;
  }
  EXPECT_EQ(sum, result.peak);
  EXPECT_EQ(item(result, "nccl"), 400e6);
  EXPECT_EQ(item(result, "context"), 500e6);
}

RC_GTEST_PROP(MemoryFootprintProperty, ShardingAndRecomputationNeverCostStateOrActivations, ()) {
  TrainingJob job = test::job_d(*rc::gen::element(Framework::kDeepSpeed, Framework::kNone));
  job.options.gradient_bytes = *rc::gen::element(2, 4);
  job.micro_batch = *rc::gen::inRange(1, 4);
  job.global_batch = 8 * job.micro_batch * *rc::gen::inRange(1, 4);
  double before = 1e18;
  for (const Sharding sharding :
       {Sharding::kNone, Sharding::kOptimizer, Sharding::kGradients, Sharding::kParameters}) {
    job.sharding = sharding;
    const double now = model_state(job, 1e9).total();
    RC_ASSERT(now < before);
    before = now;
  }
  double kept = 1e18;
  for (const RecomputeMode mode :
       {RecomputeMode::kNone, RecomputeMode::kSelective, RecomputeMode::kFull}) {
    job.recompute = mode;
    const double now = layer_activations(job, 0, 0.5).kept;
    RC_ASSERT(now <= kept);
    kept = now;
  }
}

TEST(WhatWouldFit, EveryRemedyFitsOnTheSameNumberOfGpus) {
  TrainingJob job = test::job_a();
  job.parallel.pipeline = 1;
  job.parallel.data = 128;
  job.micro_batch = 4;
  ASSERT_FALSE(memory_footprint(job, h100(), MemoryAssumptions{}).fits());
  const auto remedies = what_would_fit(job, h100(), 8, MemoryAssumptions{}, 6);
  ASSERT_FALSE(remedies.empty());
  EXPECT_LE(remedies.size(), 6u);
  for (const MemoryRemedy& remedy : remedies) {
    EXPECT_FALSE(remedy.change.empty());
    EXPECT_EQ(remedy.job.parallel.world_size(), job.parallel.world_size()) << remedy.change;
    EXPECT_EQ(remedy.job.global_batch % (remedy.job.micro_batch * remedy.job.parallel.data), 0);
    const MemoryFootprint again = memory_footprint(remedy.job, h100(), MemoryAssumptions{});
    EXPECT_TRUE(again.fits()) << remedy.change;
    EXPECT_EQ(again.peak, remedy.peak);
  }
}

TEST(WhatWouldFit, SingleChangesComeFirst) {
  TrainingJob job = test::job_d();
  job.options.fused_kernels = false;
  job.micro_batch = 2;
  job.global_batch = 16;
  const auto remedies = what_would_fit(job, h100(), 8, MemoryAssumptions{}, 5);
  ASSERT_GE(remedies.size(), 2u);
  EXPECT_EQ(remedies[0].change, "job.recompute: selective");
  EXPECT_EQ(remedies[1].change, "job.recompute: full");
  EXPECT_EQ(remedies[0].job.micro_batch, 2);
  EXPECT_EQ(what_would_fit(job, h100(), 8, MemoryAssumptions{}, 1).size(), 1u);
}

TEST(WhatWouldFit, ProposesNoTensorDegreeThatTheVocabularyRefuses) {
  TrainingJob job = test::job_d();
  job.model.vocab = 50257;  // odd: no degree above 1 divides it
  job.options.vocab_multiple = 1;
  job.micro_batch = 8;
  job.global_batch = 64;
  for (const MemoryRemedy& remedy : what_would_fit(job, h100(), 8, MemoryAssumptions{}, 50)) {
    EXPECT_EQ(remedy.job.parallel.tensor, 1) << remedy.change;
  }
}

TEST(MemoryFootprint, FragmentationDecidesBetweenTightAndFree) {
  const TrainingJob job = test::job_d();
  GpuSpec gpu = h100();
  const MemoryFootprint roomy = memory_footprint(job, gpu, MemoryAssumptions{});
  ASSERT_GT(roomy.fragmentation().count(), 1);
  gpu.memory = roomy.peak;
  EXPECT_FALSE(memory_footprint(job, gpu, MemoryAssumptions{}).is_tight());
  gpu.memory = roomy.peak - Bytes{1};
  EXPECT_TRUE(memory_footprint(job, gpu, MemoryAssumptions{}).is_tight());
  gpu.memory = roomy.allocated();
  EXPECT_TRUE(memory_footprint(job, gpu, MemoryAssumptions{}).fits());
  gpu.memory = roomy.allocated() - Bytes{1};
  EXPECT_FALSE(memory_footprint(job, gpu, MemoryAssumptions{}).fits());
}

TEST(MemoryFootprint, AFusedLossKeepsSevenBytesOfALogitInsteadOfTwelve) {
  TrainingJob job = test::job_d();
  job.framework = Framework::kFsdp2;
  job.options.fused_kernels = false;
  const double plain = bytes_per_logit(job);
  job.options.fused_loss = true;
  EXPECT_EQ(plain, 12);
  EXPECT_EQ(bytes_per_logit(job), 7);
}

TEST(WhatWouldFit, NothingHelpsAModelFarTooLarge) {
  TrainingJob job = test::job_d();
  job.model = test::llama_3_405b();
  EXPECT_TRUE(what_would_fit(job, h100(), 8, MemoryAssumptions{}, 5).empty());
}

}  // namespace
}  // namespace foretrain
