#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/decode.h"
#include "sim/scenario/keys.h"

namespace foretrain {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 24;

void set_integer(const NodeReader& reader, const char* key, std::int64_t most, std::int64_t& target) {
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
    const auto window = value->kind == DocumentNode::Kind::kScalar ? parse_integer(value->scalar) : std::nullopt;
    if (!window || *window < 0 || *window > kMostTokens) {
      model.error("attention_window", "must be a number of tokens, or a list of such per layer (0 = full)");
      return;
    }
    spec.attention_window.push_back(*window);
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
    model.error("config", "reading config.json is not supported in this version", "write the model's fields out");
    return;
  }
  for (const char* key : {"layers", "hidden", "heads", "ffn_hidden", "vocab"}) {
    if (!complete && model.child("name") == nullptr) model.require(key, "every model field but those with a default is needed");
  }
  const bool heads_given = model.child("heads") != nullptr || model.child("hidden") != nullptr;
  set_integer(model, "layers", 10'000, spec.layers);
  set_integer(model, "hidden", 1 << 20, spec.hidden);
  set_integer(model, "heads", 1 << 16, spec.heads);
  set_integer(model, "ffn_hidden", 1 << 22, spec.ffn_hidden);
  set_integer(model, "vocab", 1 << 24, spec.vocab);
  if (!complete) spec.kv_heads = spec.heads;
  set_integer(model, "kv_heads", 1 << 16, spec.kv_heads);
  if ((!complete || heads_given) && spec.heads > 0) {
    if (model.child("head_dim") == nullptr && spec.hidden % spec.heads != 0) {
      model.error("heads", fmt::format("{} heads do not divide hidden size {}", spec.heads, spec.hidden),
                  "change heads or hidden, or give head_dim");
    }
    spec.head_dim = std::max<std::int64_t>(1, spec.hidden / spec.heads);
  }
  set_integer(model, "head_dim", 4096, spec.head_dim);
  if (spec.kv_heads > 0 && spec.heads % std::max<std::int64_t>(1, spec.kv_heads) != 0) {
    model.error("kv_heads", fmt::format("{} key-value heads do not divide {} heads", spec.kv_heads, spec.heads));
  }
  decode_activation_and_norm(model, spec);
  set_integer(model, "learned_position_rows", kMostTokens, spec.learned_position_rows);
  decode_window(model, spec);
  if (model.child("moe") != nullptr) model.error("moe", "mixtures of experts are not supported in this version");
  if (model.child("mla") != nullptr) model.error("mla", "latent attention is not supported in this version");
  if (const auto mtp = model.integer("mtp_layers", 0, 64); mtp && *mtp > 0) {
    model.error("mtp_layers", "multi-token prediction is not supported in this version");
  }
}

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
    job.error("model", fmt::format("{} needs {}, which this version does not support", spec.name,
                                   spec.moe ? "mixtures of experts" : "latent attention"),
              "dense models: `foretrain catalog models`");
  }
}

void decode_parallel(const NodeReader& job, const FrameworkPreset& preset, int gpus, TrainingJob& out) {
  const NodeReader parallel = job.map("parallel");
  ParallelPlan& plan = out.parallel;
  constexpr std::int64_t kMost = 1 << 20;
  const auto degree = [&](const char* key, int& target) {
    if (const auto value = parallel.integer(key, 1, kMost)) target = static_cast<int>(*value);
  };
  degree("tensor", plan.tensor);
  degree("pipeline", plan.pipeline);
  degree("context", plan.context);
  degree("expert", plan.expert);
  degree("virtual_stages", plan.virtual_stages);
  if (plan.expert > 1) parallel.error("expert", "expert parallelism is not supported in this version", "expert: 1");
  const std::int64_t model_ranks = static_cast<std::int64_t>(plan.tensor) * plan.pipeline * plan.context;
  if (const auto data = parallel.integer("data", 1, kMost)) {
    plan.data = static_cast<int>(*data);
    const std::int64_t product = model_ranks * plan.data;
    if (gpus > 0 && product != gpus) {
      std::string hint = gpus % model_ranks == 0 ? fmt::format("data: {}, or leave it out", gpus / model_ranks)
                                                 : fmt::format("tensor × pipeline × context = {} does not divide {} GPUs", model_ranks, gpus);
      parallel.error("data", fmt::format("tensor {} × pipeline {} × context {} × data {} = {}, but the cluster has {} GPUs",
                                         plan.tensor, plan.pipeline, plan.context, plan.data, product, gpus), hint);
    }
  } else if (parallel.child("data") == nullptr && gpus > 0) {
    if (gpus % model_ranks != 0) {
      job.error("parallel", fmt::format("tensor {} × pipeline {} × context {} = {} does not divide {} GPUs",
                                        plan.tensor, plan.pipeline, plan.context, model_ranks, gpus),
                "change a degree or the number of nodes");
    } else {
      plan.data = static_cast<int>(gpus / model_ranks);
    }
  }
  plan.sequence_parallel = preset.sequence_parallel && plan.tensor > 1;
  if (const auto sequence = parallel.boolean("sequence_parallel")) {
    plan.sequence_parallel = *sequence && plan.tensor > 1;
  }
}

