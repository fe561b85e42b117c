#include "sim/workload/job_rules.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "sim/workload/shapes.h"

namespace foretrain {
namespace {

class Rules {
 public:
  explicit Rules(const TrainingJob& job) : job_(job), plan_(job.parallel), model_(job.model) {}

  Diagnostics check() {
    if (!degrees()) return std::move(found_);
    tensor();
    sequence();
    pipeline();
    batch();
    sharding();
    return std::move(found_);
  }

 private:
  void report(std::string path, std::string message, std::string hint = {}) {
    found_.push_back(
        {Severity::kError, SourceLocation{}, std::move(path), std::move(message), std::move(hint)});
  }

  bool degrees() {
    const std::pair<const char*, int> all[] = {
        {"tensor", plan_.tensor},   {"pipeline", plan_.pipeline},
        {"context", plan_.context}, {"expert", plan_.expert},
        {"data", plan_.data},       {"virtual_stages", plan_.virtual_stages}};
    for (const auto& [name, degree] : all) {
      if (degree < 1) report(fmt::format("job.parallel.{}", name), "must be at least 1");
    }
    if (job_.micro_batch < 1) report("job.batch.micro", "must be at least 1");
    return found_.empty();
  }

  void tensor() {
    const int t = plan_.tensor;
    const std::pair<const char*, std::int64_t> cut[] = {
        {"heads", model_.heads}, {"hidden", model_.hidden}, {"ffn_hidden", model_.ffn_hidden}};
    for (const auto& [name, size] : cut) {
      if (size % t != 0) {
        report("job.parallel.tensor",
               fmt::format("{} does not divide the model's {} of {}", t, name, size));
      }
    }
    if (job_.options.vocab_multiple == 1 && model_.vocab % t != 0) {
      report("job.parallel.tensor",
             fmt::format("{} does not divide the vocabulary of {}, which is not padded", t,
                         model_.vocab),
             "options: {vocab_multiple: 128}");
    }
    if (model_.kv_heads > 0 && model_.kv_heads % t != 0 && t % model_.kv_heads != 0) {
      report("job.parallel.tensor",
             fmt::format("{} and the model's kv_heads of {} do not divide each other", t,
                         model_.kv_heads));
    }
  }

  void sequence() {
    const std::int64_t s = job_.sequence_length;
    // A balanced context ring gives each rank two of 2c pieces.
    if (plan_.context > 1 && s % (2 * plan_.context) != 0) {
      report("job.parallel.context",
             fmt::format("sequence_length {} does not divide by twice the degree {}", s,
                         plan_.context));
    }
    const std::int64_t cuts = static_cast<std::int64_t>(plan_.tensor) * plan_.context;
    if (is_sequence_parallel(job_) && s % cuts != 0) {
      report("job.parallel.sequence_parallel",
             fmt::format("sequence_length {} does not divide by tensor x context = {}", s, cuts));
    }
  }

  void pipeline() {
    const std::int64_t chunks = static_cast<std::int64_t>(plan_.pipeline) * plan_.virtual_stages;
    if (chunks > model_.layers + 2 || plan_.pipeline > model_.layers) {
      report("job.parallel.pipeline",
             fmt::format("{} chunks are too many for {} layers", chunks, model_.layers));
    }
    if (plan_.virtual_stages > 1 &&
        (job_.schedule != PipelineSchedule::kInterleaved || plan_.pipeline < 2)) {
      report("job.parallel.virtual_stages", "needs a pipeline with schedule: interleaved",
             "set job.schedule: interleaved, or virtual_stages: 1");
    }
  }

  void batch() {
    const std::int64_t together = job_.micro_batch * plan_.data;
    if (job_.global_batch < together || job_.global_batch % together != 0) {
      report("job.batch.global",
             fmt::format("{} is no multiple of micro x data = {}", job_.global_batch, together));
      return;
    }
    const std::int64_t m = job_.accumulation();
    if (plan_.virtual_stages > 1 && m % plan_.pipeline != 0) {
      report(
          "job.batch.global",
          fmt::format("interleaving needs micro-batches in multiples of the pipeline's {}, not {}",
                      plan_.pipeline, m));
    }
  }

  void sharding() {
    const std::int64_t ranks = static_cast<std::int64_t>(plan_.data) * plan_.context;
    if (job_.shard_group > 0 && ranks % job_.shard_group != 0) {
      report("job.optimizer.shard_group",
             fmt::format("{} does not divide data x context = {}", job_.shard_group, ranks));
    }
    const bool more =
        job_.sharding == Sharding::kGradients || job_.sharding == Sharding::kParameters;
    if (more && plan_.pipeline > 1 && job_.framework != Framework::kTorchTitan) {
      report("job.optimizer.shard", "gradients and parameters cannot be sharded with a pipeline",
             "use shard: optimizer, or framework: torchtitan");
    }
  }

  const TrainingJob& job_;
  const ParallelPlan& plan_;
  const ModelSpec& model_;
  Diagnostics found_;
};

}  // namespace

Diagnostics check_job_layout(const TrainingJob& job) { return Rules{job}.check(); }

Diagnostics check_model_support(const ModelSpec& model) {
  Diagnostics found;
  const auto report = [&](const char* path, const char* message) {
    found.push_back({Severity::kError, SourceLocation{}, path, message,
                     "only parameters, FLOPs and memory of such a model are known"});
  };
  if (model.moe) report("job.model.moe", "mixture-of-experts layers are not simulated yet");
  if (model.mla) report("job.model.mla", "latent attention is not simulated yet");
  if (model.mtp_layers > 0)
    report("job.model.mtp_layers", "multi-token prediction is not simulated yet");
  return found;
}

}  // namespace foretrain
