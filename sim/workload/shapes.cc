#include "sim/workload/shapes.h"

#include <algorithm>
#include <cstddef>

#include "sim/core/contracts.h"

namespace foretrain {
namespace {

std::int64_t share_up(std::int64_t total, std::int64_t parts) {
  return (total + parts - 1) / parts;
}

}  // namespace

double LocalShapes::collective_bytes() const {
  return element_bytes * static_cast<double>(tokens) * static_cast<double>(hidden);
}

bool uses_megatron_layers(const TrainingJob& job) {
  return job.framework == Framework::kMegatronLm || job.framework == Framework::kNone;
}

bool is_elementwise_fused(const TrainingJob& job) {
  return job.options.fused_kernels || job.options.compiled;
}

bool is_sequence_parallel(const TrainingJob& job) {
  return job.parallel.sequence_parallel && job.parallel.tensor > 1;
}

bool is_fully_sharded(const TrainingJob& job) { return job.sharding == Sharding::kParameters; }

DataType base_type(const TrainingJob& job) {
  switch (job.precision) {
    case Precision::kFp32: return DataType::kTf32;
    case Precision::kFp16: return DataType::kFp16;
    case Precision::kBf16:
    case Precision::kFp8: break;
  }
  return DataType::kBf16;
}

DataType linear_type(const TrainingJob& job) {
  if (job.precision != Precision::kFp8) return base_type(job);
  return job.fp8_recipe == Fp8Recipe::kBlockwise ? DataType::kFp8Block : DataType::kFp8;
}

std::int64_t layer_window(const TrainingJob& job, int layer) {
  const auto& windows = job.model.attention_window;
  if (windows.empty()) return 0;
  const std::int64_t window = windows[static_cast<std::size_t>(layer) % windows.size()];
  return window >= job.sequence_length ? 0 : window;
}

std::int64_t norm_vectors(const ModelSpec& model) {
  return model.norm == Norm::kLayerNorm && model.norm_bias ? 2 : 1;
}

bool is_moe_layer(const ModelSpec& model, int layer) {
  return model.moe.has_value() && layer >= model.moe->first_dense_layers;
}

double causal_pairs_per_token(std::int64_t sequence, std::int64_t window) {
  const auto s = static_cast<double>(sequence);
  if (window <= 0 || window >= sequence) return (s + 1) / 2;
  const auto w = static_cast<double>(window);
  return w - w * (w - 1) / (2 * s);
}

LocalShapes local_shapes(const TrainingJob& job) {
  const ModelSpec& model = job.model;
  const std::int64_t t = job.parallel.tensor;
  FORETRAIN_EXPECTS(t >= 1 && job.parallel.context >= 1 && job.micro_batch >= 1,
                    "parallel degrees and micro-batch are at least 1");
  LocalShapes shapes;
  shapes.tokens = job.micro_batch * job.sequence_length / job.parallel.context;
  shapes.region_tokens = is_sequence_parallel(job) ? share_up(shapes.tokens, t) : shapes.tokens;
  shapes.hidden = model.hidden;
  shapes.heads = share_up(model.heads, t);
  shapes.kv_heads = std::max<std::int64_t>(share_up(model.kv_heads, t), 1);
  shapes.query_width = shapes.heads * model.head_dim;
  shapes.kv_width = shapes.kv_heads * model.head_dim;
  shapes.qkv_columns = shapes.query_width + 2 * shapes.kv_width;
  // With fewer KV heads than ranks Megatron keeps the weight cut t ways and gathers its output.
  if (model.kv_heads < t && uses_megatron_layers(job)) {
    shapes.qkv_gathered = (model.heads + 2 * model.kv_heads) * model.head_dim;
    shapes.qkv_columns = share_up(shapes.qkv_gathered, t);
  }
  shapes.gate_factor = is_gated(model.activation) ? 2 : 1;
  shapes.ffn_width = share_up(model.ffn_hidden, t);
  shapes.vocab_width = padded_vocab(model.vocab, job.options.vocab_multiple, t) / t;
  shapes.element_bytes = job.precision == Precision::kFp32 ? 4 : 2;
  return shapes;
}

}  // namespace foretrain