void decode_schedule(const NodeReader& job, TrainingJob& out) {
  const int chunks = out.parallel.virtual_stages;
  out.schedule = chunks > 1 ? PipelineSchedule::kInterleaved : PipelineSchedule::kOneFOneB;
  const auto word = job.choice("schedule");
  if (!word) return;
  if (*word == "gpipe") out.schedule = PipelineSchedule::kGpipe;
  if (*word == "interleaved") out.schedule = PipelineSchedule::kInterleaved;
  if (*word == "gpipe" && chunks > 1) job.error("schedule", "gpipe has no virtual stages", "virtual_stages: 1");
  if (*word == "interleaved" && chunks < 2) {
    job.error("schedule", "interleaving needs at least two virtual stages", "parallel: {virtual_stages: 2}");
  }
}

void decode_options(const NodeReader& job, FrameworkOptions& o) {
  const NodeReader options = job.map("options");
  const auto boolean = [&](const char* key, bool& target) {
    if (const auto value = options.boolean(key)) target = *value;
  };
  boolean("overlap_grad_reduce", o.overlap_grad_reduce);
  boolean("overlap_param_gather", o.overlap_param_gather);
  boolean("overlap_p2p", o.overlap_p2p);
  boolean("tensor_overlap", o.tensor_overlap);
  boolean("fused_kernels", o.fused_kernels);
  boolean("compiled", o.compiled);
  boolean("optimizer_fused", o.optimizer_fused);
  const auto bytes = [&](const char* key, int& target) {
    if (const auto value = options.integer(key, 1, 4)) {
      if (*value == 3) options.error(key, "must be 1, 2 or 4");
      target = static_cast<int>(*value);
    }
  };
  bytes("gradient_bytes", o.gradient_bytes);
  bytes("parameter_gather_bytes", o.parameter_gather_bytes);
  set_integer(options, "bucket_parameters", std::int64_t{1} << 40, o.bucket_parameters);
  set_integer(options, "vocab_multiple", 1 << 16, o.vocab_multiple);
  if (const auto time = options.quantity<SimDuration>("host_time_per_launch", parse_duration)) {
    o.host_seconds_per_launch = to_seconds(*time);
  }
  if (const auto time = options.quantity<SimDuration>("step_overhead", parse_duration)) {
    o.step_overhead_seconds = to_seconds(*time);
  }
}

void decode_precision(const NodeReader& job, TrainingJob& out) {
  if (const auto word = job.choice("precision")) {
    out.precision = *word == "bf16"   ? Precision::kBf16
                    : *word == "fp16" ? Precision::kFp16
                    : *word == "fp8"  ? Precision::kFp8
                                      : Precision::kFp32;
  }
  if (const auto word = job.choice("fp8_recipe")) {
    out.fp8_recipe = *word == "delayed"     ? Fp8Recipe::kDelayed
                     : *word == "current"   ? Fp8Recipe::kCurrent
                     : *word == "blockwise" ? Fp8Recipe::kBlockwise
                                            : Fp8Recipe::kMx;
    if (out.precision != Precision::kFp8) {
      job.error("fp8_recipe", "given, but precision is not fp8", "precision: fp8, or remove it");
    }
  }
}

