// Fabrics for the tests, and oracles that know nothing of tiers: breadth-first search and maximum
// flow.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "topologies/build_topology.h"

namespace foretrain {

/// The DGX H100 figures, rounded: 8 GPUs, 8 NICs of 50 GB/s.
inline TopologyRequest superpod(int nodes, int tiers, int rails = 8) {
  TopologyRequest request;
  request.nodes = nodes;
  request.node.nvlink_bandwidth = gigabytes_per_second(450);
  request.node.nvlink_latency = std::chrono::nanoseconds(700);
  request.node.pcie_bandwidth = gigabytes_per_second(57);
  request.node.pcie_latency = std::chrono::nanoseconds(150);
  request.node.nic_bandwidth = gigabytes_per_second(50);
  request.node.nic_latency = std::chrono::nanoseconds(500);
  request.fabric.tiers = tiers;
  request.fabric.rails = rails;
  request.fabric.switch_ports = 64;
  request.fabric.link_bandwidth = gigabytes_per_second(50);
  request.fabric.link_latency = std::chrono::nanoseconds(100);
  request.fabric.switch_latency = std::chrono::nanoseconds(200);
  return request;
}

/// Hosts of one GPU and one NIC, as in the literature.
inline TopologyRequest plain_hosts(int hosts, int tiers, int ports) {
  TopologyRequest request = superpod(hosts, tiers, 1);
  request.node.gpus = 1;
  request.node.nics = 1;
  request.fabric.switch_ports = ports;
  return request;
}

inline Topology built(const TopologyRequest& request) {
  Result<Topology> topology = build_topology(request);
  if (!topology) {
    ADD_FAILURE() << to_string(topology.error());
    std::abort();
  }
  return std::move(*topology);
}

inline std::string error_of(const TopologyRequest& request) {
  const Result<Topology> topology = build_topology(request);
  return topology ? "" : to_string(topology.error());
}

inline bool in_fabric(const Link& link) {
  return link.tier == LinkTier::kHostLink || link.tier == LinkTier::kInterSwitch;
}

/// Hops between NICs over fabric links, by breadth-first search from each NIC.
struct HopOracle {
  int diameter = 0;
  double mean = 0;
};
HopOracle hops_by_search(const Topology& topology);

/// Largest flow from the NICs of the first half of the nodes to the others, bytes per second.
double bisection_by_max_flow(const Topology& topology);

}  // namespace foretrain
