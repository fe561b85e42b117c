// Pipeline schedules as ordered lists of units per pipeline rank. @source GPipe arXiv:1811.06965;
// 1F1B and interleaving arXiv:2104.04473 section 2.2 and Megatron-LM
// core/pipeline_parallel/schedules.py.
#pragma once

#include <vector>

#include "sim/workload/training_job.h"

namespace foretrain {

struct PipelineUnit {
  bool forward = true;
  int chunk = 0;  // local chunk 0 … virtual_stages - 1
  int microbatch = 0;
  bool operator==(const PipelineUnit&) const = default;
};

/// The units of pipeline rank `rank` in the order in which it runs them.
/// @pre 0 <= rank < stages, microbatches >= 1; interleaved: microbatches % stages == 0 or group
/// rules hold.
[[nodiscard]] std::vector<PipelineUnit> pipeline_units(PipelineSchedule schedule, int stages,
                                                       int virtual_stages, int microbatches,
                                                       int rank);
/// Largest number of (chunk, micro-batch) activations alive at once on a rank.
[[nodiscard]] int peak_in_flight(const std::vector<PipelineUnit>& units);

}  // namespace foretrain
