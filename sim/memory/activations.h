// Bytes that forward keeps for backward, and what the loss needs.
#pragma once

#include "sim/workload/training_job.h"

namespace foretrain {

/// Which tensors an implementation keeps.
enum class ActivationStyle {
  kMegatron,       // fused norm-linear, SwiGLU, rotary (Transformer Engine, other fused kernels)
  kEager,          // torchtitan, eager with a fused norm
  kEagerFp32Norm,  // Hugging Face: RMSNorm written out in fp32
};
[[nodiscard]] ActivationStyle activation_style(const TrainingJob& job);

/// Bytes per token of a layer. Tokens are those of one micro-batch on the rank, b*s/c.
struct LayerActivations {
  double full = 0;       // everything that backward reads
  double kept = 0;       // what stays under the job's recompute mode, for a layer it applies to
  double transient = 0;  // gradients alive inside the layer's backward: 2h + 4f
};
/// `compiled_kept` as in MemoryAssumptions. Unfused attention is counted as in arXiv:2205.05198:
/// dropout masks and 5 bytes per score. MoE and latent attention: balanced experts, t = 1 for the
/// MoE part.
[[nodiscard]] LayerActivations layer_activations(const TrainingJob& job, int layer,
                                                 double compiled_kept);

/// Bytes per token of the last stage: norm inputs and outputs.
[[nodiscard]] double final_norm_bytes(const TrainingJob& job);
/// Bytes per logit alive at the start of backward: 6 in Megatron, 12 with a plain loss, 7 with a
/// fused one elsewhere. Compiled layers alone do not fuse the loss. (Earlier micro-batches in
/// flight hold 4.)
[[nodiscard]] double bytes_per_logit(const TrainingJob& job);

}  // namespace foretrain
