// The inside of a node as a template that is stamped once per node: NVSwitch star, NVLink mesh,
// PCIe tree.
#pragma once

#include <string>
#include <vector>

#include "sim/core/diagnostics.h"
#include "topologies/build_topology.h"
#include "topologies/topology_builder.h"

namespace foretrain {

/// A node's devices and cables; positions count within the node.
struct NodeTemplate {
  struct Cable {
    int first = 0;
    int second = 0;
    CableSpec spec;
  };
  std::vector<Device> devices;  // `name` without the node: "gpu1"
  std::vector<Cable> cables;
  std::vector<int> gpus, nics;  // positions in `devices`
};

/// NICs that a GPU uses, by local index, ascending: with fewer NICs than GPUs several GPUs share
/// NIC floor(i nics / gpus); with more, GPU i has those from floor(i nics / gpus) to before the
/// next GPU's.
[[nodiscard]] std::vector<int> nics_of_gpu(int gpu, int gpus, int nics);

/// GPU pairs of a mesh with direct links and the share of the GPU's NVLink bandwidth on each: a
/// full mesh up to 4 GPUs, the hybrid cube mesh of DGX-1V for 8. Empty for sizes that no product
/// has.
/// @source DGX-1V: NVIDIA Tesla V100 whitepaper WP-08608 (2017), figure of the hybrid cube mesh.
struct MeshLink {
  int first = 0;
  int second = 0;
  double share = 0;
};
[[nodiscard]] std::vector<MeshLink> nvlink_mesh(int gpus);

/// GPUs and the NICs they use sit in pairs below PCIe switches, those below one host bridge per
/// socket. A node of one GPU has no NVLink.
[[nodiscard]] Result<NodeTemplate> make_node_template(const NodeShape& shape);

/// Adds node number `node` and ends it.
void stamp_node(TopologyBuilder& builder, const NodeTemplate& node_template, int node);

}  // namespace foretrain
