#include "sim/workload/shapes.h"
#include "sim/workload/step_program.h"

namespace foretrain {
namespace {

/// Matrix parameters that one token meets in a layer: no norms, no biases; top-k and shared
/// experts.
double matmul_parameters(const ModelSpec& model, int layer) {
  const auto h = static_cast<double>(model.hidden);
  double attention = 0;
  if (model.mla) {
    const MlaSpec& mla = *model.mla;
    const auto heads = static_cast<double>(model.heads);
    const auto rank = static_cast<double>(mla.kv_lora_rank);
    const auto q_rank = static_cast<double>(mla.q_lora_rank);
    const auto q_head = static_cast<double>(mla.qk_nope_head_dim + mla.qk_rope_head_dim);
    attention = q_rank > 0 ? h * q_rank + q_rank * heads * q_head : h * heads * q_head;
    attention += h * (rank + static_cast<double>(mla.qk_rope_head_dim));
    attention += rank * heads * static_cast<double>(mla.qk_nope_head_dim + mla.v_head_dim);
    attention += heads * static_cast<double>(mla.v_head_dim) * h;
  } else {
    const auto widths =
        static_cast<double>((2 * model.heads + 2 * model.kv_heads) * model.head_dim);
    attention = h * widths;
  }
  const double matrices = is_gated(model.activation) ? 3 : 2;
  if (!is_moe_layer(model, layer)) {
    return attention + matrices * h * static_cast<double>(model.ffn_hidden);
  }
  const MoeSpec& moe = *model.moe;
  const auto experts = static_cast<double>(moe.top_k + moe.shared_experts);
  return attention + experts * matrices * h * static_cast<double>(moe.expert_ffn_hidden) +
         h * static_cast<double>(moe.experts);
}

/// Sum of query-key and value head widths over all heads.
double attention_width(const ModelSpec& model) {
  const std::int64_t per_head =
      model.mla ? model.mla->qk_nope_head_dim + model.mla->qk_rope_head_dim + model.mla->v_head_dim
                : 2 * model.head_dim;
  return static_cast<double>(model.heads * per_head);
}

}  // namespace

FlopsPerToken flops_per_token(const TrainingJob& job) {
  const ModelSpec& model = job.model;
  const auto chunks = assign_layers(job);
  double matmul = 0, causal_pairs = 0, full_pairs = 0, repeated = 0;
  const double width = attention_width(model);
  for (const auto& rank_chunks : chunks) {
    for (const ChunkContents& chunk : rank_chunks) {
      for (int i = 0; i < chunk.layers; ++i) {
        const int layer = chunk.first_layer + i;
        const double parameters = matmul_parameters(model, layer);
        const double pairs = causal_pairs_per_token(job.sequence_length, layer_window(job, layer));
        matmul += parameters;
        causal_pairs += pairs;
        full_pairs += static_cast<double>(job.sequence_length);
        const bool full = job.recompute == RecomputeMode::kFull &&
                          (job.recompute_full_layers == 0 || i < job.recompute_full_layers);
        // One forward more: 2 per matrix parameter and 2 per pair and unit of head width.
        if (full) repeated += 2 * parameters + 2 * pairs * width;
        if (job.recompute == RecomputeMode::kSelective) repeated += 2 * pairs * width;
      }
    }
  }
  const double head = static_cast<double>(model.hidden) *
                      static_cast<double>(padded_vocab(model.vocab, job.options.vocab_multiple,
                                                       job.parallel.tensor));
  FlopsPerToken flops;
  const double linear = 6 * (matmul + head);
  flops.exact_causal = FlopCount{linear + 6 * causal_pairs * width};
  flops.full_attention = FlopCount{linear + 6 * full_pairs * width};
  flops.hardware = FlopCount{flops.exact_causal.value() + repeated};
  return flops;
}

}  // namespace foretrain
