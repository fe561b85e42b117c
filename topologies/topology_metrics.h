// Figures of a fabric: counts, distances, bisection.
#pragma once

#include <string>
#include <vector>

#include "topologies/topology.h"

namespace foretrain {

struct TierCount {
  std::string name;      // "leaf", "spine", "core" | "host-leaf", "leaf-spine", "spine-core"
  int count = 0;         // switches, or cables
  int ports_used = 0;    // switches: sum of cabled ports
};

struct TopologyMetrics {
  int gpus = 0, nodes = 0, switches = 0, links = 0, cables = 0;
  int diameter_hops = 0;         // links between two NICs, worst pair
  double mean_hops = 0;          // over ordered pairs of distinct NICs (fat-tree closed form: fabrics.md 1.1)
  DataRate bisection;            // one direction, halves by node order
  DataRate bisection_per_gpu;    // bisection / (GPUs / 2)
  std::vector<TierCount> switch_tiers, cable_tiers;
};

[[nodiscard]] TopologyMetrics compute_metrics(const Topology& topology);

/// Graphviz text and an SVG picture of the fabric (large fabrics are drawn by pods, with counts).
[[nodiscard]] std::string to_dot(const Topology& topology);
[[nodiscard]] std::string to_svg(const Topology& topology);

}  // namespace foretrain
