// What a simulated step was: its time, where the time went, which links worked hardest.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/units.h"
#include "topologies/topology.h"

namespace foretrain {

/// How a run ended. "Does not fit" is a result, not an error.
enum class Outcome { kCompleted, kOutOfMemory, kDeadlocked };
[[nodiscard]] std::string_view to_string(Outcome outcome);

/// What a stretch of a rank's time counts as. The order is that of `step.breakdown_s`.
enum class TimeKind : std::uint8_t {
  kAttention,
  kGemm,
  kOther,
  kTensor,
  kContext,
  kExpert,
  kPipeline,
  kData,
  kBubble,
  kOptimizer,
  kHost,
};
inline constexpr std::size_t kNumTimeKinds = 11;
/// Key of the breakdown: "compute_attention", "exposed_tensor" …
[[nodiscard]] std::string_view breakdown_key(TimeKind kind);

/// Seconds by kind.
class TimeBreakdown {
 public:
  [[nodiscard]] double& operator[](TimeKind kind) {
    return seconds_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] double operator[](TimeKind kind) const {
    return seconds_[static_cast<std::size_t>(kind)];
  }
  void add(const TimeBreakdown& other, double factor = 1.0) {
    for (std::size_t i = 0; i < kNumTimeKinds; ++i) seconds_[i] += factor * other.seconds_[i];
  }
  [[nodiscard]] double total() const {
    double sum = 0;
    for (const double s : seconds_) sum += s;
    return sum;
  }

 private:
  std::array<double, kNumTimeKinds> seconds_{};
};

/// Traffic of one directed link over the step.
struct LinkTraffic {
  LinkId link;
  double bytes = 0;
  double utilization = 0;  // bytes / (bandwidth * step time)
};

/// Time of one named operation within the reported rank's step, for "what bounds it".
struct NamedCost {
  std::string name;  // "mlp up", "attention", "all-gather input"
  TimeKind kind = TimeKind::kOther;
  double seconds = 0;
};

/// Summary of one pipeline rank.
struct StageSummary {
  int pipeline_rank = 0;
  double compute_s = 0;  // attention + gemm + other
  double bubble_s = 0;
};

struct SimulationResult {
  Outcome outcome = Outcome::kCompleted;
  SimDuration step_time{};
  TimeBreakdown breakdown;  // of the busiest rank; sums to the step time
  int reported_pipeline_rank = 0;
  std::vector<StageSummary> stages;
  std::vector<NamedCost> named_costs;  // of the reported rank, largest first
  std::vector<LinkTraffic> links;      // busiest first, at most 32
  double gemm_relative_sigma = 0;      // of the compute model, weighted by time
  double attention_relative_sigma = 0;
  double other_relative_sigma = 0;
  bool extrapolated = false;  // some operator lies outside what was measured
  bool folded = true;         // ranks that cannot be told apart ran once
  bool fold_exact = true;     // false: the slowest path of a class stands for all of it
  std::int64_t actors = 0;    // rank classes (or ranks) simulated
  std::int64_t events = 0;
  std::uint64_t fingerprint = 0;  // over (time, entity, kind) of every event
};

}  // namespace foretrain
