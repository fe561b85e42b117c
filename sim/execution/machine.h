// From what a scenario says of a cluster to what the topology generators need.
#pragma once

#include <string>

#include "sim/core/diagnostics.h"
#include "sim/scenario/scenario.h"
#include "topologies/build_topology.h"

namespace foretrain {

/// The request for `cluster`. PCIe, NVLink and socket figures come from interconnects.yaml in
/// `catalog_dir`. A fabric without its own link bandwidth has cables at the NIC's; one without its
/// own payload efficiency (1) loses to headers what the NIC loses.
/// @return diagnostics if the file cannot be read, is wrong or lacks the node's PCIe generation or
/// CPU.
[[nodiscard]] Result<TopologyRequest> topology_request(const ClusterSpec& cluster,
                                                       const std::string& catalog_dir);

}  // namespace foretrain