void decode_recompute(const NodeReader& job, TrainingJob& out) {
  const DocumentNode* node = job.child("recompute");
  if (node == nullptr) return;
  if (node->kind == DocumentNode::Kind::kMap) {
    const NodeReader fields = job.map("recompute");
    out.recompute = RecomputeMode::kFull;
    if (const auto layers = fields.integer("full_layers", 1, 10'000)) {
      out.recompute_full_layers = static_cast<int>(*layers);
    } else {
      fields.require("full_layers", "recompute: {full_layers: 4}, or recompute: full");
    }
    return;
  }
  if (const auto word = job.choice("recompute")) {
    out.recompute = *word == "none"        ? RecomputeMode::kNone
                    : *word == "selective" ? RecomputeMode::kSelective
                                           : RecomputeMode::kFull;
  }
}

void decode_optimizer(const NodeReader& job, const FrameworkPreset& preset, TrainingJob& out) {
  const NodeReader optimizer = job.map("optimizer");
  if (const auto kind = optimizer.choice("kind")) {
    out.optimizer = *kind == "sgd" ? OptimizerKind::kSgd : OptimizerKind::kAdam;
  }
  out.sharding = preset.sharding;
  if (const auto shard = optimizer.choice("shard")) out.sharding = parse_sharding(*shard).value_or(preset.sharding);
  const std::int64_t ranks = static_cast<std::int64_t>(out.parallel.data) * out.parallel.context;
  if (const auto group = optimizer.integer("shard_group", 1, 1 << 20)) {
    if (out.sharding == Sharding::kNone) {
      optimizer.error("shard_group", "given, but nothing is sharded", "shard: parameters");
    } else if (ranks % *group != 0) {
      optimizer.error("shard_group", fmt::format("{} does not divide the {} data-parallel ranks", *group, ranks));
    } else {
      out.shard_group = *group == ranks ? 0 : static_cast<int>(*group);
    }
  }
}

}  // namespace

void decode_job(const NodeReader& top, const Catalogs& catalogs, int gpus, TrainingJob& out,
                Problems& problems) {
  const NodeReader job = top.map("job");
  if (!job.present()) return;
  std::vector<std::string> frameworks;
  for (const auto& [name, preset] : catalogs.frameworks) frameworks.push_back(name);
  const std::string name = job.choice("framework", frameworks).value_or("none");
  const FrameworkPreset& preset = catalogs.frameworks.at(name);
  out.framework = preset.framework;
  out.options = preset.options;
  decode_model(job, catalogs, out.model);
  job.require("sequence_length", "tokens of a sequence: sequence_length: 4096");
  set_integer(job, "sequence_length", kMostTokens, out.sequence_length);
  if (out.model.positions == Positions::kLearned && out.model.learned_position_rows == 0) {
    out.model.learned_position_rows = out.sequence_length;
  }
  decode_parallel(job, preset, gpus, out);
  decode_schedule(job, out);
  job.require("batch", "batch: {global: 512, micro: 1}");
  const NodeReader batch = job.map("batch");
  if (batch.present()) batch.require("global", "sequences per step: global: 512");
  set_integer(batch, "global", 1 << 24, out.global_batch);
  set_integer(batch, "micro", 1 << 20, out.micro_batch);
  decode_precision(job, out);
  decode_optimizer(job, preset, out);
  decode_recompute(job, out);
  out.attention = preset.attention;
  if (const auto word = job.choice("attention")) out.attention = parse_attention(*word).value_or(preset.attention);
  decode_options(job, out.options);
  const bool blocks = out.framework == Framework::kMegatronLm || out.framework == Framework::kDeepSpeed;
  const DocumentNode* options = job.child("options");
  const bool chosen = options != nullptr && options->find("overlap_p2p") != nullptr;
  if (blocks && out.schedule == PipelineSchedule::kOneFOneB && !chosen) {
    out.options.overlap_p2p = false;  // their plain 1F1B has no other mode
  }
  (void)job.choice("placement");
  if (!has_errors(problems.diagnostics)) check_job(top, out, problems);
}

}  // namespace foretrain
