#include "sim/workload/model_spec.h"

#include "sim/core/contracts.h"

namespace foretrain {
namespace {

/// Vectors of width `hidden` that one norm holds: weight, and the bias of a full LayerNorm.
std::int64_t vectors_per_norm(const ModelSpec& model) {
  return model.norm == Norm::kLayerNorm && model.norm_bias ? 2 : 1;
}

std::int64_t grouped_attention(const ModelSpec& model) {
  const std::int64_t query_width = model.heads * model.head_dim;
  const std::int64_t key_value_width = model.kv_heads * model.head_dim;
  const std::int64_t qkv_width = query_width + 2 * key_value_width;
  std::int64_t count = model.hidden * qkv_width + query_width * model.hidden;
  if (model.qkv_bias) count += qkv_width;
  if (model.attention_output_bias) count += model.hidden;
  return count;
}

std::int64_t latent_attention(const ModelSpec& model, const MlaSpec& mla) {
  const std::int64_t query_width = model.heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim);
  std::int64_t count = 0;
  if (mla.q_lora_rank > 0) {  // down projection, its RMSNorm, up projection
    count += model.hidden * mla.q_lora_rank + mla.q_lora_rank + mla.q_lora_rank * query_width;
  } else {
    count += model.hidden * query_width;
  }
  count += model.hidden * (mla.kv_lora_rank + mla.qk_rope_head_dim) + mla.kv_lora_rank;
  count += mla.kv_lora_rank * model.heads * (mla.qk_nope_head_dim + mla.v_head_dim);
  count += model.heads * mla.v_head_dim * model.hidden;
  if (model.attention_output_bias) count += model.hidden;
  return count;
}

std::int64_t attention(const ModelSpec& model) {
  std::int64_t count = model.mla ? latent_attention(model, *model.mla) : grouped_attention(model);
  if (model.qk_norm) count += 2 * model.head_dim;
  if (model.attention_sinks) count += model.heads;
  return count;
}

struct Mlp {
  std::int64_t width = 0;
  bool bias = false;
};

/// Gated: gate, up and down matrices; plain: up and down. Biases on every matrix or on none.
std::int64_t mlp(const ModelSpec& model, Mlp shape) {
  const std::int64_t matrices = is_gated(model.activation) ? 3 : 2;
  std::int64_t count = matrices * model.hidden * shape.width;
  if (shape.bias) count += (matrices - 1) * shape.width + model.hidden;
  return count;
}

/// One MoE block in which `experts` of the routed experts count.
std::int64_t moe(const ModelSpec& model, const MoeSpec& spec, std::int64_t experts) {
  std::int64_t count =
      experts * mlp(model, {.width = spec.expert_ffn_hidden, .bias = spec.expert_bias});
  count += model.hidden * spec.experts;  // the router scores all experts, whichever are chosen
  if (spec.router_bias) count += spec.experts;
  count += spec.shared_experts * mlp(model, {.width = spec.expert_ffn_hidden, .bias = false});
  return count;
}

}  // namespace

bool is_gated(Activation activation) {
  return activation == Activation::kSwiglu || activation == Activation::kGeglu;
}

ParameterCounts count_parameters(const ModelSpec& model) {
  FORETRAIN_EXPECTS(model.layers >= 0 && model.hidden >= 0 && model.vocab >= 0,
                    "model sizes are not negative");
  const std::int64_t norm = vectors_per_norm(model) * model.hidden;
  const std::int64_t norms = model.norms_per_layer * norm;
  ParameterCounts counts;
  counts.attention_per_layer = attention(model);
  counts.dense_layer = counts.attention_per_layer + norms +
                       mlp(model, {.width = model.ffn_hidden, .bias = model.mlp_bias});
  std::int64_t active_moe_layer = 0;
  std::int64_t moe_layers = 0;
  if (model.moe) {
    FORETRAIN_EXPECTS(model.moe->first_dense_layers <= model.layers, "dense layers are layers");
    counts.moe_layer =
        counts.attention_per_layer + norms + moe(model, *model.moe, model.moe->experts);
    active_moe_layer =
        counts.attention_per_layer + norms + moe(model, *model.moe, model.moe->top_k);
    moe_layers = model.layers - model.moe->first_dense_layers;
  }
  const std::int64_t dense = (model.layers - moe_layers) * counts.dense_layer;
  counts.non_embedding = dense + moe_layers * counts.moe_layer + norm;
  counts.active_non_embedding = dense + moe_layers * active_moe_layer + norm;
  if (model.embedding_norm) {
    counts.non_embedding += norm;
    counts.active_non_embedding += norm;
  }
  // A multi-token-prediction module: one more layer, a projection of two hidden states to one, and
  // three norms (both inputs, output). Embedding and head are shared with the model.
  const std::int64_t mtp_frame = 2 * model.hidden * model.hidden + 3 * norm;
  counts.non_embedding +=
      model.mtp_layers * (mtp_frame + (model.moe ? counts.moe_layer : counts.dense_layer));
  counts.active_non_embedding +=
      model.mtp_layers * (mtp_frame + (model.moe ? active_moe_layer : counts.dense_layer));
  std::int64_t tables = model.vocab * model.hidden * (model.tied_embeddings ? 1 : 2);
  if (model.positions == Positions::kLearned) tables += model.learned_position_rows * model.hidden;
  counts.total = counts.non_embedding + tables;
  counts.active = counts.active_non_embedding + tables;
  return counts;
}

std::int64_t padded_vocab(std::int64_t vocab, std::int64_t multiple, std::int64_t tensor) {
  FORETRAIN_EXPECTS(vocab >= 0 && multiple >= 1 && tensor >= 1, "vocabulary padding is positive");
  const std::int64_t step = multiple == 1 ? 1 : multiple * tensor;
  return (vocab + step - 1) / step * step;
}

}  // namespace foretrain
