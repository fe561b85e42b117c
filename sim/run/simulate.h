// The one entry point for library users: from a scenario to a finished report.
#pragma once

#include <string>

#include "sim/execution/executor.h"
#include "sim/results/run_report.h"
#include "sim/scenario/scenario.h"

namespace foretrain {

struct RunOptions {
  std::string data_dir;  // holds catalog/ and profiles/
  bool fold = true;      // false: run every rank
  ProgressHook progress;
};

/// Simulates one training step. Wrong combinations that only the machine shows (a fabric that
/// cannot be wired, a broken profile) are diagnostics; "does not fit" is an outcome.
/// @pre scenario.job is set, else a diagnostic.
[[nodiscard]] Result<RunReport> simulate(const Scenario& scenario, const RunOptions& options);

/// The same job's expectations against a report; fills report.expectations.
void check_expectations(const Scenario& scenario, RunReport& report);

}  // namespace foretrain
