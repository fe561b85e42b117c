#include "sim/run/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/unit_parser.h"
#include "sim/execution/interference.h"
#include "sim/execution/planner.h"
#include "sim/memory/memory_model.h"
#include "sim/network/network_model.h"
#include "sim/run/bounds.h"
#include "sim/run/hash_draws.h"
#include "sim/run/machine_build.h"
#include "sim/workload/step_program.h"

#ifndef FORETRAIN_VERSION
#define FORETRAIN_VERSION "unknown"
#endif

namespace foretrain {
namespace {

/// Standard normal quantile of 95 %: intervals run from the 5th to the 95th percentile.
constexpr double kQuantile95 = 1.6448536269514722;

const char* tier_name(const Link& link) {
  switch (link.tier) {
    case LinkTier::kNvlink: return "nvlink";
    case LinkTier::kPcie: return "pcie";
    case LinkTier::kHostLink: return "host-leaf";
    case LinkTier::kInterSwitch: return link.tier_index <= 1 ? "leaf-spine" : "spine-core";
  }
  return "";
}

void fill_links(const Topology& topology, const ExecutionPlan& plan, const Execution& execution,
                double step_s, RunReport& report) {
  constexpr std::size_t kMostLinks = 32;
  struct Used {
    LinkId link;
    double bytes, utilization;
  };
  std::vector<Used> used;
  for (std::size_t c = 0; c < plan.link_class.size(); ++c) {
    for (const LinkId link : plan.link_class[c]) {
      const double bandwidth = topology.link(link).bandwidth.bytes_per_second();
      const double bytes = execution.link_bytes[c];
      if (bytes > 0) used.push_back({link, bytes, bytes / (bandwidth * step_s)});
    }
  }
  std::stable_sort(used.begin(), used.end(), [](const Used& a, const Used& b) {
    return a.utilization > b.utilization || (a.utilization == b.utilization && a.link < b.link);
  });
  // One line per tier's busiest kind would hide hot spots; the busiest few of all are shown.
  if (used.size() > kMostLinks) used.resize(kMostLinks);
  for (const Used& use : used) {
    const Link& link = topology.link(use.link);
    report.links.push_back(
        {topology.device(link.from).name + " -> " + topology.device(link.to).name, tier_name(link),
         link.bandwidth.bytes_per_second(), use.bytes, use.utilization});
  }
}

void fill_throughput(const Scenario& scenario, RunReport& report) {
  const TrainingJob& job = *scenario.job;
  const GpuSpec& gpu = scenario.cluster.node.gpu;
  Throughput& t = report.throughput;
  const double gpus = job.parallel.world_size();
  t.tokens_per_s = job.tokens_per_step() / report.step_time_s;
  t.tokens_per_s_per_gpu = t.tokens_per_s / gpus;
  const FlopsPerToken flops = flops_per_token(job);
  t.model_flops_per_s_per_gpu = flops.exact_causal.value() * t.tokens_per_s_per_gpu;
  const auto use_peak = [&](FlopRate peak, const char* name) {
    if (t.peak_flops_per_s > 0 || peak.value() <= 0) return;
    t.peak_flops_per_s = peak.value();
    t.peak_name = name;
  };
  switch (job.precision) {
    case Precision::kFp8: use_peak(gpu.peak_fp8, "fp8 dense"); break;
    case Precision::kFp32:
      use_peak(gpu.peak_tf32, "tf32 dense");
      use_peak(gpu.peak_fp32, "fp32");
      break;
    case Precision::kBf16: use_peak(gpu.peak_bf16, "bf16 dense"); break;
    case Precision::kFp16: break;
  }
  use_peak(gpu.peak_fp16, "fp16 dense");
  if (t.peak_flops_per_s <= 0) return;
  t.mfu = t.model_flops_per_s_per_gpu / t.peak_flops_per_s;
  t.mfu_full_attention = flops.full_attention.value() * t.tokens_per_s_per_gpu / t.peak_flops_per_s;
  t.hfu = flops.hardware.value() * t.tokens_per_s_per_gpu / t.peak_flops_per_s;
}

/// Errors of one kind of operator are common to all its uses, so they add linearly within a kind;
/// kinds, collectives and what the model leaves out are independent of each other.
double step_relative_sigma(const ProgramCost& total, const TimeBreakdown& breakdown, double step_s,
                           const Interference& interference) {
  const double scale = total.seconds.total() > 0 ? 1 / step_s : 0;
  const double communication = breakdown[TimeKind::kTensor] + breakdown[TimeKind::kContext] +
                               breakdown[TimeKind::kPipeline] + breakdown[TimeKind::kData] +
                               breakdown[TimeKind::kExpert];
  const double parts[] = {total.gemm_sigma_seconds * scale, total.attention_sigma_seconds * scale,
                          total.other_sigma_seconds * scale,
                          interference.collective_relative_sigma * communication / step_s,
                          interference.model_relative_sigma};
  double variance = 0;
  for (const double part : parts) variance += part * part;
  return std::sqrt(variance);
}

std::size_t busiest_actor(const ExecutionPlan& plan, const Execution& execution) {
  const auto busy = [&](std::size_t a) {
    const TimeBreakdown& b = execution.actors[a].breakdown;
    return b.total() - b[TimeKind::kBubble] - b[TimeKind::kPipeline];
  };
  std::size_t best = 0;
  for (std::size_t a = 1; a < plan.actors.size(); ++a) {
    if (busy(a) > busy(best) * (1 + 1e-9)) best = a;
  }
  return best;
}

void fill_stages(const ExecutionPlan& plan, const Execution& execution, RunReport& report) {
  for (std::size_t a = 0; a < plan.actors.size(); ++a) {
    const int rank = plan.actors[a].pipeline_rank;
    if (!report.stages.empty() && report.stages.back().pipeline_rank == rank) continue;
    const TimeBreakdown& b = execution.actors[a].breakdown;
    StageSummary stage;
    stage.pipeline_rank = rank;
    stage.compute_s = b[TimeKind::kAttention] + b[TimeKind::kGemm] + b[TimeKind::kOther];
    stage.bubble_s = b[TimeKind::kBubble] + to_seconds(execution.end - execution.actors[a].end);
    report.stages.push_back(stage);
  }
}

class Simulation {
 public:
  Simulation(const Scenario& scenario, const RunOptions& options)
      : scenario_(scenario), options_(options), job_(*scenario.job) {}

