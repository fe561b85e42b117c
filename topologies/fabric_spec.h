// What a scenario says about a fabric, typed and with defaults resolved. Adding a fabric means a
// new FabricKind, its fields here, and a generator registered in build_topology.cc.
#pragma once

#include <vector>

#include "sim/core/units.h"

namespace foretrain {

enum class FabricKind { kFatTree, kIdeal };
enum class Routing { kEcmp, kSpray };

/// How the NICs of a node meet the leaves: `rails` = 1 puts them all on one leaf; R > 1 puts NIC i
/// on leaf i mod R of the node's scalable unit (rail-optimized); rail_only has no switch above a
/// rail's own Clos.
struct FabricSpec {
  FabricKind kind = FabricKind::kFatTree;
  int tiers = 2;  // 1, 2 or 3 switch tiers
  int rails = 1;
  bool rail_only = false;
  int switch_ports = 64;  // radix k
  // Per boundary from the leaf up; the last one repeats; may be below 1.
  std::vector<double> oversubscription = {1.0};
  DataRate link_bandwidth;  // cable bandwidth, one direction; payload efficiency is in the NIC
  double payload_efficiency = 1.0;
  SimDuration link_latency{};    // propagation of one cable
  SimDuration switch_latency{};  // port to port
  Routing routing = Routing::kEcmp;
};

}  // namespace foretrain
