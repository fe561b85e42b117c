// Figures of a fabric: counts, distances, bisection.
#pragma once

#include <string>
#include <vector>

#include "topologies/topology.h"

namespace foretrain {

struct TierCount {
  std::string name;    // "leaf", "spine", "core" | "host-leaf", "leaf-spine", "spine-core"
  int count = 0;       // switches, or cables
  int ports_used = 0;  // switches: sum of cabled ports
};

/// Fabric figures; the inside of nodes counts only in `links`.
struct TopologyMetrics {
  int gpus = 0, nodes = 0, switches = 0;
  int links = 0;               // directed links of the graph, those inside nodes included
  int cables = 0;              // of the fabric, NIC cables included
  int diameter_hops = 0;       // links between two NICs, worst pair that the fabric joins
  double mean_hops = 0;        // over ordered pairs of distinct NICs that the fabric joins
  DataRate bisection;          // one direction, halves by node order
  DataRate bisection_per_gpu;  // bisection / (GPUs / 2)
  std::vector<TierCount> switch_tiers, cable_tiers;
};

/// Counts by leaf and pod, exact for folded Clos fabrics of any size: two NICs are 2 links apart on
/// one leaf, 4 in one pod, else 6. Bisection is the largest flow from the NICs of the first
/// floor(nodes / 2) nodes to the rest: traffic meets as low in the tree as it can, each layer
/// passes on what its uplinks carry. Complexity O(devices + links).
[[nodiscard]] TopologyMetrics compute_metrics(const Topology& topology);

/// Graphviz text and an SVG picture of the fabric (large fabrics are drawn by pods, with counts).
[[nodiscard]] std::string to_dot(const Topology& topology);
[[nodiscard]] std::string to_svg(const Topology& topology);

}  // namespace foretrain
