// What a rank holds and computes of each tensor: the local sizes that programs, parameter counts
// and the memory model share.
#pragma once

#include <cstdint>

#include "sim/compute/operator.h"
#include "sim/workload/training_job.h"

namespace foretrain {

/// Local sizes of one rank for one micro-batch. Symbols: T tokens b*s/c, h hidden, t tensor degree.
struct LocalShapes {
  std::int64_t tokens = 0;         // T
  std::int64_t region_tokens = 0;  // of norms and residuals: T/t with sequence parallelism, else T
  std::int64_t hidden = 0;         // h
  std::int64_t query_width = 0;    // a*d/t
  std::int64_t kv_width = 0;       // max(k_v*d/t, d): K (or V) width that attention uses
  std::int64_t qkv_columns = 0;    // output width of the QKV projection on this rank
  std::int64_t qkv_gathered = 0;   // 0, or width of the QKV output gathered over TP (k_v < t)
  std::int64_t heads = 0, kv_heads = 0;
  std::int64_t ffn_width = 0;                     // f/t
  std::int64_t gate_factor = 1;                   // 2 with a gated activation, else 1
  std::int64_t vocab_width = 0;                   // V_p/t
  double element_bytes = 2;                       // of activations
  [[nodiscard]] double collective_bytes() const;  // X = bytes * T * h
};

[[nodiscard]] LocalShapes local_shapes(const TrainingJob& job);

/// True for frameworks built on Megatron's layers: fused QKV, gradients accumulated inside wgrad.
[[nodiscard]] bool uses_megatron_layers(const TrainingJob& job);
/// True where chains of elementwise work run as one kernel (hand-fused, or by torch.compile).
[[nodiscard]] bool is_elementwise_fused(const TrainingJob& job);
/// Sequence parallelism in effect (it needs tensor parallelism).
[[nodiscard]] bool is_sequence_parallel(const TrainingJob& job);
/// Sharded fp32 weights, gathered in bf16 unit by unit (FSDP2, torchtitan with shard: parameters).
[[nodiscard]] bool is_fully_sharded(const TrainingJob& job);
/// Data type of the GEMMs that stay out of fp8 (head, attention).
[[nodiscard]] DataType base_type(const TrainingJob& job);
/// Data type of the linear layers' GEMMs.
[[nodiscard]] DataType linear_type(const TrainingJob& job);
/// Attention window of a layer in tokens; 0 = full.
[[nodiscard]] std::int64_t layer_window(const TrainingJob& job, int layer);
/// Weight vectors of one norm: 2 with a bias, else 1.
[[nodiscard]] std::int64_t norm_vectors(const ModelSpec& model);
/// True if the layer is a mixture of experts.
[[nodiscard]] bool is_moe_layer(const ModelSpec& model, int layer);
/// Query-key pairs per token of a causal sequence, (s+1)/2 or less with a window.
[[nodiscard]] double causal_pairs_per_token(std::int64_t sequence, std::int64_t window);

}  // namespace foretrain
