#include "topologies/intra_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace foretrain {
namespace {

int add(NodeTemplate& node, DeviceKind kind, const char* name, int index) {
  Device device;
  device.kind = kind;
  device.name = fmt::format("{}{}", name, index);
  device.local_index = index;
  node.devices.push_back(std::move(device));
  return static_cast<int>(node.devices.size()) - 1;
}

void connect(NodeTemplate& node, int first, int second, DataRate bandwidth, SimDuration latency,
             LinkTier tier) {
  CableSpec spec;
  spec.bandwidth = bandwidth;
  spec.latency = latency;
  spec.latency_back = latency;
  spec.tier = tier;
  node.cables.push_back({first, second, spec});
}

/// The GPU that a NIC sits next to: the first that uses it.
int owner_of_nic(int nic, const NodeShape& shape) {
  for (int gpu = 0; gpu < shape.gpus; ++gpu) {
    const std::vector<int> used = nics_of_gpu(gpu, shape.gpus, shape.nics);
    if (std::find(used.begin(), used.end(), nic) != used.end()) return gpu;
  }
  return 0;
}

void add_nvlink(NodeTemplate& node, const NodeShape& shape) {
  if (shape.gpus == 1 || shape.interconnect == IntraNode::kPcie) return;
  if (shape.interconnect == IntraNode::kNvSwitch) {
    const int hub = add(node, DeviceKind::kNvSwitch, "nvswitch", 0);
    const SimDuration half{(shape.nvlink_latency.count() + 1) / 2};
    for (const int gpu : node.gpus) {
      connect(node, gpu, hub, shape.nvlink_bandwidth, half, LinkTier::kNvlink);
      node.cables.back().spec.latency_back = shape.nvlink_latency - half;
    }
    return;
  }
  for (const MeshLink& link : nvlink_mesh(shape.gpus)) {
    connect(node, node.gpus[static_cast<std::size_t>(link.first)],
            node.gpus[static_cast<std::size_t>(link.second)], shape.nvlink_bandwidth * link.share,
            shape.nvlink_latency, LinkTier::kNvlink);
  }
}

void add_pcie(NodeTemplate& node, const NodeShape& shape) {
  if (shape.gpus == 1 && shape.nics == 0) return;
  const int num_switches = (shape.gpus + 1) / 2;
  const int num_sockets = num_switches > 1 ? 2 : 1;
  std::vector<int> bridges;
  for (int s = 0; s < num_sockets && num_switches > 1; ++s) {
    bridges.push_back(add(node, DeviceKind::kHostBridge, "socket", s));
  }
  if (num_sockets == 2) {
    const bool known = shape.socket_bandwidth > DataRate{};
    connect(node, bridges[0], bridges[1], known ? shape.socket_bandwidth : shape.pcie_bandwidth,
            known ? shape.socket_latency : shape.pcie_latency, LinkTier::kPcie);
  }
  std::vector<int> switches;
  for (int s = 0; s < num_switches; ++s) {
    switches.push_back(add(node, DeviceKind::kPcieSwitch, "pcie", s));
    if (!bridges.empty()) {
      const auto socket = static_cast<std::size_t>(s * num_sockets / num_switches);
      connect(node, switches.back(), bridges[socket], shape.pcie_bandwidth, shape.pcie_latency,
              LinkTier::kPcie);
    }
  }
  for (std::size_t gpu = 0; gpu < node.gpus.size(); ++gpu) {
    connect(node, node.gpus[gpu], switches[gpu / 2], shape.pcie_bandwidth, shape.pcie_latency,
            LinkTier::kPcie);
  }
  for (int nic = 0; nic < shape.nics; ++nic) {
    node.nics.push_back(add(node, DeviceKind::kNic, "nic", nic));
    connect(node, node.nics.back(),
            switches[static_cast<std::size_t>(owner_of_nic(nic, shape) / 2)], shape.pcie_bandwidth,
            shape.pcie_latency, LinkTier::kPcie);
  }
}

}  // namespace

