// What bounds a step, and what a user should know about a result.
#pragma once

#include "sim/results/run_report.h"
#include "sim/scenario/scenario.h"

namespace foretrain {

/// The three parts of the step that cost most, with what usually moves them.
void fill_bounds(RunReport& report);
/// Notes and warnings: folding, fidelity, the scenario's own notes.
void fill_findings(const Scenario& scenario, RunReport& report);

}  // namespace foretrain
