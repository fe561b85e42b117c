// `job.model`: a catalog name, or fields of one's own, or both.
#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/decode.h"

namespace foretrain {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 24;

void set_integer(const NodeReader& reader, const char* key, std::int64_t most,
                 std::int64_t& target) {
  if (const auto value = reader.integer(key, 1, most)) target = *value;
}

void decode_window(const NodeReader& model, ModelSpec& spec) {
  const DocumentNode* node = model.child("attention_window");
  if (node == nullptr) return;
  spec.attention_window.clear();
  std::vector<const DocumentNode*> values;
  if (node->kind == DocumentNode::Kind::kSequence) {
    for (const DocumentNode& item : node->items) values.push_back(&item);
  } else {
    values.push_back(node);
  }
  for (const DocumentNode* value : values) {
    const auto window =
        value->kind == DocumentNode::Kind::kScalar ? parse_integer(value->scalar) : std::nullopt;
    if (!window || *window < 0 || *window > kMostTokens) {
      model.error("attention_window",
                  "must be a number of tokens, or a list of such per layer (0 = full)");
      return;
    }
    spec.attention_window.push_back(*window);
  }
  const auto count = static_cast<std::int64_t>(spec.attention_window.size());
  if (node->kind == DocumentNode::Kind::kSequence && spec.layers > 0 && count != spec.layers) {
    model.error("attention_window", fmt::format("has {} values for {} layers", count, spec.layers),
                "one value for all layers, or one a layer");
  }
}

void decode_activation_and_norm(const NodeReader& model, ModelSpec& spec) {
  if (const auto word = model.choice("activation")) {
    spec.activation = *word == "gelu"     ? Activation::kGelu
                      : *word == "swiglu" ? Activation::kSwiglu
                      : *word == "geglu"  ? Activation::kGeglu
                      : *word == "relu"   ? Activation::kRelu
                                          : Activation::kSquaredRelu;
  }
  if (const auto word = model.choice("norm")) {
    spec.norm = *word == "layernorm" ? Norm::kLayerNorm : Norm::kRmsNorm;
    spec.norm_bias = *word == "layernorm";
  }
  if (const auto word = model.choice("positions")) {
    spec.positions = *word == "rotary"    ? Positions::kRotary
                     : *word == "learned" ? Positions::kLearned
                     : *word == "alibi"   ? Positions::kAlibi
                                          : Positions::kNone;
  }
  if (const auto tied = model.boolean("tied_embeddings")) spec.tied_embeddings = *tied;
  if (const auto biases = model.boolean("biases")) {
    spec.qkv_bias = spec.attention_output_bias = spec.mlp_bias = *biases;
  }
}

void decode_model_fields(const NodeReader& model, const Catalogs& catalogs, ModelSpec& spec) {
  bool complete = false;
  if (const auto name = model.choice("name", catalogs.models.names_and_aliases())) {
    spec = catalogs.models.find(*name)->spec;
    complete = true;
  } else if (model.child("name") == nullptr) {
    spec.name = "custom";
  }
  if (model.child("config") != nullptr) {
    model.error("config", "reading a config.json is not supported in this version",
                "name a model of `foretrain catalog models`, or write its fields out");
    return;
  }
  for (const char* key : {"layers", "hidden", "heads", "ffn_hidden", "vocab"}) {
    if (!complete && model.child("name") == nullptr)
      model.require(key, "every model field but those with a default is needed");
  }
  const bool heads_given = model.child("heads") != nullptr || model.child("hidden") != nullptr;
  set_integer(model, "layers", 10'000, spec.layers);
  set_integer(model, "hidden", 1 << 18, spec.hidden);
  set_integer(model, "heads", 1 << 12, spec.heads);
  set_integer(model, "ffn_hidden", 1 << 20, spec.ffn_hidden);
  set_integer(model, "vocab", 1 << 24, spec.vocab);
  if (!complete) spec.kv_heads = spec.heads;
  set_integer(model, "kv_heads", 1 << 12, spec.kv_heads);
  if ((!complete || heads_given) && spec.heads > 0) {
    if (model.child("head_dim") == nullptr && spec.hidden % spec.heads != 0) {
      model.error("heads",
                  fmt::format("{} heads do not divide hidden size {}", spec.heads, spec.hidden),
                  "change heads or hidden, or give head_dim");
    }
    spec.head_dim = std::max<std::int64_t>(1, spec.hidden / spec.heads);
  }
  set_integer(model, "head_dim", 4096, spec.head_dim);
  if (spec.kv_heads > 0 && spec.heads % std::max<std::int64_t>(1, spec.kv_heads) != 0) {
    model.error("kv_heads",
                fmt::format("{} key-value heads do not divide {} heads", spec.kv_heads, spec.heads),
                "as many as heads, or a divisor of it");
  }
  decode_activation_and_norm(model, spec);
  set_integer(model, "learned_position_rows", kMostTokens, spec.learned_position_rows);
  decode_window(model, spec);
  if (model.map("moe").present()) {
    model.error("moe", "mixtures of experts are not supported in this version",
                "dense models are: leave moe out");
  }
  if (model.map("mla").present()) {
    model.error("mla", "latent attention is not supported in this version",
                "grouped-query attention is: kv_heads");
  }
  if (const auto mtp = model.integer("mtp_layers", 0, 64); mtp && *mtp > 0) {
    model.error("mtp_layers", "multi-token prediction is not supported in this version");
  }
}

}  // namespace

void decode_model(const NodeReader& job, const Catalogs& catalogs, ModelSpec& spec) {
  const DocumentNode* node = job.child("model");
  if (node == nullptr) {
    job.require("model", "name a model of `foretrain catalog models`: model: llama-3-8b");
    return;
  }
  if (node->kind == DocumentNode::Kind::kScalar) {
    if (const auto name = job.choice("model", catalogs.models.names_and_aliases())) {
      spec = catalogs.models.find(*name)->spec;
    }
  } else {
    const NodeReader fields = job.map("model");
    if (fields.present()) decode_model_fields(fields, catalogs, spec);
  }
  if (spec.moe || spec.mla) {
    job.error("model",
              fmt::format("{} needs {}, which this version does not support", spec.name,
                          spec.moe ? "mixtures of experts" : "latent attention"),
              "dense models: `foretrain catalog models`");
  }
}

}  // namespace foretrain
