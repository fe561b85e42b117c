// How pictures arrange a fabric: columns of pods, units or rails, below a top tier that all share.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "topologies/topology.h"

namespace foretrain {

/// Cables across a tier boundary, added up.
struct CableSum {
  int cables = 0;
  DataRate bandwidth;
};

/// Boundary 0 joins NICs and leaves, 1 leaves and spines, 2 spines and cores.
inline constexpr std::size_t kBoundaries = 3;

struct FabricColumn {
  std::string title;                              // "pod 3", "unit 0", "leaf 7", "rail 2"
  int nodes = 0;                                  // with a NIC on one of its leaves
  std::array<std::vector<DeviceId>, 3> switches;  // by tier; the shared tier is empty
  std::array<CableSum, kBoundaries> up;           // cables from nodes, leaves, spines upwards
};

struct FabricColumns {
  std::vector<FabricColumn> columns;
  int column_tiers = 0;                  // switch tiers inside columns
  std::vector<DeviceId> shared;          // switches of the tier above all columns, if any
  bool nodes_shared = false;             // rail-only: every node is below every column
  std::vector<int> column_of_node;       // by node; 0 where nodes are shared
  std::array<CableSum, kBoundaries> up;  // over all columns
  /// Down bandwidth over up bandwidth at the leaves (0) and spines (1) of the worst column; 0 where
  /// nothing leads up.
  [[nodiscard]] double oversubscription(std::size_t boundary) const;
};

[[nodiscard]] FabricColumns arrange_columns(const Topology& topology);

/// "leaf", "spine", "core", by tier from 0.
[[nodiscard]] const char* tier_name(std::size_t tier);
/// "leaves", "spines", "cores".
[[nodiscard]] const char* tier_plural(std::size_t tier);
/// "128 nodes, 1,024 GPUs: 2-tier fat-tree, 8 rails".
[[nodiscard]] std::string headline(const Topology& topology);
/// "1,024"
[[nodiscard]] std::string with_commas(long long value);
/// "50 GB/s", "1.25 TB/s".
[[nodiscard]] std::string short_rate(DataRate rate);

}  // namespace foretrain
