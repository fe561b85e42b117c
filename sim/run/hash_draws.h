// One step on one draw of the switches' hash, and the same step on several.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/execution/executor.h"
#include "sim/execution/interference.h"
#include "sim/execution/planner.h"
#include "sim/run/machine_build.h"
#include "sim/run/simulate.h"

namespace foretrain {

struct PlannedExecution {
  PlannedStep planned;
  Execution execution;
};

/// Plans and executes the step of `scenario` on `machine` as it is routed now.
struct StepRunner {
  const Scenario& scenario;
  Machine& machine;
  const ComputeModel& compute;
  const Interference& interference;
  const RunOptions& options;

  [[nodiscard]] PlannedExecution run() const;
};

struct StepOfDraws {
  PlannedExecution reported;    // the median draw
  std::vector<double> seconds;  // step time by draw, ascending
  bool hashed = false;          // hashes decide which links between switches the step's data take
};

/// Runs the step for 9 to 33 draws of the hash, by the size of the step, where routes are hashed
/// and links between switches are used; else, or if the step is too large to repeat, once. The
/// first draw is the scenario's seed. An odd number of draws.
[[nodiscard]] StepOfDraws run_draws(const StepRunner& runner);

}  // namespace foretrain
