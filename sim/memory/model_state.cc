#include "sim/memory/model_state.h"

#include "sim/workload/shapes.h"

namespace foretrain {

int shard_ranks(const TrainingJob& job) {
  if (job.sharding == Sharding::kNone) return 1;
  return job.shard_group > 0 ? job.shard_group : job.parallel.data * job.parallel.context;
}

bool keeps_fp32_weights(const TrainingJob& job) {
  return job.precision == Precision::kFp32 || job.framework == Framework::kFsdp2 ||
         job.framework == Framework::kTorchTitan || job.framework == Framework::kDdp;
}

bool gradients_always_exist(const TrainingJob& job) {
  return uses_megatron_layers(job) || job.framework == Framework::kDdp || job.accumulation() > 1;
}

ModelState model_state(const TrainingJob& job, double parameters, int fp8_copies) {
  const double shards = shard_ranks(job);
  const bool wide = keeps_fp32_weights(job);
  const double moments = job.optimizer == OptimizerKind::kAdam ? 8 : 4;
  const double weight = wide ? 4 : 2 + fp8_copies;
  // DeepSpeed accumulates fp32 gradients beside the 16-bit ones that autograd writes.
  const bool two_copies = job.framework == Framework::kDeepSpeed && job.options.gradient_bytes == 4;
  const double gradient = wide ? 4 : job.options.gradient_bytes + (two_copies ? 2 : 0);
  const double optimizer = wide ? moments : 4 + moments;
  // FSDP2 shards everything; what ZeRO-2 means there is that gathered weights stay (see the
  // buffers).
  const bool fsdp = job.framework == Framework::kFsdp2 || job.framework == Framework::kTorchTitan;
  const bool all =
      job.sharding == Sharding::kParameters || (fsdp && job.sharding == Sharding::kGradients);
  const bool gradients = all || job.sharding == Sharding::kGradients;
  ModelState state;
  state.weights = parameters * weight / (all ? shards : 1);
  state.gradients = parameters * gradient / (gradients ? shards : 1);
  state.optimizer = parameters * optimizer / shards;
  return state;
}

}  // namespace foretrain
