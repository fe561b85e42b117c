#include "sim/memory/activations.h"

#include "sim/workload/shapes.h"

namespace foretrain {
namespace {

/// Local widths as doubles; `region` = 1/t with sequence parallelism, else 1.
struct Widths {
  explicit Widths(const TrainingJob& job) {
    const LocalShapes shapes = local_shapes(job);
    hidden = static_cast<double>(shapes.hidden);
    query = static_cast<double>(shapes.query_width);
    kv = static_cast<double>(shapes.kv_width);
    heads = static_cast<double>(shapes.heads);
    ffn = static_cast<double>(shapes.ffn_width);
    region = is_sequence_parallel(job) ? 1.0 / job.parallel.tensor : 1.0;
  }
  double hidden = 0, query = 0, kv = 0, heads = 0, ffn = 0, region = 1;
};

bool is_unfused(const TrainingJob& job) { return job.attention == AttentionKernel::kUnfused; }
bool is_fp8(const TrainingJob& job) { return job.precision == Precision::kFp8; }

/// Input, statistics and output of one norm.
double norm_bytes(const TrainingJob& job, const Widths& w) {
  const bool written_out =
      activation_style(job) == ActivationStyle::kEagerFp32Norm && job.model.norm == Norm::kRmsNorm;
  const double statistics = is_unfused(job) ? 0 : (job.model.norm == Norm::kLayerNorm ? 8 : 4);
  double hidden = written_out ? 8 : 4;
  if (is_fp8(job)) hidden -= 1;  // the output, a linear layer's input, is kept in fp8
  return (hidden * w.hidden + statistics) * w.region;
}

double latent_attention_bytes(const TrainingJob& job) {
  const MlaSpec& mla = *job.model.mla;
  const double heads = static_cast<double>(job.model.heads) / job.parallel.tensor;
  const auto q_head = static_cast<double>(mla.qk_nope_head_dim + mla.qk_rope_head_dim);
  const auto v_head = static_cast<double>(mla.v_head_dim);
  const double latents =
      2 * static_cast<double>(2 * mla.q_lora_rank + 2 * mla.kv_lora_rank + mla.qk_rope_head_dim);
  return latents + heads * (4 * q_head + 4 * v_head + 4);
}

/// Without norms and scores.
double attention_bytes(const TrainingJob& job, const Widths& w) {
  if (job.model.mla) return latent_attention_bytes(job);
  double bytes = 4 * w.query + 4 * w.kv;       // Q, K, V and the output
  if (!is_unfused(job)) bytes += 4 * w.heads;  // log-sum-exp
  if (job.model.qk_norm) {
    const bool wide = activation_style(job) == ActivationStyle::kEagerFp32Norm;
    bytes += (wide ? 6 : 2) * (w.query + w.kv);
  }
  if (is_fp8(job)) bytes += w.query;  // the output once more, in fp8, for the projection
  return bytes;
}

/// Score matrices (softmax output, dropout mask, dropout output) per token.
double score_bytes(const TrainingJob& job, const Widths& w) {
  return is_unfused(job) ? 5 * w.heads * static_cast<double>(job.sequence_length) : 0;
}

double moe_bytes(const TrainingJob& job, const Widths& w) {
  const MoeSpec& moe = *job.model.moe;
  const auto width = static_cast<double>(moe.expert_ffn_hidden);
  const auto k = static_cast<double>(moe.top_k);
  const double gates = is_gated(job.model.activation) ? 6 : 4;
  const double rows = k * (2 * w.hidden + gates * width) * w.region;
  return 8 * static_cast<double>(moe.experts) * w.region + rows +
         gates * static_cast<double>(moe.shared_experts) * width / job.parallel.tensor;
}

double mlp_bytes(const TrainingJob& job, const Widths& w) {
  const ActivationStyle style = activation_style(job);
  const bool gated = is_gated(job.model.activation);
  double per_width = gated ? 6 : 4;
  if (gated && style != ActivationStyle::kMegatron) per_width += 2;  // silu(gate)
  if (is_fp8(job)) per_width -= 1;
  return per_width * w.ffn;
}

/// What torch.compile must keep at least: inputs of matrix products and attention.
double compiled_lower_bound(const TrainingJob& job, const Widths& w) {
  return 4 * w.hidden * w.region + attention_bytes(job, w) + 4 * w.ffn;
}

/// torchtitan's per-operator checkpointing: attention output and statistics, the layer's input and
/// the 1st, 3rd, 5th and 7th matrix product (Q, V, gate, down).
double every_second_product(const TrainingJob& job, const Widths& w) {
  const double down = is_gated(job.model.activation) ? 2 * w.hidden * w.region : 0;
  return 2 * (w.query + w.kv + w.ffn) + down + 2 * w.query + 4 * w.heads + 2 * w.hidden * w.region;
}

}  // namespace

ActivationStyle activation_style(const TrainingJob& job) {
  switch (job.framework) {
    case Framework::kNone:
    case Framework::kMegatronLm: return ActivationStyle::kMegatron;
    case Framework::kTorchTitan: return ActivationStyle::kEager;
    case Framework::kDeepSpeed:
      return job.options.fused_kernels ? ActivationStyle::kMegatron
                                       : ActivationStyle::kEagerFp32Norm;
    case Framework::kDdp:
    case Framework::kFsdp2: break;
  }
  return job.options.fused_kernels || job.options.compiled ? ActivationStyle::kEager
                                                           : ActivationStyle::kEagerFp32Norm;
}

LayerActivations layer_activations(const TrainingJob& job, int layer, double compiled_kept) {
  const Widths w{job};
  const bool moe = is_moe_layer(job.model, layer);
  const double norms = (job.model.norms_per_layer >= 4 ? 4 : 2) * norm_bytes(job, w);
  const double masks = is_unfused(job) ? 2 * w.hidden * w.region : 0;  // dropout after both blocks
  const double scores = score_bytes(job, w);
  const double scale = job.precision == Precision::kFp32 ? 2 : 1;

  LayerActivations bytes;
  bytes.full = norms + masks + attention_bytes(job, w) + scores +
               (moe ? moe_bytes(job, w) : mlp_bytes(job, w));
  if (job.options.compiled && !moe && !job.model.mla) {
    const double least = compiled_lower_bound(job, w) + scores + masks;
    if (least < bytes.full) bytes.full = least + compiled_kept * (bytes.full - least);
  }
  bytes.kept = bytes.full;
  const bool per_operator =
      job.framework == Framework::kTorchTitan || job.framework == Framework::kFsdp2;
  if (job.recompute == RecomputeMode::kFull) {
    bytes.kept = 2 * w.hidden * w.region;
  } else if (job.recompute == RecomputeMode::kSelective) {
    const double statistics = is_unfused(job) ? 0 : 4 * w.heads;
    bytes.kept = per_operator && !moe && !job.model.mla ? every_second_product(job, w)
                                                        : bytes.full - scores - statistics;
  }
  bytes.transient = 2 * w.hidden * w.region + 4 * w.ffn;
  bytes.full *= scale;
  bytes.kept *= scale;
  bytes.transient *= scale;
  return bytes;
}

double final_norm_bytes(const TrainingJob& job) {
  const Widths w{job};
  const bool written_out = activation_style(job) == ActivationStyle::kEagerFp32Norm;
  const double scale = job.precision == Precision::kFp32 ? 2 : 1;
  return (written_out ? 8 : 4) * w.hidden * w.region * scale;
}

double bytes_per_logit(const TrainingJob& job) {
  if (activation_style(job) == ActivationStyle::kMegatron) return 6;
  return job.options.fused_kernels || job.options.fused_loss ? 7 : 12;
}

}  // namespace foretrain
