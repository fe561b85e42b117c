// Weights, gradients and optimizer state of a rank, and the buffers around them.
#pragma once

#include <cstdint>

#include "sim/workload/training_job.h"

namespace foretrain {

/// Bytes of the model's state on one rank; doubles, since shards need not divide.
struct ModelState {
  double weights = 0, gradients = 0, optimizer = 0;
  [[nodiscard]] double total() const { return weights + gradients + optimizer; }
};

/// State of a rank that holds `parameters` before data-parallel sharding. `fp8_copies`: fp8 weight
/// copies kept beside bf16 weights (Transformer Engine: 1, or 2 on Hopper, which needs a
/// transpose).
///
///   Megatron bf16      2 + g + 12 (4 + 8)     distributed optimizer: 2 + g + 12/D
///   DeepSpeed ZeRO     2 + g + 12             stages 1, 2, 3 shard 12; g + 12; all
///   FSDP2, torchtitan  4 + 4 + 8, all /D      DDP: 4 + 4 + 8
///
/// g = gradient bytes (DeepSpeed with fp32 accumulation: 4 + 2), D = data * context, or the shard
/// group. Without a master copy in fp32.
/// @source arXiv:1910.02054 section 5; Megatron-LM megatron/training/theoretical_memory_usage.py.
[[nodiscard]] ModelState model_state(const TrainingJob& job, double parameters, int fp8_copies = 0);

/// Ranks over which sharded state is cut.
[[nodiscard]] int shard_ranks(const TrainingJob& job);
/// True for frameworks that keep fp32 weights and cast them on use (FSDP2, torchtitan, DDP).
[[nodiscard]] bool keeps_fp32_weights(const TrainingJob& job);
/// True if gradient buffers exist at all times (Megatron's contiguous buffer, DDP's buckets), or
/// because micro-batches accumulate in them.
[[nodiscard]] bool gradients_always_exist(const TrainingJob& job);

}  // namespace foretrain
