// A transformer as a scenario describes it, and its exact parameter counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace foretrain {

enum class Activation { kGelu, kSwiglu, kGeglu, kRelu, kSquaredRelu };
enum class Norm { kLayerNorm, kRmsNorm };
enum class Positions { kRotary, kLearned, kAlibi, kNone };

struct MoeSpec {
  std::int64_t experts = 0, top_k = 0, shared_experts = 0, expert_ffn_hidden = 0;
  std::int64_t first_dense_layers = 0;
  double capacity_factor = 0;  // 0: dropless
  bool router_bias = false, expert_bias = false;
};
struct MlaSpec {
  std::int64_t q_lora_rank = 0, kv_lora_rank = 0, qk_nope_head_dim = 0, qk_rope_head_dim = 0,
               v_head_dim = 0;
};

/// Fields as in a scenario's job.model, with Llama's defaults. Biases may differ by place, as in
/// public models; `biases: true` in a scenario sets all three.
struct ModelSpec {
  std::string name;  // "llama-3-70b", or "custom"
  std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn_hidden = 0,
               vocab = 0;
  Activation activation = Activation::kSwiglu;
  Norm norm = Norm::kRmsNorm;
  bool norm_bias = false;  // LayerNorm with bias: two vectors a norm
  int norms_per_layer = 2;
  bool qk_norm = false, embedding_norm = false, attention_sinks = false;
  Positions positions = Positions::kRotary;
  std::int64_t learned_position_rows = 0;
  bool tied_embeddings = false;
  bool qkv_bias = false, attention_output_bias = false, mlp_bias = false;
  std::vector<std::int64_t> attention_window;  // empty: full; one value: all layers; else per layer
  std::optional<MoeSpec> moe;
  std::optional<MlaSpec> mla;
  std::int64_t mtp_layers = 0;
};

struct ParameterCounts {
  std::int64_t total = 0, active = 0, non_embedding = 0, active_non_embedding = 0;
  std::int64_t attention_per_layer = 0, dense_layer = 0, moe_layer = 0;
};

/// Exact counts, vocabulary unpadded. @source counted from the tensors' shapes, checked
/// against the published counts in scenarios/catalog/models.csv.
[[nodiscard]] ParameterCounts count_parameters(const ModelSpec& model);

[[nodiscard]] bool is_gated(Activation activation);

/// Padded vocabulary: ceil(V / (multiple * t)) * multiple * t (Megatron's 128); multiple 1 = no
/// padding.
[[nodiscard]] std::int64_t padded_vocab(std::int64_t vocab, std::int64_t multiple,
                                        std::int64_t tensor);

}  // namespace foretrain
