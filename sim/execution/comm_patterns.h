// Transfers as usage of links: lowering per lane or group, symmetry, and the compression of links
// that no transfer can tell apart.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "sim/collectives/collective.h"
#include "sim/execution/execution_plan.h"
#include "sim/execution/rank_groups.h"
#include "sim/execution/step_template.h"

namespace foretrain {

/// One transfer on real links.
struct RawPattern {
  std::vector<LinkShare> usage;  // bytes on each link per byte of work; sorted by link
  double work_bytes = 0;
  DataRate rate_cap;
  SimDuration latency{};
  CollectiveChoice choice;  // as NCCL makes it; channels = SMs held on each GPU
};

/// All transfers of a template: one per lane (pipeline) or per group of the family.
struct PatternClass {
  std::vector<RawPattern> instances;
};

/// Sum of the instances' usage, slowest cap, longest latency: all of them advancing together.
[[nodiscard]] RawPattern unite(const PatternClass& pattern_class);

/// True if within every class all instances meet links that look the same, so that folding them
/// into one is exact: the partition of transfers by class and of links by colour is equitable.
[[nodiscard]] bool is_symmetric(const std::vector<PatternClass>& classes,
                                const LinkCapacities& capacities);

/// The same where links are not shared: work, cap and latency of a class's instances are equal.
[[nodiscard]] bool alike(const std::vector<PatternClass>& classes);

/// Links with equal columns (same patterns, same weights) become one, with the least capacity.
struct CompressedLinks {
  std::vector<CommPattern> patterns;  // on compressed links
  LinkCapacities capacities;
  std::vector<std::vector<LinkId>> members;  // by compressed link
};
[[nodiscard]] CompressedLinks compress_links(const std::vector<std::vector<LinkShare>>& usages,
                                             const LinkCapacities& capacities);

}  // namespace foretrain
