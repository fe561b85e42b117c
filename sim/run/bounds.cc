#include "sim/run/bounds.h"

#include <fmt/format.h>

#include <algorithm>

namespace foretrain {
namespace {

/// Names of the operations of a kind that cost most: "mlp up 21 %, mlp down 19 %".
std::string largest_operations(const RunReport& report, TimeKind kind) {
  double total = 0;
  for (const NamedCost& cost : report.costs) {
    if (cost.kind == kind) total += cost.seconds;
  }
  std::string text;
  int shown = 0;
  for (const NamedCost& cost : report.costs) {
    if (cost.kind != kind || total <= 0 || shown == 3) continue;
    text +=
        fmt::format("{}{} {:.0f} %", shown == 0 ? "" : ", ", cost.name, cost.seconds / total * 100);
    ++shown;
  }
  return text;
}

Bound describe(const RunReport& report, TimeKind kind) {
  Bound bound;
  bound.seconds = report.breakdown[kind];
  bound.fraction = bound.seconds / report.step_time_s;
  const ParallelPlan& plan = report.job.parallel;
  const std::string operations = largest_operations(report, kind);
  switch (kind) {
    case TimeKind::kGemm:
      bound.what = "matrix products";
      bound.remedy = "mostly " + operations +
                     (report.job.precision == Precision::kFp8 ? "" : "; fp8 where the GPU has it");
      break;
    case TimeKind::kAttention:
      bound.what = "attention";
      bound.remedy = "a faster attention kernel, a window, or shorter sequences";
      break;
    case TimeKind::kOther:
      bound.what = "memory-bound kernels";
      bound.remedy = "mostly " + operations + "; fuse them, or spread them by sequence parallelism";
      break;
    case TimeKind::kTensor:
      bound.what = fmt::format("tensor-parallel communication over {} ranks", plan.tensor);
      bound.remedy = "a smaller tensor degree, or overlap with the matrix products (job.overlap)";
      break;
    case TimeKind::kContext:
      bound.what = "context-parallel communication";
      bound.remedy = "a smaller context degree";
      break;
    case TimeKind::kExpert: bound.what = "expert-parallel communication"; break;
    case TimeKind::kPipeline:
      bound.what = "pipeline messages on the critical path";
      bound.remedy = "overlap them (virtual_stages with overlapped sends)";
      break;
    case TimeKind::kData:
      bound.what = "data-parallel communication";
      bound.remedy = "overlap it, raise the micro-batch or the accumulation, or use faster links";
      break;
    case TimeKind::kBubble:
      bound.what = fmt::format("pipeline bubble: {} micro-batches over {} stages",
                               report.accumulation, plan.pipeline);
      bound.remedy = "more micro-batches per step, virtual stages, or fewer pipeline stages";
      break;
    case TimeKind::kOptimizer:
      bound.what = "optimizer step";
      bound.remedy = "shard it over the data-parallel ranks (optimizer.shard)";
      break;
    case TimeKind::kHost:
      bound.what = "the host: launching kernels, work between steps";
      bound.remedy = "larger micro-batches, compiled or fused kernels";
      break;
  }
  return bound;
}

}  // namespace

void fill_bounds(RunReport& report) {
  constexpr std::size_t kShown = 3;
  std::vector<Bound> bounds;
  for (std::size_t i = 0; i < kNumTimeKinds; ++i) {
    const auto kind = static_cast<TimeKind>(i);
    if (report.breakdown[kind] > 0) bounds.push_back(describe(report, kind));
  }
  std::stable_sort(bounds.begin(), bounds.end(),
                   [](const Bound& a, const Bound& b) { return a.seconds > b.seconds; });
  if (bounds.size() > kShown) bounds.resize(kShown);
  for (const Bound& bound : bounds) {
    report.findings.push_back(
        {"bound-by-" + std::to_string(report.findings.size() + 1),
         "note",
         fmt::format("{}: {:.1f} % of the step", bound.what, bound.fraction * 100),
         {},
         bound.remedy,
         std::nullopt,
         {}});
  }
  report.bounds = std::move(bounds);
}

void fill_findings(const Scenario& scenario, RunReport& report) {
  if (!report.manifest.fold_exact) {
    report.findings.push_back(
        {"folded-by-slowest-path", "note",
         "ranks of a stage were folded although their paths differ: the slowest stands for all",
         "hashed routes or uneven distances; --no-fold runs every rank", "routing", std::nullopt,
         "compare with --no-fold on a smaller cluster"});
  }
  for (const Diagnostic& note : scenario.notes) {
    report.findings.push_back({"scenario-note",
                               note.severity == Severity::kWarning ? "warning" : "note",
                               note.path.empty() ? note.message : note.path + ": " + note.message,
                               note.hint,
                               {},
                               std::nullopt,
                               {}});
  }
}

}  // namespace foretrain
