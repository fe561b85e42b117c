#include "sim/execution/step_template.h"

#include <gtest/gtest.h>

#include "sim/execution/executor.h"

namespace foretrain {
namespace {

/// Every operator takes a time that is easy to add up: 1 ms a GEMM or attention, nothing for
/// memory-bound ones.
class UnitModel : public ComputeModel {
 public:
  TimeEstimate time(const Operator& op) const override {
    if (std::holds_alternative<MemoryOp>(op)) return {};
    return {1e-3, 0, false};
  }
  double launch_seconds() const override { return 0; }
  double kernel_gap_seconds() const override { return 0; }
  double gemm_slowdown(int) const override { return 1; }
  const GpuSpec& gpu() const override { return gpu_; }
  std::string provenance() const override { return "unit"; }

 private:
  GpuSpec gpu_;
};

TrainingJob small_job() {
  TrainingJob job;
  job.model.layers = 4;
  job.model.hidden = 64;
  job.model.heads = job.model.kv_heads = 4;
  job.model.head_dim = 16;
  job.model.ffn_hidden = 256;
  job.model.vocab = 128;
  job.sequence_length = 32;
  job.global_batch = 8;
  job.framework = Framework::kMegatronLm;
  return job;
}

struct Templates {
  UnitModel model;
  Interference interference;
  StepTemplate make(const TrainingJob& job, double collective_seconds = 0) {
    UnitCoster coster{model, job.options, interference, [&](const CollectiveOp&) {
                        return InlineCollective{collective_seconds, 1};
                      }};
    return job.sharding == Sharding::kParameters && job.parallel.pipeline == 1
               ? sharded_template(job, coster)
               : pipeline_template(job, coster);
  }
};

double compute_seconds(const StepTemplate& step, std::size_t rank) {
  double seconds = 0;
  for (const Instruction& instruction : step.programs[rank]) {
    if (instruction.kind != InstructionKind::kCompute) continue;
    seconds += step.segments[static_cast<std::size_t>(instruction.index)].seconds.total();
  }
  return seconds;
}

int count_transfers(const StepTemplate& step, CollectiveKind kind) {
  int count = 0;
  for (const TransferTemplate& t : step.transfers) {
    count += t.scope == TransferScope::kGroup && t.collective == kind ? 1 : 0;
  }
  return count;
}

/// A layer has four linear layers and one attention: 5 ms forward, 4 dgrad + 4 wgrad + 1 = 9 ms
/// backward; the head one GEMM forward and two backward. 8 micro-batches of 4 layers: 8 (4 * 14 +
/// 3) = 472 ms.
TEST(StepTemplate, ComputesEveryMicroBatchOnce) {
  Templates templates;
  const StepTemplate step = templates.make(small_job());
  EXPECT_NEAR(compute_seconds(step, 0), 0.472, 1e-9);
}

/// Full recomputation repeats the forward of every layer: 8 * 4 * 5 ms more.
TEST(StepTemplate, FullRecomputationRepeatsTheForward) {
  Templates templates;
  TrainingJob job = small_job();
  job.recompute = RecomputeMode::kFull;
  EXPECT_NEAR(compute_seconds(templates.make(job), 0), 0.472 + 0.160, 1e-9);
}

TEST(StepTemplate, PipelineStagesSplitTheLayers) {
  Templates templates;
  TrainingJob job = small_job();
  job.parallel.pipeline = 2;
  const StepTemplate step = templates.make(job);
  ASSERT_EQ(step.programs.size(), 2u);
  EXPECT_NEAR(compute_seconds(step, 0), 8 * 2 * 14e-3, 1e-9);
  EXPECT_NEAR(compute_seconds(step, 1), 8 * (2 * 14e-3 + 3e-3), 1e-9);
}

/// One forward and one backward message per micro-batch and boundary.
TEST(StepTemplate, PipelineSendsOneMessagePerMicroBatchAndDirection) {
  Templates templates;
  TrainingJob job = small_job();
  job.parallel.pipeline = 4;
  int messages = 0;
  for (const TransferTemplate& t : templates.make(job).transfers) {
    messages += t.scope == TransferScope::kPipeline ? 1 : 0;
  }
  EXPECT_EQ(messages, 2 * 3 * 8);
}

/// FSDP gathers every unit forward, again backward except the last one, and reduces every unit, at
/// every micro-batch: 6 units (embedding, 4 layers, head), 2 micro-batches of 4 data ranks.
TEST(StepTemplate, ShardedJobGathersTwiceAndReducesOnce) {
  Templates templates;
  TrainingJob job = small_job();
  job.framework = Framework::kFsdp2;
  job.sharding = Sharding::kParameters;
  job.parallel.data = 4;
  const StepTemplate step = templates.make(job);
  EXPECT_EQ(count_transfers(step, CollectiveKind::kAllGather), 2 * (6 + 5));
  EXPECT_EQ(count_transfers(step, CollectiveKind::kReduceScatter), 2 * 6);
}

TEST(StepTemplate, DistributedOptimizerScattersAndGathersAllParameters) {
  Templates templates;
  TrainingJob job = small_job();
  job.parallel.data = 4;
  job.sharding = Sharding::kOptimizer;
  const StepTemplate step = templates.make(job);
  std::int64_t scattered = 0, gathered = 0;
  for (const TransferTemplate& t : step.transfers) {
    if (t.scope != TransferScope::kGroup) continue;
    (t.collective == CollectiveKind::kReduceScatter ? scattered : gathered) += t.size.count();
  }
  const std::int64_t parameters = local_parameters(job, {0, 4, true, true});
  EXPECT_EQ(scattered, parameters * job.options.gradient_bytes);
  EXPECT_EQ(gathered, parameters * job.options.parameter_gather_bytes);
}

/// Every named cost belongs to a step of the rank and they add up to its computation.
TEST(StepTemplate, NamedCostsAddUp) {
  Templates templates;
  const StepTemplate step = templates.make(small_job());
  double named = 0;
  for (const NamedCost& cost : step.named_costs[0]) named += cost.seconds;
  EXPECT_NEAR(named, 0.472, 1e-9);
}

}  // namespace
}  // namespace foretrain
