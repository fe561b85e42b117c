// Binds a job to a machine: from step templates to an execution plan over ranks or rank classes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/collectives/collective.h"
#include "sim/compute/compute_model.h"
#include "sim/execution/execution_plan.h"
#include "sim/execution/interference.h"
#include "sim/execution/step_template.h"
#include "sim/workload/training_job.h"
#include "topologies/router.h"
#include "topologies/topology.h"

namespace foretrain {

/// Rank r sits on GPU r of the cluster (placement: contiguous).
struct PlanInputs {
  const TrainingJob& job;
  const Topology& topology;
  const Router& router;
  const CollectivePlanner& collectives;
  const ComputeModel& compute;
  const Interference& interference;
  std::vector<double> gpu_speed;   // by GPU; empty: all 1
  std::vector<double> link_speed;  // by link; empty: all 1
  bool fold = true;                // false: every rank runs
  /// false (fidelity `ideal`): every transfer runs as if alone on a fabric without collisions: its
  /// own links inside nodes and to the switches bound it, links between switches do not.
  bool contention = true;
  /// Fidelity `chunk`: a collective takes what its chunks take, those of all groups of its kind at
  /// once; pipeline messages stay fluid.
  bool by_chunk = false;
  /// Asymmetric steps are unfolded by themselves up to this many instructions.
  std::int64_t max_unfolded_instructions = 2'000'000;
};

/// A process group family as it lies on the machine, for reports.
struct GroupSummary {
  std::string name;  // "tensor", "data"
  int size = 1;
  int groups = 1;
  std::string crosses;  // "gpu" (size 1), "node", "fabric"
};

struct PlannedStep {
  ExecutionPlan plan;
  StepTemplate step;  // named costs and totals by pipeline rank
  std::vector<GroupSummary> groups;
  /// The choice NCCL makes for the largest call of each kind, for reports.
  struct CollectiveUse {
    std::string purpose;  // "tensor all_gather"
    Bytes size;
    int ranks = 1;
    CollectiveChoice choice;
    double seconds_alone = 0;
  };
  std::vector<CollectiveUse> collectives;
  /// Why the plan cannot be trusted and must not be executed: too many chunks, an algorithm without
  /// a form by chunks. Without a file.
  Diagnostics problems;
  std::size_t chunk_transfers = 0;  // simulated to make the plan
};

[[nodiscard]] PlannedStep plan_execution(const PlanInputs& inputs);

}  // namespace foretrain
