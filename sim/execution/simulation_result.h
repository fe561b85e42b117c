// How a step ended, and where its time went.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace foretrain
