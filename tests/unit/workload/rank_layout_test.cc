// Expected groups: Megatron-LM's own RankGenerator, torchtitan's and DeepSpeed's meshes, 64 GPUs.
#include "sim/workload/rank_layout.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace foretrain {
namespace {

RankLayout layout(int tensor, int context, int data, int pipeline,
                  Framework framework = Framework::kMegatronLm) {
  TrainingJob job;
  job.framework = framework;
  job.parallel.tensor = tensor;
  job.parallel.context = context;
  job.parallel.data = data;
  job.parallel.pipeline = pipeline;
  return RankLayout{job};
}

std::vector<int> group(const RankLayout& layout, GroupKind kind, int rank) {
  std::vector<int> ranks;
  for (const RankId member : layout.group(kind, RankId{rank})) ranks.push_back(member.index());
  return ranks;
}

std::size_t num_groups(const RankLayout& layout, GroupKind kind) {
  std::set<std::vector<int>> groups;
  for (int rank = 0; rank < layout.world_size(); ++rank) groups.insert(group(layout, kind, rank));
  return groups.size();
}

using Ranks = std::vector<int>;

TEST(RankLayout, MegatronGroupsOf64Gpus) {
  const RankLayout ranks = layout(4, 2, 2, 4);
  EXPECT_EQ(ranks.world_size(), 64);
  EXPECT_EQ(group(ranks, GroupKind::kTensor, 0), (Ranks{0, 1, 2, 3}));
  EXPECT_EQ(group(ranks, GroupKind::kTensor, 62), (Ranks{60, 61, 62, 63}));
  EXPECT_EQ(group(ranks, GroupKind::kContext, 0), (Ranks{0, 4}));
  EXPECT_EQ(group(ranks, GroupKind::kContext, 12), (Ranks{8, 12}));
  EXPECT_EQ(group(ranks, GroupKind::kData, 1), (Ranks{1, 9}));
  EXPECT_EQ(group(ranks, GroupKind::kData, 24), (Ranks{16, 24}));
  EXPECT_EQ(group(ranks, GroupKind::kDataContext, 0), (Ranks{0, 4, 8, 12}));
  EXPECT_EQ(group(ranks, GroupKind::kDataContext, 28), (Ranks{16, 20, 24, 28}));
  EXPECT_EQ(group(ranks, GroupKind::kPipeline, 0), (Ranks{0, 16, 32, 48}));
  EXPECT_EQ(group(ranks, GroupKind::kPipeline, 63), (Ranks{15, 31, 47, 63}));
  EXPECT_EQ(num_groups(ranks, GroupKind::kTensor), 16u);
  EXPECT_EQ(num_groups(ranks, GroupKind::kContext), 32u);
  EXPECT_EQ(num_groups(ranks, GroupKind::kData), 32u);
  EXPECT_EQ(num_groups(ranks, GroupKind::kDataContext), 16u);
  EXPECT_EQ(num_groups(ranks, GroupKind::kPipeline), 16u);
}

// pp2 dp_replicate2 dp_shard4 cp2 tp2: data 8 is replicate × shard, the shard group the first half.
TEST(RankLayout, TorchtitanGroupsOf64Gpus) {
  const RankLayout ranks = layout(2, 2, 8, 2, Framework::kTorchTitan);
  EXPECT_EQ(group(ranks, GroupKind::kTensor, 0), (Ranks{0, 1}));
  EXPECT_EQ(group(ranks, GroupKind::kContext, 4), (Ranks{4, 6}));
  EXPECT_EQ(group(ranks, GroupKind::kPipeline, 1), (Ranks{1, 33}));
  const Ranks loss = group(ranks, GroupKind::kDataContext, 0);
  EXPECT_EQ(loss, (Ranks{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30}));
  // FSDP's group (shard × cp) is the first eight of them.
  EXPECT_EQ(Ranks(loss.begin(), loss.begin() + 8), (Ranks{0, 2, 4, 6, 8, 10, 12, 14}));
}

TEST(RankLayout, DeepSpeedGroupsOf64Gpus) {
  const RankLayout ranks = layout(4, 1, 4, 4, Framework::kDeepSpeed);
  EXPECT_EQ(group(ranks, GroupKind::kTensor, 0), (Ranks{0, 1, 2, 3}));
  EXPECT_EQ(group(ranks, GroupKind::kData, 1), (Ranks{1, 5, 9, 13}));
  EXPECT_EQ(group(ranks, GroupKind::kPipeline, 0), (Ranks{0, 16, 32, 48}));
}

RC_GTEST_PROP(RankLayoutProperty, CoordinatesInvertAndGroupsPartition, ()) {
  const RankLayout ranks = layout(*rc::gen::inRange(1, 5), *rc::gen::inRange(1, 4),
                                  *rc::gen::inRange(1, 5), *rc::gen::inRange(1, 4));
  const int rank = *rc::gen::inRange(0, ranks.world_size());
  RC_ASSERT(ranks.rank(ranks.coordinates(RankId{rank})) == RankId{rank});
  for (const GroupKind kind : {GroupKind::kTensor, GroupKind::kContext, GroupKind::kPipeline,
                               GroupKind::kData, GroupKind::kDataContext}) {
    const auto members = group(ranks, kind, rank);
    RC_ASSERT(std::is_sorted(members.begin(), members.end()));
    RC_ASSERT(std::count(members.begin(), members.end(), rank) == 1);
    for (const int member : members) RC_ASSERT(group(ranks, kind, member) == members);
    RC_ASSERT(num_groups(ranks, kind) * members.size() ==
              static_cast<std::size_t>(ranks.world_size()));
  }
}

}  // namespace
}  // namespace foretrain
