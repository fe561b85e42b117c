// From fabric and node description to the sealed graph. New fabrics register here.
#pragma once

#include "sim/core/diagnostics.h"
#include "topologies/fabric_spec.h"
#include "topologies/topology.h"

namespace foretrain {

enum class IntraNode { kNvSwitch, kNvlinkMesh, kPcie };

/// What a generator needs to know of a node, without the catalog.
struct NodeShape {
  int gpus = 8;
  int nics = 8;
  IntraNode interconnect = IntraNode::kNvSwitch;
  DataRate nvlink_bandwidth;     // per GPU, one direction
  SimDuration nvlink_latency{};  // GPU to GPU: through the NVSwitch, or over one direct link
  DataRate pcie_bandwidth;       // x16 payload, one direction
  SimDuration pcie_latency{};    // of one PCIe link and the switch or root port it leads to
  DataRate socket_bandwidth;     // between the two CPU sockets, one direction; 0: as PCIe
  SimDuration socket_latency{};
  DataRate nic_bandwidth;     // payload, one direction
  SimDuration nic_latency{};  // one side
};

struct TopologyRequest {
  FabricSpec fabric;
  NodeShape node;
  int nodes = 1;
};

/// Builds the graph; a fabric that cannot be wired (too many nodes for radix and tiers …) is a
/// diagnostic that says what would hold them. Host links carry min(NIC, cable) bandwidth.
[[nodiscard]] Result<Topology> build_topology(const TopologyRequest& request);

}  // namespace foretrain
