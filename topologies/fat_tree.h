// Folded Clos fabrics of one to three switch tiers: single switch, leaf-spine, k-ary fat-tree,
// rail-optimized and rail-only, each with only as many switches as the nodes need.
#pragma once

#include "sim/core/diagnostics.h"
#include "topologies/build_topology.h"

namespace foretrain {

/// Down and up ports of a switch of radix `ports` below an oversubscribed boundary:
/// o = down b_down / (up b_up), as many ports used as the ratio allows.
struct PortSplit {
  int down = 0;
  int up = 0;
};
/// @param host_share  b_down / b_up; 1 where both sides have the same cables.
[[nodiscard]] PortSplit split_ports(int ports, double oversubscription, double host_share = 1.0);

/// What one Clos (a whole fabric, or one rail of a rail-only fabric) is made of.
struct ClosPlan {
  int units = 1;            // scalable units: groups of leaves that share their nodes
  int leaves_per_unit = 1;  // = rails, or 1
  int nodes_per_unit = 1;
  int nics_per_leaf_node = 1;  // NICs that one node has on one leaf
  int units_per_pod = 1;
  int pods = 1;
  int leaf_up = 0;  // uplinks of a leaf
  int spines_per_pod = 0;
  int spine_up = 0;         // uplinks of a spine
  int cores_per_plane = 0;  // spine j of every pod meets the cores of plane j
  [[nodiscard]] int leaves() const { return units * leaves_per_unit; }
  [[nodiscard]] int spines() const { return pods * spines_per_pod; }
  [[nodiscard]] int cores() const { return spines_per_pod * cores_per_plane; }
};

/// The plan, or a diagnostic that says what would hold the nodes.
[[nodiscard]] Result<ClosPlan> plan_clos(const TopologyRequest& request);

/// Nodes and fabric of FabricKind::kFatTree.
[[nodiscard]] Result<Topology> build_fat_tree(const TopologyRequest& request);
/// FabricKind::kIdeal: one switch with a port for each NIC, at the NIC's speed.
[[nodiscard]] Result<Topology> build_ideal(const TopologyRequest& request);

}  // namespace foretrain
