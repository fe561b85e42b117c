// Which rank sits where in each process group. @source Megatron-LM core/parallel_state.py.
#pragma once

#include <vector>

#include "sim/core/ids.h"
#include "sim/workload/step_program.h"

namespace foretrain {

struct RankCoordinates {
  int tensor = 0, context = 0, data = 0, pipeline = 0;
  bool operator==(const RankCoordinates&) const = default;
};

/// Axis order of the job's framework: Megatron tp-cp-dp-pp (fastest first), torchtitan and FSDP2
/// the same axes, DeepSpeed model-data-pipe.
class RankLayout {
 public:
  explicit RankLayout(const TrainingJob& job);
  [[nodiscard]] int world_size() const { return world_size_; }
  [[nodiscard]] RankCoordinates coordinates(RankId rank) const;
  [[nodiscard]] RankId rank(RankCoordinates at) const;
  /// The group of a kind that holds `rank`, in group order.
  [[nodiscard]] std::vector<RankId> group(GroupKind kind, RankId rank) const;

 private:
  ParallelPlan plan_;
  int world_size_ = 1;
};

}  // namespace foretrain
