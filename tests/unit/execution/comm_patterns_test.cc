#include "sim/execution/comm_patterns.h"

#include <gtest/gtest.h>

namespace foretrain {
namespace {

RawPattern pattern(std::vector<LinkShare> usage) {
  RawPattern result;
  result.usage = std::move(usage);
  result.work_bytes = 1;
  return result;
}

LinkId link(int index) { return LinkId{index}; }

TEST(CommPatterns, UnionSumsUsageOfAllInstances) {
  const PatternClass two{
      {pattern({{link(0), 1.0}, {link(2), 0.5}}), pattern({{link(1), 1.0}, {link(2), 0.5}})}};
  const RawPattern sum = unite(two);
  ASSERT_EQ(sum.usage.size(), 3u);
  EXPECT_EQ(sum.usage[2], (LinkShare{link(2), 1.0}));
}

TEST(CommPatterns, InstancesOnLikeLinksAreSymmetric) {
  const LinkCapacities capacities(3, gigabytes_per_second(1));
  const std::vector<PatternClass> classes{
      {{pattern({{link(0), 1.0}, {link(2), 0.5}}), pattern({{link(1), 1.0}, {link(2), 0.5}})}}};
  EXPECT_TRUE(is_symmetric(classes, capacities));
}

TEST(CommPatterns, ASlowLinkBreaksSymmetry) {
  LinkCapacities capacities(3, gigabytes_per_second(1));
  capacities[1] = gigabytes_per_second(0.5);
  const std::vector<PatternClass> classes{{{pattern({{link(0), 1.0}}), pattern({{link(1), 1.0}})}}};
  EXPECT_FALSE(is_symmetric(classes, capacities));
}

TEST(CommPatterns, ACollisionOfAnotherClassBreaksSymmetry) {
  const LinkCapacities capacities(2, gigabytes_per_second(1));
  const std::vector<PatternClass> classes{{{pattern({{link(0), 1.0}}), pattern({{link(1), 1.0}})}},
                                          {{pattern({{link(1), 1.0}})}}};
  EXPECT_FALSE(is_symmetric(classes, capacities));
}

TEST(CommPatterns, DifferentDistancesBreakSymmetry) {
  const LinkCapacities capacities(2, gigabytes_per_second(1));
  PatternClass two{{pattern({{link(0), 1.0}}), pattern({{link(1), 1.0}})}};
  two.instances[1].latency = duration_from_seconds(1e-6);
  EXPECT_FALSE(is_symmetric({two}, capacities));
}

/// Links that carry the same patterns with the same weights are one constraint, the tightest of
/// them.
TEST(CommPatterns, CompressionKeepsMaxMinRates) {
  const LinkCapacities capacities{gigabytes_per_second(4), gigabytes_per_second(3),
                                  gigabytes_per_second(8), gigabytes_per_second(9)};
  const std::vector<std::vector<LinkShare>> usages{{{link(0), 1.0}, {link(1), 1.0}, {link(2), 2.0}},
                                                   {{link(2), 1.0}, {link(3), 1.0}}};
  const CompressedLinks compressed = compress_links(usages, capacities);
  ASSERT_EQ(compressed.members.size(), 3u);
  EXPECT_EQ(compressed.members[0].size(), 2u);
  EXPECT_EQ(compressed.capacities[0], gigabytes_per_second(3));
  std::vector<ActivitySpec> full(2), small(2);
  for (std::size_t i = 0; i < 2; ++i) {
    for (const LinkShare& use : usages[i]) full[i].usage.push_back({use.link, use.share});
    small[i].usage = compressed.patterns[i].usage;
  }
  // Link 2 is shared: 2 r + r = 8 gives r = 8/3 < 3, so both run at 8/3 GB/s.
  const auto expected = max_min_rates(capacities, full);
  const auto actual = max_min_rates(compressed.capacities, small);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(actual[i].bytes_per_second(), expected[i].bytes_per_second(), 1);
    EXPECT_NEAR(actual[i].bytes_per_second(), 8e9 / 3, 1);
  }
}

}  // namespace
}  // namespace foretrain
