#include "sim/execution/simulation_result.h"

namespace foretrain {

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kCompleted: return "completed";
    case Outcome::kOutOfMemory: return "out_of_memory";
    case Outcome::kDeadlocked: return "deadlocked";
  }
  return "completed";
}

std::string_view breakdown_key(TimeKind kind) {
  switch (kind) {
    case TimeKind::kAttention: return "compute_attention";
    case TimeKind::kGemm: return "compute_gemm";
    case TimeKind::kOther: return "compute_other";
    case TimeKind::kTensor: return "exposed_tensor";
    case TimeKind::kContext: return "exposed_context";
    case TimeKind::kExpert: return "exposed_expert";
    case TimeKind::kPipeline: return "exposed_pipeline";
    case TimeKind::kData: return "exposed_data";
    case TimeKind::kBubble: return "bubble";
    case TimeKind::kOptimizer: return "optimizer";
    case TimeKind::kHost: return "host";
  }
  return "host";
}

}  // namespace foretrain
