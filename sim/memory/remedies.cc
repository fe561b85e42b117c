// What would make a job fit: single changes, then pairs, each checked by the memory model itself.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "sim/memory/memory_model.h"
#include "sim/workload/job_rules.h"

namespace foretrain {
namespace {

/// A change of one aspect of a job; two changes of one aspect are never combined.
struct Change {
  enum class Aspect { kRecompute, kMicroBatch, kSharding, kSequence, kLayout };
  Aspect aspect = Aspect::kRecompute;
  std::string text;
  RecomputeMode recompute = RecomputeMode::kNone;
  std::int64_t micro_batch = 0;
  Sharding sharding = Sharding::kNone;
  ParallelPlan plan;
};

std::vector<Sharding> stages_of(Framework framework) {
  switch (framework) {
    case Framework::kDdp: return {};
    case Framework::kMegatronLm: return {Sharding::kOptimizer};
    case Framework::kFsdp2:
    case Framework::kTorchTitan: return {Sharding::kGradients, Sharding::kParameters};
    case Framework::kNone:
    case Framework::kDeepSpeed: break;
  }
  return {Sharding::kOptimizer, Sharding::kGradients, Sharding::kParameters};
}

const char* name_of(Sharding sharding) {
  switch (sharding) {
    case Sharding::kNone: return "none";
    case Sharding::kOptimizer: return "optimizer";
    case Sharding::kGradients: return "gradients";
    case Sharding::kParameters: return "parameters";
  }
  return "none";
}

void add_recompute(const TrainingJob& job, std::vector<Change>& changes) {
  const auto add = [&](RecomputeMode mode, const char* text) {
    Change change;
    change.aspect = Change::Aspect::kRecompute;
    change.recompute = mode;
    change.text = text;
    changes.push_back(change);
  };
  if (job.recompute == RecomputeMode::kNone) {
    add(RecomputeMode::kSelective, "job.recompute: selective");
  }
  if (job.recompute != RecomputeMode::kFull || job.recompute_full_layers > 0) {
    add(RecomputeMode::kFull, "job.recompute: full");
  }
}

void add_micro_batches(const TrainingJob& job, std::vector<Change>& changes) {
  for (std::int64_t micro = job.micro_batch / 2; micro >= 1; micro /= 2) {
    if (job.micro_batch % micro != 0) continue;
    Change change;
    change.aspect = Change::Aspect::kMicroBatch;
    change.micro_batch = micro;
    change.text = "job.batch.micro: " + std::to_string(micro);
    changes.push_back(change);
  }
}

void add_sharding(const TrainingJob& job, std::vector<Change>& changes) {
  if (job.parallel.data * job.parallel.context <= 1) return;
  for (const Sharding stage : stages_of(job.framework)) {
    if (stage <= job.sharding) continue;
    Change change;
    change.aspect = Change::Aspect::kSharding;
    change.sharding = stage;
    change.text = std::string{"job.optimizer.shard: "} + name_of(stage);
    changes.push_back(change);
  }
}

/// More ranks for one degree, taken from data parallelism, so that the number of GPUs stays.
void add_layouts(const TrainingJob& job, int gpus_per_node, std::vector<Change>& changes) {
  const auto add = [&](const char* axis, int ParallelPlan::*degree, int most) {
    for (int factor = 2; factor <= job.parallel.data; factor *= 2) {
      Change change;
      change.aspect = Change::Aspect::kLayout;
      change.plan = job.parallel;
      change.plan.*degree *= factor;
      if (job.parallel.data % factor != 0 || change.plan.*degree > most) break;
      change.plan.data /= factor;
      change.text = std::string{"job.parallel."} + axis + ": " +
                    std::to_string(change.plan.*degree) +
                    ", job.parallel.data: " + std::to_string(change.plan.data);
      changes.push_back(change);
    }
  };
  add("tensor", &ParallelPlan::tensor, gpus_per_node);
  add("pipeline", &ParallelPlan::pipeline, static_cast<int>(job.model.layers));
  add("context", &ParallelPlan::context, job.parallel.world_size());
}

std::vector<Change> single_changes(const TrainingJob& job, int gpus_per_node) {
  std::vector<Change> changes;
  add_recompute(job, changes);
  add_micro_batches(job, changes);
  add_sharding(job, changes);
  if (job.parallel.tensor > 1 && !job.parallel.sequence_parallel) {
    Change change;
    change.aspect = Change::Aspect::kSequence;
    change.text = "job.parallel.sequence_parallel: true";
    changes.push_back(change);
  }
  add_layouts(job, gpus_per_node, changes);
  return changes;
}

TrainingJob with(TrainingJob job, const Change& change) {
  switch (change.aspect) {
    case Change::Aspect::kRecompute:
      job.recompute = change.recompute;
      job.recompute_full_layers = 0;
      break;
    case Change::Aspect::kMicroBatch: job.micro_batch = change.micro_batch; break;
    case Change::Aspect::kSharding: job.sharding = change.sharding; break;
    case Change::Aspect::kSequence: job.parallel.sequence_parallel = true; break;
    case Change::Aspect::kLayout: {
      // A change of sequence parallelism made before stays.
      const bool sequence = job.parallel.sequence_parallel;
      job.parallel = change.plan;
      job.parallel.sequence_parallel = sequence;
      break;
    }
  }
  return job;
}

std::optional<MemoryRemedy> remedy(const TrainingJob& job, std::string text, const GpuSpec& gpu,
                                   const MemoryAssumptions& assumptions) {
  if (!check_job_layout(job).empty()) return std::nullopt;
  const MemoryFootprint footprint = memory_footprint(job, gpu, assumptions);
  if (footprint.peak > footprint.limit) return std::nullopt;  // tight is no advice
  return MemoryRemedy{std::move(text), job, footprint.peak};
}

}  // namespace

std::vector<MemoryRemedy> what_would_fit(const TrainingJob& job, const GpuSpec& gpu,
                                         int gpus_per_node, const MemoryAssumptions& assumptions,
                                         int limit) {
  std::vector<MemoryRemedy> remedies;
  const auto most = static_cast<std::size_t>(std::max(limit, 0));
  std::vector<Change> insufficient;  // a pair of which one change suffices would be a longer answer
  for (const Change& change : single_changes(job, gpus_per_node)) {
    auto found = remedy(with(job, change), change.text, gpu, assumptions);
    if (!found) {
      insufficient.push_back(change);
    } else if (remedies.size() < most) {
      remedies.push_back(std::move(*found));
    }
  }
  for (std::size_t i = 0; i < insufficient.size(); ++i) {
    for (std::size_t j = i + 1; j < insufficient.size() && remedies.size() < most; ++j) {
      if (insufficient[i].aspect == insufficient[j].aspect) continue;
      const TrainingJob changed = with(with(job, insufficient[i]), insufficient[j]);
      auto found =
          remedy(changed, insufficient[i].text + ", " + insufficient[j].text, gpu, assumptions);
      if (found) remedies.push_back(std::move(*found));
    }
  }
  return remedies;
}

}  // namespace foretrain
