#include "sim/workload/rank_layout.h"

#include <cstddef>

#include "sim/core/contracts.h"

namespace foretrain {
namespace {

// Strides of the axes, fastest first: tensor, context, data, pipeline. The meshes of torchtitan
// (tp, cp, dp_shard, dp_replicate, pp) and DeepSpeed (model, data, pipe) are this order too.
struct Strides {
  int context = 1, data = 1, pipeline = 1;
};

Strides strides_of(const ParallelPlan& plan) {
  Strides strides;
  strides.context = plan.tensor;
  strides.data = strides.context * plan.context;
  strides.pipeline = strides.data * plan.data;
  return strides;
}

}  // namespace

RankLayout::RankLayout(const TrainingJob& job)
    : plan_(job.parallel), world_size_(job.parallel.world_size()) {
  FORETRAIN_EXPECTS(
      plan_.tensor >= 1 && plan_.context >= 1 && plan_.data >= 1 && plan_.pipeline >= 1,
      "parallel degrees are at least 1");
}

RankCoordinates RankLayout::coordinates(RankId rank) const {
  FORETRAIN_EXPECTS(rank.index() >= 0 && rank.index() < world_size_, "no such rank");
  const Strides strides = strides_of(plan_);
  const int index = rank.index();
  RankCoordinates at;
  at.tensor = index % plan_.tensor;
  at.context = index / strides.context % plan_.context;
  at.data = index / strides.data % plan_.data;
  at.pipeline = index / strides.pipeline;
  return at;
}

RankId RankLayout::rank(RankCoordinates at) const {
  FORETRAIN_EXPECTS(at.tensor >= 0 && at.tensor < plan_.tensor && at.context >= 0 &&
                        at.context < plan_.context && at.data >= 0 && at.data < plan_.data &&
                        at.pipeline >= 0 && at.pipeline < plan_.pipeline,
                    "coordinates outside the parallel plan");
  const Strides strides = strides_of(plan_);
  return RankId{at.tensor + at.context * strides.context + at.data * strides.data +
                at.pipeline * strides.pipeline};
}

std::vector<RankId> RankLayout::group(GroupKind kind, RankId member) const {
  RankCoordinates at = coordinates(member);
  std::vector<RankId> ranks;
  const auto along = [&](int RankCoordinates::*axis, int size) {
    for (int i = 0; i < size; ++i) {
      at.*axis = i;
      ranks.push_back(rank(at));
    }
  };
  switch (kind) {
    case GroupKind::kTensor: along(&RankCoordinates::tensor, plan_.tensor); break;
    case GroupKind::kContext: along(&RankCoordinates::context, plan_.context); break;
    case GroupKind::kPipeline: along(&RankCoordinates::pipeline, plan_.pipeline); break;
    case GroupKind::kData: along(&RankCoordinates::data, plan_.data); break;
    case GroupKind::kDataContext:
      for (int data = 0; data < plan_.data; ++data) {
        at.data = data;
        along(&RankCoordinates::context, plan_.context);
      }
      break;
  }
  return ranks;
}

}  // namespace foretrain
