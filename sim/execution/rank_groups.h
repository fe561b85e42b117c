// Process groups of all ranks, by family, and where they sit on the machine.
#pragma once

#include <vector>

#include "sim/workload/rank_layout.h"
#include "topologies/topology.h"

namespace foretrain {

/// Families of groups that the step needs. Shard and replica split the data-parallel group for
/// hybrid sharding (HSDP); without it the shard group is the whole group and replicas are single
/// ranks.
enum class GroupFamily { kTensor, kContext, kDataContext, kShard, kReplica };

struct RankGroups {
  std::vector<std::vector<RankId>> groups;  // by group number
  std::vector<int> group_of_rank;           // by rank
};

/// All groups of a family; group numbers ascend with their first rank.
[[nodiscard]] RankGroups make_groups(const RankLayout& layout, const TrainingJob& job,
                                     GroupFamily family);

/// True if all ranks of the group sit on one node; rank r sits on GPU r.
[[nodiscard]] bool stays_in_node(const std::vector<RankId>& group, int gpus_per_node);

}  // namespace foretrain
