// A sealed graph of devices and directed links. Made only by TopologyBuilder; const for ever.
// A cable is two directed links. Ids are dense and in order of creation, so they are the same on
// every run.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"
#include "topologies/fabric_spec.h"

namespace foretrain {

enum class DeviceKind { kGpu, kNvSwitch, kPcieSwitch, kHostBridge, kNic, kSwitch };
/// Where a link sits: inside a node, between NIC and leaf, or between switch tiers.
enum class LinkTier { kNvlink, kPcie, kHostLink, kInterSwitch };

struct Device {
  DeviceKind kind = DeviceKind::kGpu;
  std::string name;      // "node3/gpu1", "leaf5", "spine2", "core7"
  NodeId node;           // the host, or an invalid id for fabric switches
  int local_index = -1;  // GPU or NIC number within its node
  int tier = 0;          // 0 inside nodes, 1 leaf, 2 spine, 3 core
  int pod = -1;          // leaves and spines that meet without a core; numbered over the fabric
  int unit = -1;         // leaves: the scalable unit whose nodes they serve
  int rail = -1;         // leaves of a fabric with rails, all switches of a rail-only fabric
};

struct Link {
  DeviceId from;
  DeviceId to;
  DataRate bandwidth;     // payload bandwidth, one direction
  SimDuration latency{};  // propagation plus the port-to-port latency of the switch it leads to
  LinkTier tier = LinkTier::kNvlink;
  int tier_index = 0;  // for kInterSwitch: 1 leaf-spine, 2 spine-core
  int cables = 1;      // parallel cables merged in this link
};

/// The sealed graph. Queries are O(1) unless said.
class Topology {
 public:
  [[nodiscard]] std::span<const Device> devices() const { return devices_; }
  [[nodiscard]] std::span<const Link> links() const { return links_; }
  [[nodiscard]] const Device& device(DeviceId id) const { return devices_[id.position()]; }
  [[nodiscard]] const Link& link(LinkId id) const { return links_[id.position()]; }
  [[nodiscard]] int num_nodes() const { return num_nodes_; }
  [[nodiscard]] int num_gpus() const { return static_cast<int>(gpus_.size()); }
  [[nodiscard]] int gpus_per_node() const { return gpus_per_node_; }
  /// GPU number i of the cluster: node i / gpus_per_node, local index i % gpus_per_node.
  [[nodiscard]] DeviceId gpu(int index) const { return gpus_[static_cast<std::size_t>(index)]; }
  /// What the graph was generated from.
  [[nodiscard]] const FabricSpec& fabric() const { return fabric_; }
  /// Nodes are copies of one template and come first: device d and link l of node n have the ids
  /// n * devices_per_node() + d and n * links_per_node() + l. Fabric devices and links follow.
  [[nodiscard]] int devices_per_node() const { return devices_per_node_; }
  [[nodiscard]] int links_per_node() const { return links_per_node_; }
  /// NIC devices of a node, by local index.
  [[nodiscard]] std::span<const DeviceId> nics(NodeId node) const;
  /// Links that leave a device, in order of id.
  [[nodiscard]] std::span<const LinkId> links_from(DeviceId id) const;

 private:
  friend class TopologyBuilder;
  Topology() = default;
  std::vector<Device> devices_;
  std::vector<Link> links_;
  std::vector<DeviceId> gpus_;
  std::vector<DeviceId> nics_;            // by node, then local index
  std::vector<LinkId> links_from_;        // grouped by device, in order of id
  std::vector<std::size_t> links_begin_;  // first of a device in links_from_; one more at the end
  int num_nodes_ = 0;
  int gpus_per_node_ = 0;
  int devices_per_node_ = 0;
  int links_per_node_ = 0;
  FabricSpec fabric_;
};

}  // namespace foretrain
