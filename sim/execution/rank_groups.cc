#include "sim/execution/rank_groups.h"

#include <algorithm>

namespace foretrain {
namespace {

std::vector<RankId> members_of(const RankLayout& layout, const TrainingJob& job, GroupFamily family,
                               RankId rank) {
  switch (family) {
    case GroupFamily::kTensor: return layout.group(GroupKind::kTensor, rank);
    case GroupFamily::kContext: return layout.group(GroupKind::kContext, rank);
    case GroupFamily::kDataContext: return layout.group(GroupKind::kDataContext, rank);
    case GroupFamily::kShard:
    case GroupFamily::kReplica: break;
  }
  const std::vector<RankId> whole = layout.group(GroupKind::kDataContext, rank);
  const std::size_t size = whole.size();
  const std::size_t shard = job.shard_group > 0 ? static_cast<std::size_t>(job.shard_group) : size;
  const auto at =
      static_cast<std::size_t>(std::find(whole.begin(), whole.end(), rank) - whole.begin());
  std::vector<RankId> members;
  if (family == GroupFamily::kShard) {
    const std::size_t first = at / shard * shard;
    for (std::size_t i = first; i < std::min(size, first + shard); ++i) members.push_back(whole[i]);
  } else {
    for (std::size_t i = at % shard; i < size; i += shard) members.push_back(whole[i]);
  }
  return members;
}

}  // namespace

RankGroups make_groups(const RankLayout& layout, const TrainingJob& job, GroupFamily family) {
  RankGroups result;
  result.group_of_rank.assign(static_cast<std::size_t>(layout.world_size()), -1);
  for (int r = 0; r < layout.world_size(); ++r) {
    if (result.group_of_rank[static_cast<std::size_t>(r)] >= 0) continue;
    const int number = static_cast<int>(result.groups.size());
    result.groups.push_back(members_of(layout, job, family, RankId{r}));
    for (const RankId member : result.groups.back()) {
      result.group_of_rank[member.position()] = number;
    }
  }
  return result;
}

bool stays_in_node(const std::vector<RankId>& group, int gpus_per_node) {
  return std::all_of(group.begin(), group.end(), [&](RankId r) {
    return r.index() / gpus_per_node == group.front().index() / gpus_per_node;
  });
}

}  // namespace foretrain
