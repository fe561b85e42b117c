// How computation and communication slow each other down, and what a framework's host costs.
// Assumed values, read from scenarios/catalog/interference.yaml.
#pragma once

#include <string>

#include "sim/core/diagnostics.h"

namespace foretrain {

struct Interference {
  /// Factor on a collective's time while computation runs beside it (gamma).
  double communication_slowdown = 1.0;
  /// Floor of the factor on computation while a collective runs beside it (HBM and cache sharing);
  /// the SM share comes from ComputeModel::gemm_slowdown.
  double memory_slowdown = 1.0;
  /// SMs that a pipeline message or a data-parallel collective holds at most.
  int max_sms = 32;
  /// One standard deviation of what the step model leaves out, relative to the step time.
  double model_relative_sigma = 0.0;
  /// One standard deviation of a predicted collective time.
  double collective_relative_sigma = 0.0;
  /// Seconds of a rendezvous of all ranks (gradient norm, found-inf), per tree level.
  double barrier_seconds_per_level = 0.0;
};

[[nodiscard]] Result<Interference> load_interference(const std::string& catalog_dir);

}  // namespace foretrain
