// Buffers that frameworks hold beside state and activations, counted by hand.
#include <gtest/gtest.h>

#include <string>

#include "sim/memory/memory_model.h"
#include "tests/unit/workload/test_jobs.h"

namespace foretrain {
namespace {

constexpr double kParameters = 8'030'261'248.0;  // Llama 3 8B
constexpr double kWorkspace = 33'554'432;        // cuBLAS on Hopper
constexpr double kRounding = 2;                  // bytes: items are rounded one by one

MemoryFootprint footprint(const TrainingJob& job) {
  GpuSpec gpu;
  gpu.compute_capability = 90;
  gpu.memory = gibibytes(80);
  return memory_footprint(job, gpu, MemoryAssumptions{}, 0);
}

double item(const MemoryFootprint& footprint, const std::string& name) {
  for (const MemoryItem& entry : footprint.items) {
    if (entry.name == name) return entry.size.as_double();
  }
  ADD_FAILURE() << "no item " << name;
  return 0;
}

// A sequence of 8 tokens makes activations vanish beside the buffers.
TrainingJob short_job(Framework framework, Sharding sharding) {
  TrainingJob job = test::job_d(framework);
  job.sequence_length = 8;
  job.sharding = sharding;
  return job;
}

// Weights, gradients, moments 4 + 4 + 8; buckets are a second copy of the gradients (4), bf16 casts
// (2).
TEST(MemoryBuffers, DistributedDataParallelHoldsGradientsTwice) {
  const MemoryFootprint result = footprint(short_job(Framework::kDdp, Sharding::kNone));
  EXPECT_EQ(result.phase, "end of backward");
  EXPECT_NEAR(item(result, "weights"), 4 * kParameters, kRounding);
  EXPECT_NEAR(item(result, "optimizer"), 8 * kParameters, kRounding);
  EXPECT_NEAR(item(result, "temporary"), kWorkspace + 6 * kParameters + 2.0 * 128256 * 4096,
              kRounding);
}

// Two reduce buckets of 5e8 16-bit elements while they overlap the backward.
TEST(MemoryBuffers, ZeroTwoHoldsReduceBuckets) {
  TrainingJob job = short_job(Framework::kDeepSpeed, Sharding::kGradients);
  job.options.gradient_bytes = 2;
  job.options.bucket_parameters = 500'000'000;
  const MemoryFootprint overlapped = footprint(job);
  EXPECT_NEAR(item(overlapped, "weights"), 2 * kParameters, kRounding);
  EXPECT_EQ(overlapped.phase,
            "optimizer");  // one bucket and the fp32 cast of the gradient partition
  EXPECT_NEAR(item(overlapped, "temporary"), kWorkspace + 1e9 + 4 * kParameters / 8, kRounding);
}

// ZeRO-3 gathers up to 1e9 parameters and reduces in one bucket; then the embedding's gradient.
TEST(MemoryBuffers, ZeroThreeHoldsLiveParameters) {
  TrainingJob job = short_job(Framework::kDeepSpeed, Sharding::kParameters);
  job.options.gradient_bytes = 2;
  job.options.bucket_parameters = 500'000'000;
  const MemoryFootprint result = footprint(job);
  EXPECT_NEAR(item(result, "weights"), 2 * kParameters / 8, kRounding);
  EXPECT_EQ(result.phase, "end of backward");
  EXPECT_NEAR(item(result, "temporary"), kWorkspace + 2e9 + 1e9 + 2.0 * 128256 * 4096, kRounding);
}

// With a pipeline torchtitan keeps weights gathered (2) and gradients whole (4) until the last
// backward.
TEST(MemoryBuffers, TorchtitanKeepsAStageGatheredInAPipeline) {
  TrainingJob job = short_job(Framework::kTorchTitan, Sharding::kParameters);
  job.parallel.pipeline = 2;
  job.global_batch = 32;
  const double stage = 16 * 218'112'000.0 + 128256.0 * 4096;
  const MemoryFootprint result = footprint(job);
  EXPECT_NEAR(item(result, "weights"), 4 * stage / 8, kRounding);
  EXPECT_NEAR(item(result, "gradients"), 4 * stage / 8 + 4 * stage, kRounding);
  EXPECT_GT(item(result, "temporary"), 2 * stage);
}

TEST(MemoryBuffers, Fp8KeepsQuantisedWeights) {
  TrainingJob job = short_job(Framework::kMegatronLm, Sharding::kOptimizer);
  job.precision = Precision::kFp8;
  EXPECT_NEAR(item(footprint(job), "weights"), 4 * kParameters, kRounding);
}

TEST(MemoryBuffers, ForeachOptimizerNeedsTemporaries) {
  TrainingJob job = short_job(Framework::kMegatronLm, Sharding::kNone);
  job.options.optimizer_fused = false;
  const MemoryFootprint result = footprint(job);
  EXPECT_EQ(result.phase, "optimizer");
  EXPECT_NEAR(item(result, "temporary"), kWorkspace + 8 * kParameters, kRounding);
}

// Only as many communicators as kinds of groups in use.
TEST(MemoryBuffers, CommunicatorsInUse) {
  TrainingJob job = test::job_a();
  EXPECT_EQ(item(footprint(job), "nccl"), 3 * 400e6);
  job.parallel = ParallelPlan{};
  EXPECT_EQ(item(footprint(job), "nccl"), 0);
}

}  // namespace
}  // namespace foretrain
