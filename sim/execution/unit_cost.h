// Costs of step programs: from operators and inline collectives to segments of time by kind.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/compute/compute_model.h"
#include "sim/execution/execution_plan.h"
#include "sim/execution/interference.h"
#include "sim/workload/step_program.h"

namespace foretrain {

/// Time of an inline collective (tensor or context parallel) on the machine, as if all groups of
/// its kind ran it at once, and the SMs it holds.
struct InlineCollective {
  double seconds = 0;
  int channels = 0;
};
using InlineCollectiveCost = std::function<InlineCollective(const CollectiveOp&)>;

/// Sums of a program's cost, before it becomes a segment.
struct ProgramCost {
  TimeBreakdown seconds;
  double slowdown_share = 0;  // GEMM and attention seconds / total
  int launches = 0;
  std::vector<NamedCost> named;   // by step name, in program order, merged
  double gemm_sigma_seconds = 0;  // sum of time * relative sigma
  double attention_sigma_seconds = 0;
  double other_sigma_seconds = 0;
  bool extrapolated = false;
  /// Appends another program's cost (launches and times add up).
  void add(const ProgramCost& other);
};

class UnitCoster {
 public:
  UnitCoster(const ComputeModel& compute, const FrameworkOptions& options,
             const Interference& interference, InlineCollectiveCost collective);
  [[nodiscard]] ProgramCost cost(const Program& program);
  /// Host-bound time on top: what launching takes beyond what the GPU takes.
  [[nodiscard]] Segment segment(const ProgramCost& cost) const;

 private:
  [[nodiscard]] TimeEstimate op_time(const Operator& op);
  void add_compute(const ProgramStep& step, ProgramCost& cost);
  void add_collective(const Program& program, std::size_t at, ProgramCost& cost);
  [[nodiscard]] double beside_seconds(const Program& program, std::size_t at, int count);

  const ComputeModel& compute_;
  const FrameworkOptions& options_;
  const Interference& interference_;
  InlineCollectiveCost collective_;
  std::map<std::vector<double>, TimeEstimate> memo_;
};

}  // namespace foretrain
