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

void decode_parallel(const NodeReader& job, const FrameworkPreset& preset, int gpus,
                     TrainingJob& out) {
  const NodeReader parallel = job.map("parallel");
  ParallelPlan& plan = out.parallel;
  // As many as the largest model has heads and layers; the product stays below 2^62.
  const auto degree = [&](const char* key, std::int64_t most, int& target) {
    if (const auto value = parallel.integer(key, 1, most)) target = static_cast<int>(*value);
  };
  degree("tensor", 1 << 12, plan.tensor);
  degree("pipeline", 1 << 14, plan.pipeline);
  degree("context", 1 << 15, plan.context);
  degree("expert", 1 << 15, plan.expert);
  degree("virtual_stages", 1 << 14, plan.virtual_stages);
  if (plan.expert > 1) {
    parallel.error("expert", "expert parallelism is not supported in this version", "supported: 1");
  }
  const std::int64_t model_ranks =
      static_cast<std::int64_t>(plan.tensor) * plan.pipeline * plan.context;
  if (const auto data = parallel.integer("data", 1, 1 << 20)) {
    plan.data = static_cast<int>(*data);
    const std::int64_t product = model_ranks * plan.data;
    if (gpus > 0 && product != gpus) {
      std::string hint =
          gpus % model_ranks == 0
              ? fmt::format("data: {}, or leave it out", gpus / model_ranks)
              : fmt::format("tensor × pipeline × context = {} does not divide {} GPUs", model_ranks,
                            gpus);
      parallel.error(
          "data",
          fmt::format(
              "tensor {} × pipeline {} × context {} × data {} = {}, but the cluster has {} GPUs",
              plan.tensor, plan.pipeline, plan.context, plan.data, product, gpus),
          hint);
    }
  } else if (parallel.child("data") == nullptr && gpus > 0) {
    if (gpus % model_ranks != 0) {
      job.error("parallel",
                fmt::format("tensor {} × pipeline {} × context {} = {} does not divide {} GPUs",
                            plan.tensor, plan.pipeline, plan.context, model_ranks, gpus),
                "change a degree or the number of nodes");
    } else {
      plan.data = static_cast<int>(gpus / model_ranks);
    }
  }
  plan.sequence_parallel = preset.sequence_parallel;
  if (const auto sequence = parallel.boolean("sequence_parallel")) {
    plan.sequence_parallel = *sequence;
    if (*sequence && plan.tensor == 1 && parallel.child("tensor") == nullptr) {
      parallel.warn("sequence_parallel", "has no effect without tensor parallelism");
    }
  }
}

void decode_schedule(const NodeReader& job, TrainingJob& out) {
  const int chunks = out.parallel.virtual_stages;
  out.schedule = chunks > 1 ? PipelineSchedule::kInterleaved : PipelineSchedule::kOneFOneB;
  const auto word = job.choice("schedule");
  if (!word) return;
  if (*word == "gpipe") out.schedule = PipelineSchedule::kGpipe;
  if (*word == "interleaved") out.schedule = PipelineSchedule::kInterleaved;
  if (*word == "gpipe" && chunks > 1)
    job.error("schedule", "gpipe has no virtual stages", "virtual_stages: 1");
  if (*word == "interleaved" && chunks < 2) {
    job.error("schedule", "interleaving needs at least two virtual stages",
              "parallel: {virtual_stages: 2}");
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
  boolean("fused_loss", o.fused_loss);
  boolean("compiled", o.compiled);
  boolean("optimizer_fused", o.optimizer_fused);
  const auto bytes = [&](const char* key, int& target) {
    if (const auto value = options.integer(key, 1, 4)) {
      if (*value == 3) options.error(key, "3 is not a size of a number", "1, 2 or 4");
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
  if (const auto shard = optimizer.choice("shard"))
    out.sharding = parse_sharding(*shard).value_or(preset.sharding);
  if (out.sharding == Sharding::kGradients && out.parallel.pipeline > 1 &&
      preset.framework != Framework::kTorchTitan && preset.framework != Framework::kFsdp2) {
    // Micro-batches of a pipeline add to whole gradients, which are reduced once.
    out.sharding = Sharding::kOptimizer;
    optimizer.warn("shard", "gradients stay whole until a pipeline's last micro-batch",
                   "computed as shard: optimizer");
  }
  const std::int64_t ranks = static_cast<std::int64_t>(out.parallel.data) * out.parallel.context;
  if (const auto group = optimizer.integer("shard_group", 1, 1 << 20)) {
    if (out.sharding == Sharding::kNone) {
      optimizer.error("shard_group", "given, but nothing is sharded", "shard: parameters");
    } else if (ranks % *group != 0) {
      optimizer.error("shard_group",
                      fmt::format("{} does not divide the {} data-parallel ranks", *group, ranks),
                      "a divisor of it");
    } else {
      out.shard_group = *group == ranks ? 0 : static_cast<int>(*group);
    }
  }
}

}  // namespace

void decode_job(const NodeReader& top, const Catalogs& catalogs, int gpus, TrainingJob& out) {
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
  if (const auto word = job.choice("attention"))
    out.attention = parse_attention(*word).value_or(preset.attention);
  decode_options(job, out.options);
  const bool blocks =
      out.framework == Framework::kMegatronLm || out.framework == Framework::kDeepSpeed;
  const DocumentNode* options = job.child("options");
  const bool chosen = options != nullptr && options->find("overlap_p2p") != nullptr;
  if (blocks && out.schedule == PipelineSchedule::kOneFOneB && !chosen) {
    out.options.overlap_p2p = false;  // their plain 1F1B has no other mode
  }
  (void)job.choice("placement");
}

}  // namespace foretrain