std::vector<int> nics_of_gpu(int gpu, int gpus, int nics) {
  if (nics == 0) return {};
  std::vector<int> used;
  const auto at = [&](int i) { return static_cast<int>(std::int64_t{i} * nics / gpus); };
  for (int nic = at(gpu); nic < std::max(at(gpu + 1), at(gpu) + 1); ++nic) used.push_back(nic);
  return used;
}

std::vector<MeshLink> nvlink_mesh(int gpus) {
  std::vector<MeshLink> mesh;
  if (gpus == 8) {
    struct Edge {
      int first, second, links;
    };
    constexpr std::array<Edge, 16> kCubeMesh{{{0, 1, 1},
                                              {0, 2, 1},
                                              {0, 3, 2},
                                              {0, 4, 2},
                                              {1, 2, 2},
                                              {1, 3, 1},
                                              {1, 5, 2},
                                              {2, 3, 2},
                                              {2, 6, 1},
                                              {3, 7, 1},
                                              {4, 5, 1},
                                              {4, 6, 1},
                                              {4, 7, 2},
                                              {5, 6, 2},
                                              {5, 7, 1},
                                              {6, 7, 2}}};
    for (const Edge& edge : kCubeMesh) mesh.push_back({edge.first, edge.second, edge.links / 6.0});
    return mesh;
  }
  if (gpus > 4) return mesh;
  for (int i = 0; i < gpus; ++i) {
    for (int j = i + 1; j < gpus; ++j) mesh.push_back({i, j, 1.0 / (gpus - 1)});
  }
  return mesh;
}

Result<NodeTemplate> make_node_template(const NodeShape& shape) {
  if (shape.gpus < 1) return fail(fmt::format("a node needs a GPU, not {}", shape.gpus));
  if (shape.nics < 0) return fail(fmt::format("a node cannot have {} NICs", shape.nics));
  const bool nvlink = shape.gpus > 1 && shape.interconnect != IntraNode::kPcie;
  if (nvlink && !(shape.nvlink_bandwidth > DataRate{})) {
    return fail("the GPUs have no NVLink bandwidth",
                "use interconnect: pcie, or a GPU with NVLink");
  }
  if (shape.gpus > 1 && shape.interconnect == IntraNode::kNvlinkMesh &&
      nvlink_mesh(shape.gpus).empty()) {
    return fail(fmt::format("no NVLink mesh of {} GPUs is known", shape.gpus),
                "meshes have 2, 3, 4 or 8 GPUs; use interconnect: nvswitch");
  }
  if ((shape.gpus > 1 || shape.nics > 0) && !(shape.pcie_bandwidth > DataRate{})) {
    return fail("the node has no PCIe bandwidth");
  }
  if (shape.nics > 0 && !(shape.nic_bandwidth > DataRate{})) {
    return fail("the NICs have no bandwidth");
  }
  NodeTemplate node;
  for (int gpu = 0; gpu < shape.gpus; ++gpu)
    node.gpus.push_back(add(node, DeviceKind::kGpu, "gpu", gpu));
  add_nvlink(node, shape);
  add_pcie(node, shape);
  return node;
}

void stamp_node(TopologyBuilder& builder, const NodeTemplate& node_template, int node) {
  std::vector<DeviceId> ids;
  ids.reserve(node_template.devices.size());
  for (const Device& device : node_template.devices) {
    Device copy = device;
    copy.name = fmt::format("node{}/{}", node, device.name);
    copy.node = NodeId{node};
    ids.push_back(builder.add_device(std::move(copy)));
  }
  for (const NodeTemplate::Cable& cable : node_template.cables) {
    builder.add_cable(ids[static_cast<std::size_t>(cable.first)],
                      ids[static_cast<std::size_t>(cable.second)], cable.spec);
  }
  builder.finish_node();
}

}  // namespace foretrain
