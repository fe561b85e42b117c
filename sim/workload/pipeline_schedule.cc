#include "sim/workload/pipeline_schedule.h"

#include <algorithm>
#include <cstddef>

#include "sim/core/contracts.h"

namespace foretrain {
namespace {

std::vector<PipelineUnit> gpipe_units(int microbatches) {
  std::vector<PipelineUnit> units;
  for (const bool forward : {true, false}) {
    for (int i = 0; i < microbatches; ++i) units.push_back({forward, 0, i});
  }
  return units;
}

/// `warmup` forwards, then pairs of one forward and one backward, then the backwards that are left.
std::vector<PipelineUnit> one_forward_one_backward(const std::vector<PipelineUnit>& forwards,
                                                   const std::vector<PipelineUnit>& backwards,
                                                   std::size_t warmup) {
  std::vector<PipelineUnit> units(forwards.begin(),
                                  forwards.begin() + static_cast<std::ptrdiff_t>(warmup));
  for (std::size_t j = 0; warmup + j < forwards.size(); ++j) {
    units.push_back(forwards[warmup + j]);
    units.push_back(backwards[j]);
  }
  for (std::size_t j = forwards.size() - warmup; j < backwards.size(); ++j) {
    units.push_back(backwards[j]);
  }
  return units;
}

std::vector<PipelineUnit> one_f_one_b_units(int stages, int microbatches, int rank) {
  std::vector<PipelineUnit> forwards, backwards;
  for (int i = 0; i < microbatches; ++i) {
    forwards.push_back({true, 0, i});
    backwards.push_back({false, 0, i});
  }
  const int warmup = std::min(stages - rank - 1, microbatches);
  return one_forward_one_backward(forwards, backwards, static_cast<std::size_t>(warmup));
}

/// Megatron-LM's schedule table with groups of `stages` micro-batches (its default); the last group
/// may be smaller only if there is just one.
std::vector<PipelineUnit> interleaved_units(int stages, int virtual_stages, int microbatches,
                                            int rank) {
  FORETRAIN_EXPECTS(microbatches % stages == 0 || microbatches < stages,
                    "interleaving needs micro-batches in whole groups of the pipeline's size");
  const int group = std::min(stages, microbatches);
  std::vector<PipelineUnit> forwards, backwards;
  for (int first = 0; first < microbatches; first += group) {
    for (int chunk = 0; chunk < virtual_stages; ++chunk) {
      for (int i = first; i < first + group; ++i) {
        forwards.push_back({true, chunk, i});
        backwards.push_back({false, virtual_stages - 1 - chunk, i});
      }
    }
  }
  const int warmup = std::min(2 * (stages - rank - 1) + (virtual_stages - 1) * group,
                              microbatches * virtual_stages);
  return one_forward_one_backward(forwards, backwards, static_cast<std::size_t>(warmup));
}

}  // namespace

std::vector<PipelineUnit> pipeline_units(PipelineSchedule schedule, int stages, int virtual_stages,
                                         int microbatches, int rank) {
  FORETRAIN_EXPECTS(stages >= 1 && virtual_stages >= 1 && microbatches >= 1,
                    "a pipeline needs stages and micro-batches");
  FORETRAIN_EXPECTS(rank >= 0 && rank < stages, "no such pipeline rank");
  FORETRAIN_EXPECTS(virtual_stages == 1 || schedule == PipelineSchedule::kInterleaved,
                    "only the interleaved schedule has several chunks on a rank");
  switch (schedule) {
    case PipelineSchedule::kGpipe: return gpipe_units(microbatches);
    case PipelineSchedule::kOneFOneB: return one_f_one_b_units(stages, microbatches, rank);
    case PipelineSchedule::kInterleaved:
      // With one chunk a rank the doubled warm-up would only cost memory; Megatron runs plain 1F1B.
      if (virtual_stages == 1) return one_f_one_b_units(stages, microbatches, rank);
      return interleaved_units(stages, virtual_stages, microbatches, rank);
  }
  return {};
}

int peak_in_flight(const std::vector<PipelineUnit>& units) {
  int alive = 0;
  int peak = 0;
  for (const PipelineUnit& unit : units) {
    alive += unit.forward ? 1 : -1;
    peak = std::max(peak, alive);
  }
  return peak;
}

}  // namespace foretrain
