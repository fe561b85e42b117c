#include "sim/results/text_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/unit_parser.h"
#include "sim/workload/shapes.h"

namespace foretrain {

std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  const std::size_t sign = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > sign + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

namespace {

constexpr std::size_t kBarCells = 30;

class TextReport {
 public:
  TextReport(const RunReport& report, const TextOptions& options) : r_(report), o_(options) {}

  std::string text() {
    header();
    if (r_.outcome != Outcome::kCompleted) failure();
    if (r_.outcome != Outcome::kDeadlocked) {
      headline();
      breakdown();
      bounds();
    }
    memory();
    network();
    findings();
    expectations();
    return std::move(out_);
  }

 private:
  std::string paint(const char* code, const std::string& text) const {
    return o_.color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }
  std::string bold(const std::string& text) const { return paint("1", text); }
  std::string dim(const std::string& text) const { return paint("2", text); }
  void title(const std::string& text) { out_ += "\n" + bold(text) + "\n"; }

  static std::string bar(double fraction) {
    const double clamped = std::clamp(fraction, 0.0, 1.0);
    const auto eighths =
        static_cast<std::size_t>(std::lround(clamped * static_cast<double>(kBarCells) * 8));
    static const char* const kPart[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    std::string cells;
    for (std::size_t i = 0; i < eighths / 8; ++i) cells += "█";
    cells += kPart[eighths % 8];
    const std::size_t used = eighths / 8 + (eighths % 8 != 0 ? 1 : 0);
    return cells + std::string(kBarCells - std::min(used, kBarCells), ' ');
  }

  void header() {
    out_ += bold(r_.scenario);
    if (!r_.description.empty()) out_ += dim("  " + r_.description);
    out_ += "\n";
    const ParallelPlan& plan = r_.job.parallel;
    std::string degrees = fmt::format("tensor {}", plan.tensor);
    if (is_sequence_parallel(r_.job)) degrees += " +sequence";
    if (plan.context > 1) degrees += fmt::format(" × context {}", plan.context);
    degrees += fmt::format(" × pipeline {}", plan.pipeline);
    if (plan.virtual_stages > 1) degrees += fmt::format(" (virtual {})", plan.virtual_stages);
    degrees += fmt::format(" × data {}", plan.data);
    out_ += fmt::format("  {} · {} parameters\n", r_.job.model.name,
                        count_text(static_cast<double>(r_.parameters)));
    out_ += fmt::format("  {} × {} in {} node{} · {}\n", grouped(r_.num_gpus), r_.gpu_name,
                        grouped(r_.num_nodes), r_.num_nodes == 1 ? "" : "s", degrees);
    out_ += fmt::format("  batch {} sequences of {} tokens · {} micro-batch{} of {} per pipeline\n",
                        grouped(static_cast<double>(r_.job.global_batch)),
                        grouped(static_cast<double>(r_.job.sequence_length)), r_.accumulation,
                        r_.accumulation == 1 ? "" : "es", r_.job.micro_batch);
  }

  static std::string count_text(double value) {
    if (value >= 1e9) return fmt::format("{:.2f} billion", value / 1e9);
    return fmt::format("{:.1f} million", value / 1e6);
  }

  void headline() {
    out_ += "\n  " + bold("Step time  " + format_seconds(r_.step_time_s)) +
            fmt::format("   90 % interval {} … {}\n", format_seconds(r_.step_interval.low),
                        format_seconds(r_.step_interval.high));
    const Throughput& t = r_.throughput;
    out_ +=
        fmt::format("  {} tokens/s, {} per GPU · MFU {:.1f} %, HFU {:.1f} % of {:.0f} TFLOP/s {}\n",
                    grouped(t.tokens_per_s), grouped(t.tokens_per_s_per_gpu), t.mfu * 100,
                    t.hfu * 100, t.peak_flops_per_s / 1e12, t.peak_name);
    out_ +=
        dim(fmt::format("  (MFU counts causal attention; {:.1f} % if the whole square counts)\n",
                        t.mfu_full_attention * 100));
  }

  static const char* kind_label(TimeKind kind) {
    switch (kind) {
      case TimeKind::kAttention: return "attention";
      case TimeKind::kGemm: return "matrix products";
      case TimeKind::kOther: return "memory-bound kernels";
      case TimeKind::kTensor: return "exposed tensor parallel";
      case TimeKind::kContext: return "exposed context parallel";
      case TimeKind::kExpert: return "exposed expert parallel";
      case TimeKind::kPipeline: return "exposed pipeline sends";
      case TimeKind::kData: return "exposed data parallel";
      case TimeKind::kBubble: return "pipeline bubble, waiting";
      case TimeKind::kOptimizer: return "optimizer";
      case TimeKind::kHost: return "host";
    }
    return "";
  }

  void breakdown() {
    title(fmt::format("Where the step goes (pipeline rank {}, the busiest)",
                      r_.reported_pipeline_rank));
    for (std::size_t i = 0; i < kNumTimeKinds; ++i) {
      const auto kind = static_cast<TimeKind>(i);
      const double seconds = r_.breakdown[kind];
      const double fraction = r_.step_time_s > 0 ? seconds / r_.step_time_s : 0;
      if (fraction < 0.0005) continue;
      out_ += fmt::format("  {:<25} {:>9}  {:>5.1f} %  {}\n", kind_label(kind),
                          format_seconds(seconds), fraction * 100, paint("36", bar(fraction)));
    }
  }

  void bounds() {
    if (r_.bounds.empty()) return;
    title("What bounds it most");
    int number = 0;
    for (const Bound& bound : r_.bounds) {
      out_ += fmt::format("  {}. {}: {} ({:.1f} %)\n", ++number, bold(bound.what),
                          format_seconds(bound.seconds), bound.fraction * 100);
      if (!bound.remedy.empty()) out_ += dim("     " + bound.remedy) + "\n";
    }
  }

  void failure() {
    const char* text = r_.outcome == Outcome::kOutOfMemory
                           ? "does not fit in GPU memory; if it did, the step would take:"
                           : "deadlocked: the schedule waits for itself";
    out_ += "\n  " + paint("1;31", text) + "\n";
  }

  void memory() {
    const MemoryFootprint& m = r_.memory;
    const double limit = m.limit.as_double();
    title(fmt::format("Memory per GPU (pipeline rank {}, {})", m.pipeline_rank, m.phase));
    for (const MemoryItem& item : m.items) {
      if (item.size.count() == 0) continue;
      out_ += fmt::format("  {:<25} {:>11}  {:>5.1f} %\n", item.name, format_bytes(item.size),
                          limit > 0 ? item.size.as_double() / limit * 100 : 0);
    }
    const std::string margin =
        m.peak <= m.limit ? fmt::format("{} free", format_bytes(m.limit - m.peak))
                          : paint(m.fits() ? "33" : "31",
                                  fmt::format("{} too much", format_bytes(m.peak - m.limit)));
    out_ += fmt::format("  {:<25} {:>11}  of {}, {}\n", "peak", format_bytes(m.peak),
                        format_bytes(m.limit), margin);
    if (m.is_tight()) {
      out_ += fmt::format("  tight: {} without fragmentation fits; usual fragmentation does not\n",
                          format_bytes(m.allocated()));
    }
    if (m.fits()) return;
    if (r_.remedies.empty()) {
      out_ += "  no single or double change of this plan fits on this number of GPUs\n";
      return;
    }
    out_ += "  what would fit (checked by the same model):\n";
    for (const MemoryRemedyReport& remedy : r_.remedies) {
      out_ += fmt::format("    {:<44} peak {}\n", remedy.change, format_bytes(remedy.peak));
    }
  }

  void network() {
    const std::size_t most = o_.all ? 1000 : 4;
    if (!r_.links.empty()) {
      title("Busiest links");
      for (std::size_t i = 0; i < std::min(most, r_.links.size()); ++i) {
        const LinkReport& link = r_.links[i];
        out_ += fmt::format(
            "  {:<44} {:<11} {:>9} of {:>9}  {:>5.1f} %\n", link.name, link.tier,
            format_bytes(Bytes{std::llround(link.bytes)}),
            format_byte_rate(DataRate::from_bytes_per_second(link.bandwidth_bytes_per_s)),
            link.utilization * 100);
      }
    }
    if (r_.collectives.empty()) return;
    title("Collectives, as NCCL would run them");
    for (std::size_t i = 0; i < std::min<std::size_t>(o_.all ? 1000 : 6, r_.collectives.size());
         ++i) {
      const CollectiveReport& c = r_.collectives[i];
      out_ +=
          fmt::format("  {:<24} {:>10} over {:>5} ranks  {:<9} {:<6} {:>3} channels  {:>9} alone\n",
                      c.purpose, format_bytes(Bytes{std::llround(c.size_bytes)}), c.ranks,
                      c.algorithm, c.protocol, c.channels, format_seconds(c.seconds_alone));
    }
  }

  void findings() {
    if (r_.findings.empty()) return;
    title("Notes");
    for (const Finding& finding : r_.findings) {
      const char* color =
          finding.severity == "problem" ? "31" : (finding.severity == "warning" ? "33" : "2");
      out_ += fmt::format("  {} {}\n", paint(color, finding.severity + ":"), finding.title);
      if (!finding.evidence.empty()) out_ += dim("    " + finding.evidence) + "\n";
    }
  }

  void expectations() {
    if (r_.expectations.empty()) return;
    title("Expected");
    for (const ExpectationResult& e : r_.expectations) {
      const std::string mark = e.holds ? paint("32", "holds") : paint("31", "fails");
      out_ += fmt::format("  {} {}: {}, is {}", mark, e.metric, e.expected, e.actual);
      if (e.numeric) out_ += fmt::format(" ({:+.1f} %)", e.relative_error * 100);
      out_ += "\n";
    }
    if (!r_.explanation.empty()) out_ += dim("  " + r_.explanation) + "\n";
  }

  const RunReport& r_;
  const TextOptions& o_;
  std::string out_;
};

}  // namespace

std::string to_text(const RunReport& report, const TextOptions& options) {
  return TextReport{report, options}.text();
}

}  // namespace foretrain