  Result<RunReport> run() {
    describe();
    const std::string catalog = options_.data_dir + "/catalog";
    Result<MemoryAssumptions> assumptions = load_memory_assumptions(catalog);
    if (!assumptions) return tl::make_unexpected(assumptions.error());
    Result<Interference> interference = load_interference(catalog);
    if (!interference) return tl::make_unexpected(interference.error());
    Result<std::unique_ptr<ComputeModel>> compute =
        build_compute_model(scenario_, options_.data_dir);
    if (!compute) return tl::make_unexpected(compute.error());
    report_.manifest.profile = (*compute)->provenance();
    fill_memory(*assumptions);
    Result<Machine> machine = build_machine(scenario_, options_.data_dir);
    if (!machine) return tl::make_unexpected(machine.error());
    // A step that does not fit is simulated all the same: what it would take is worth knowing.
    step(*machine, **compute, *interference);
    if (!problems_.empty()) return tl::make_unexpected(problems_);
    if (report_.outcome != Outcome::kDeadlocked) fill_bounds(report_);
    fill_findings(scenario_, report_);
    check_expectations(scenario_, report_);
    return std::move(report_);
  }

 private:
  void describe() {
    report_.scenario = scenario_.name;
    report_.description = scenario_.description;
    report_.explanation = scenario_.explanation;
    report_.job = job_;
    report_.gpu_name = scenario_.cluster.node.gpu.name;
    report_.num_gpus = scenario_.cluster.num_gpus();
    report_.num_nodes = scenario_.cluster.nodes;
    report_.accumulation = job_.accumulation();
    report_.parameters = count_parameters(job_.model).total;
    RunManifest& manifest = report_.manifest;
    manifest.version = FORETRAIN_VERSION;
    manifest.scenario_file = scenario_.file;
    manifest.scenario_fingerprint = scenario_.fingerprint;
    manifest.fidelity = to_string(scenario_.fidelity);
    manifest.seed = scenario_.seed;
  }

  void fill_memory(const MemoryAssumptions& assumptions) {
    const GpuSpec& gpu = scenario_.cluster.node.gpu;
    report_.memory = memory_footprint(job_, gpu, assumptions);
    if (report_.memory.fits()) return;
    report_.outcome = Outcome::kOutOfMemory;
    for (const MemoryRemedy& remedy :
         what_would_fit(job_, gpu, scenario_.cluster.node.gpus, assumptions)) {
      report_.remedies.push_back({remedy.change, remedy.peak});
    }
  }

  void step(Machine& machine, const ComputeModel& compute, const Interference& interference) {
    const StepRunner runner{scenario_, machine, compute, interference, options_};
    StepOfDraws step = run_draws(runner);
    if (!step.reported.planned.problems.empty()) {
      problems_ = std::move(step.reported.planned.problems);
      return;
    }
    const ExecutionPlan& plan = step.reported.planned.plan;
    const Execution& execution = step.reported.execution;
    RunManifest& manifest = report_.manifest;
    manifest.folded = plan.folded;
    manifest.fold_exact = plan.fold_exact;
    manifest.actors = static_cast<std::int64_t>(plan.actors.size());
    manifest.events = execution.events;
    manifest.fingerprint = execution.fingerprint;
    if (execution.deadlocked) {
      report_.outcome = Outcome::kDeadlocked;
      return;
    }
    fill_step(step.reported.planned, execution, interference);
    widen_by_draws(step);
    fill_links(*machine.topology, plan, execution, report_.step_time_s, report_);
  }

