// Whether a decoded job holds together, and what to write where it does not.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/compute/gemm_tiles.h"
#include "sim/scenario/decode.h"
#include "sim/workload/job_rules.h"

namespace foretrain {
namespace {

/// The legal values on both sides of one that is no multiple of `unit`.
std::string nearest_multiples(std::int64_t value, std::int64_t unit) {
  const std::int64_t below = value / unit * unit;
  if (below <= 0) return fmt::format("at least {}", unit);
  return fmt::format("{} or {}", below, below + unit);
}

std::string divisors_of(std::int64_t number, std::int64_t most) {
  std::vector<std::string> found;
  for (std::int64_t d = 1; d <= std::min(number, most) && found.size() < 12; ++d) {
    if (number % d == 0) found.push_back(std::to_string(d));
  }
  return listed(found);
}

/// Tensor degrees that the model and the GPUs allow.
std::string legal_tensor_degrees(const TrainingJob& job) {
  const ModelSpec& model = job.model;
  const std::int64_t ranks = job.parallel.world_size();
  std::vector<std::string> found;
  for (std::int64_t t = 1; t <= std::min<std::int64_t>(model.heads, 64); ++t) {
    const bool cuts = model.heads % t == 0 && model.hidden % t == 0 && model.ffn_hidden % t == 0;
    const std::int64_t kv = std::max<std::int64_t>(1, model.kv_heads);
    if (cuts && (kv % t == 0 || t % kv == 0) && ranks % t == 0) found.push_back(std::to_string(t));
  }
  return listed(found);
}

std::string batch_hint(const TrainingJob& job) {
  std::int64_t unit = job.micro_batch * job.parallel.data;
  if (job.schedule == PipelineSchedule::kInterleaved) unit *= job.parallel.pipeline;
  return "nearest: " + nearest_multiples(job.global_batch, unit);
}

void check_precision(const NodeReader& job, const GpuSpec& gpu, const TrainingJob& decoded) {
  if (decoded.precision == Precision::kBf16 && !has_units_for(gpu, DataType::kBf16)) {
    job.error("precision", fmt::format("{} has no bf16 tensor cores", gpu.name), "precision: fp16");
  }
  if (decoded.precision == Precision::kFp8 && !has_units_for(gpu, DataType::kFp8)) {
    job.error("precision", fmt::format("{} has no fp8 tensor cores", gpu.name),
              "precision: bf16; fp8 begins with l40s and h100");
  }
  if (decoded.precision == Precision::kFp8 && decoded.fp8_recipe == Fp8Recipe::kMx &&
      gpu.compute_capability < 100) {
    job.error("fp8_recipe", fmt::format("{} has no MX formats; they begin with b200", gpu.name),
              "fp8_recipe: delayed, current or blockwise");
  }
  if (decoded.attention == AttentionKernel::kFlash3 && !runs_flash3(gpu)) {
    job.error("attention", fmt::format("FlashAttention-3 is written for Hopper, not {}", gpu.name),
              "attention: flash2 or cudnn");
  }
}

/// Beyond this, byte counts of activations could pass 2^63; real micro-batches stay far below.
constexpr std::int64_t kMostTokensPerMicroBatch = std::int64_t{1} << 28;

void check_shape(const NodeReader& job, const TrainingJob& decoded) {
  const ModelSpec& model = decoded.model;
  if (decoded.micro_batch > kMostTokensPerMicroBatch / decoded.sequence_length) {
    job.map("batch").error(
        "micro",
        fmt::format("{} sequences of {} tokens are too many", decoded.micro_batch,
                    decoded.sequence_length),
        fmt::format("at most {} tokens a micro-batch", kMostTokensPerMicroBatch));
  }
  const std::int64_t chunks =
      std::int64_t{decoded.parallel.pipeline} * decoded.parallel.virtual_stages;
  const std::int64_t most = (model.layers + chunks - 1) / chunks;
  if (decoded.recompute_full_layers > most) {
    job.map("recompute")
        .error("full_layers",
               fmt::format("{} layers, but a {} has {}", decoded.recompute_full_layers,
                           decoded.parallel.virtual_stages > 1 ? "virtual stage" : "stage", most),
               "recompute: full");
  }
  if (model.positions == Positions::kLearned &&
      model.learned_position_rows < decoded.sequence_length) {
    job.warn("sequence_length",
             fmt::format("{} tokens, but the model's position table has {} rows",
                         decoded.sequence_length, model.learned_position_rows),
             fmt::format("model: {{name: {}, learned_position_rows: {}}}", model.name,
                         decoded.sequence_length));
  }
}

}  // namespace

std::string job_hint(const Diagnostic& problem, const TrainingJob& job) {
  const ParallelPlan& plan = job.parallel;
  const auto is = [&](const char* path) { return problem.path == path; };
  if (is("job.parallel.tensor") && problem.hint.empty())
    return "possible here: " + legal_tensor_degrees(job);
  if (is("job.parallel.context")) {
    return "nearest sequence_length: " +
           nearest_multiples(job.sequence_length, std::int64_t{2} * plan.context);
  }
  if (is("job.parallel.sequence_parallel")) {
    const std::int64_t unit = std::lcm(std::int64_t{plan.tensor} * plan.context,
                                       plan.context > 1 ? std::int64_t{2} * plan.context : 1);
    return "nearest sequence_length: " + nearest_multiples(job.sequence_length, unit) +
           "; or sequence_parallel: false";
  }
  if (is("job.parallel.pipeline")) {
    return fmt::format("pipeline x virtual_stages of at most {}", job.model.layers);
  }
  if (is("job.parallel.virtual_stages") && plan.pipeline < 2) {
    return "pipeline: 2 or more, or virtual_stages: 1";
  }
  if (is("job.batch.global")) return batch_hint(job);
  if (is("job.optimizer.shard_group")) {
    return "possible: " + divisors_of(std::int64_t{plan.data} * plan.context, 1 << 20);
  }
  return {};
}

void check_job(const NodeReader& top, const GpuSpec& gpu, const TrainingJob& job,
               Problems& problems) {
  Diagnostics found = check_model_support(job.model);
  for (Diagnostic& problem : check_job_layout(job)) found.push_back(std::move(problem));
  for (Diagnostic& problem : found) {
    problem.location = top.locate(problem.path);
    if (std::string hint = job_hint(problem, job); !hint.empty()) problem.hint = std::move(hint);
    problems.diagnostics.push_back(std::move(problem));
  }
  const NodeReader reader = top.map("job");
  check_precision(reader, gpu, job);
  check_shape(reader, job);
}

}  // namespace foretrain
