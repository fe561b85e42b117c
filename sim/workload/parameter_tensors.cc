#include "sim/workload/parameter_tensors.h"

#include "sim/workload/shapes.h"

namespace foretrain {
namespace {

struct MlpTensors {
  std::int64_t up = 0, down = 0;  // up: all of gate and up
};

/// One MLP of width `width`, of which the rank holds `local_width`.
MlpTensors mlp_tensors(const ModelSpec& model, std::int64_t local_width, bool bias) {
  const std::int64_t gates = is_gated(model.activation) ? 2 : 1;
  MlpTensors tensors;
  tensors.up = gates * local_width * (model.hidden + (bias ? 1 : 0));
  tensors.down = model.hidden * (local_width + (bias ? 1 : 0));
  return tensors;
}

struct AttentionTensors {
  std::int64_t q = 0, kv = 0, fused = 0, output = 0, extra = 0;
};

AttentionTensors attention_tensors(const TrainingJob& job) {
  const ModelSpec& model = job.model;
  const std::int64_t t = job.parallel.tensor;
  AttentionTensors tensors;
  if (model.mla) {
    // Down projections and latent norms stand whole on every rank; up projections are cut by heads.
    const MlaSpec& mla = *model.mla;
    const std::int64_t heads = model.heads / t;
    const std::int64_t q_head = mla.qk_nope_head_dim + mla.qk_rope_head_dim;
    const std::int64_t down =
        model.hidden * (mla.kv_lora_rank + mla.qk_rope_head_dim) + mla.kv_lora_rank;
    const std::int64_t q = mla.q_lora_rank > 0 ? model.hidden * mla.q_lora_rank + mla.q_lora_rank +
                                                     mla.q_lora_rank * heads * q_head
                                               : model.hidden * heads * q_head;
    tensors.fused = q + down + mla.kv_lora_rank * heads * (mla.qk_nope_head_dim + mla.v_head_dim);
    tensors.q = tensors.fused;
    tensors.output = heads * mla.v_head_dim * model.hidden;
    return tensors;
  }
  const LocalShapes shapes = local_shapes(job);
  const std::int64_t inputs = model.hidden + (model.qkv_bias ? 1 : 0);
  tensors.q = shapes.query_width * inputs;
  tensors.kv = shapes.kv_width * inputs;
  tensors.fused = shapes.qkv_columns * inputs;
  tensors.output = model.hidden * (shapes.query_width + (model.attention_output_bias ? 1 : 0));
  tensors.extra =
      (model.qk_norm ? 2 * model.head_dim : 0) + (model.attention_sinks ? shapes.heads : 0);
  return tensors;
}

std::int64_t moe_parameters(const TrainingJob& job) {
  const ModelSpec& model = job.model;
  const MoeSpec& moe = *model.moe;
  const std::int64_t local_experts = moe.experts / job.parallel.expert;
  const MlpTensors expert = mlp_tensors(model, moe.expert_ffn_hidden, moe.expert_bias);
  const std::int64_t gates = is_gated(model.activation) ? 3 : 2;
  const std::int64_t shared = gates * model.hidden * moe.shared_experts * moe.expert_ffn_hidden;
  return local_experts * (expert.up + expert.down) +
         moe.experts * (model.hidden + (moe.router_bias ? 1 : 0)) + shared / job.parallel.tensor;
}

}  // namespace

std::vector<std::int64_t> layer_tensors(const TrainingJob& job, int layer) {
  const ModelSpec& model = job.model;
  const std::int64_t norm = norm_vectors(model) * model.hidden;
  const AttentionTensors attention = attention_tensors(job);
  const bool fused_order = uses_megatron_layers(job) || model.mla.has_value();
  std::vector<std::int64_t> tensors;
  if (fused_order) {
    tensors = {attention.output, norm, attention.fused};
  } else {
    tensors = {attention.q, attention.kv, attention.kv, attention.output};
  }
  if (attention.extra > 0) tensors.push_back(attention.extra);
  if (fused_order) tensors.push_back(norm);
  if (is_moe_layer(model, layer)) {
    tensors.push_back(moe_parameters(job));
  } else {
    const MlpTensors mlp = mlp_tensors(model, local_shapes(job).ffn_width, model.mlp_bias);
    if (!fused_order && is_gated(model.activation)) {
      tensors.push_back(mlp.up / 2);
      tensors.push_back(mlp.up - mlp.up / 2);
    } else {
      tensors.push_back(mlp.up);
    }
    tensors.push_back(mlp.down);
  }
  for (int i = fused_order ? 2 : 0; i < model.norms_per_layer; ++i) tensors.push_back(norm);
  return tensors;
}

std::vector<std::int64_t> embedding_tensors(const TrainingJob& job) {
  const ModelSpec& model = job.model;
  std::vector<std::int64_t> tensors{local_shapes(job).vocab_width * model.hidden};
  if (model.learned_position_rows > 0)
    tensors.push_back(model.learned_position_rows * model.hidden);
  if (model.embedding_norm) tensors.push_back(norm_vectors(model) * model.hidden);
  return tensors;
}

std::vector<std::int64_t> head_tensors(const TrainingJob& job, const ChunkContents& chunk) {
  const ModelSpec& model = job.model;
  std::vector<std::int64_t> tensors{norm_vectors(model) * model.hidden};
  const bool shared = model.tied_embeddings && (chunk.embedding || job.parallel.pipeline == 1);
  if (!shared) tensors.push_back(local_shapes(job).vocab_width * model.hidden);
  return tensors;
}

}  // namespace foretrain