  /// Which flows share a link is chance on a hashed fabric: the interval runs from the luckiest
  /// draw to the unluckiest, each with the model's own error.
  void widen_by_draws(const StepOfDraws& step) {
    if (step.hashed && step.seconds.size() < 2) {
      report_.findings.push_back(
          {"one-hash-draw", "note",
           "routes are one draw of the switches' hash; the interval does not hold other draws",
           "the step is too large to run it for several draws", "routing: ecmp", std::nullopt,
           "run again with --set seed=2, 3, …"});
      return;
    }
    if (step.seconds.size() < 2) return;
    const double low = step.seconds.front(), high = step.seconds.back();
    if (high <= low * (1 + 1e-9)) return;
    const std::size_t tail = step.seconds.size() / 20;  // to the 5th and 95th percentile
    report_.step_interval.low *= step.seconds[tail] / report_.step_time_s;
    report_.step_interval.high *=
        step.seconds[step.seconds.size() - 1 - tail] / report_.step_time_s;
    report_.findings.push_back(
        {"hash-collisions", high > 1.1 * low ? "warning" : "note",
         fmt::format("which flows collide is chance: {} draws of the switches' hash take {} to {}",
                     step.seconds.size(), format_seconds(low), format_seconds(high)),
         fmt::format("reported is the median draw, {}", format_seconds(report_.step_time_s)),
         "routing: ecmp", "cluster.fabric.routing: spray",
         "foretrain run … --set cluster.fabric.routing=spray"});
  }

  void fill_step(const PlannedStep& planned, const Execution& execution,
                 const Interference& interference) {
    const std::size_t actor = busiest_actor(planned.plan, execution);
    report_.step_time_s = to_seconds(execution.end);
    report_.breakdown = execution.actors[actor].breakdown;
    report_.breakdown[TimeKind::kBubble] += to_seconds(execution.end - execution.actors[actor].end);
    report_.reported_pipeline_rank = planned.plan.actors[actor].pipeline_rank;
    const auto rank = static_cast<std::size_t>(report_.reported_pipeline_rank);
    report_.costs = planned.step.named_costs[rank];
    std::stable_sort(report_.costs.begin(), report_.costs.end(),
                     [](const NamedCost& a, const NamedCost& b) { return a.seconds > b.seconds; });
    fill_stages(planned.plan, execution, report_);
    const double sigma = step_relative_sigma(planned.step.totals[rank], report_.breakdown,
                                             report_.step_time_s, interference);
    report_.step_interval = {report_.step_time_s * std::exp(-kQuantile95 * sigma),
                             report_.step_time_s * std::exp(kQuantile95 * sigma)};
    if (planned.step.totals[rank].extrapolated) {
      report_.findings.push_back(
          {"extrapolated-kernels", "warning",
           "some kernels lie outside what the profile has measured; the interval is wider",
           "profile: " + report_.manifest.profile, "shape or GPU not in the profile", std::nullopt,
           "foretrain kernel --profile … for the shape in question"});
    }
    fill_throughput(scenario_, report_);
    for (const GroupSummary& group : planned.groups) {
      report_.groups.push_back({group.name, group.size, group.groups, group.crosses});
    }
    for (const auto& use : planned.collectives) {
      report_.collectives.push_back({use.purpose, use.size.as_double(), use.ranks,
                                     std::string{to_string(use.choice.algorithm)},
                                     std::string{to_string(use.choice.protocol)},
                                     use.choice.channels, use.seconds_alone});
      if (use.choice.available) continue;
      report_.findings.push_back(
          {"nccl-refuses-call", "problem",
           fmt::format("NCCL 2.{} refuses this call: NCCL_ALGO or NCCL_PROTO leave it no algorithm",
                       scenario_.nccl.version_minor),
           "timed as a ring: " + std::string{use.purpose}, "nccl", std::nullopt,
           "foretrain collective … for the call in question"});
    }
  }

  const Scenario& scenario_;
  const RunOptions& options_;
  const TrainingJob& job_;
  RunReport report_;
  Diagnostics problems_;  // why the step cannot be simulated
};

}  // namespace

Result<RunReport> simulate(const Scenario& scenario, const RunOptions& options) {
  if (!scenario.job) {
    return fail({scenario.file, 0, 0}, "job", "this scenario has no job to run",
                "add `job:`, or use `foretrain topo` or `foretrain collective`, which need none");
  }
  return Simulation{scenario, options}.run();
}

}  // namespace foretrain
