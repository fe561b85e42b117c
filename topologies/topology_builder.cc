#include "topologies/topology_builder.h"

#include <utility>

namespace foretrain {

void TopologyBuilder::reserve(std::size_t devices, std::size_t links) {
  topology_.devices_.reserve(devices);
  topology_.links_.reserve(links);
}

DeviceId TopologyBuilder::add_device(Device device) {
  const DeviceId id{static_cast<std::int32_t>(topology_.devices_.size())};
  if (device.kind == DeviceKind::kGpu) topology_.gpus_.push_back(id);
  if (device.kind == DeviceKind::kNic) topology_.nics_.push_back(id);
  topology_.devices_.push_back(std::move(device));
  return id;
}

LinkId TopologyBuilder::add_cable(DeviceId first, DeviceId second, const CableSpec& cable) {
  const std::size_t count = topology_.devices_.size();
  FORETRAIN_EXPECTS(first.position() < count && second.position() < count && first != second,
                    "a cable joins two devices that exist");
  FORETRAIN_EXPECTS(cable.bandwidth > DataRate{} && cable.cables >= 1, "a cable carries data");
  const LinkId id{static_cast<std::int32_t>(topology_.links_.size())};
  topology_.links_.push_back(
      {first, second, cable.bandwidth, cable.latency, cable.tier, cable.tier_index, cable.cables});
  topology_.links_.push_back({second, first, cable.bandwidth, cable.latency_back, cable.tier,
                              cable.tier_index, cable.cables});
  return id;
}

void TopologyBuilder::finish_node() {
  Topology& t = topology_;
  ++t.num_nodes_;
  if (t.num_nodes_ == 1) {
    t.devices_per_node_ = static_cast<int>(t.devices_.size());
    t.links_per_node_ = static_cast<int>(t.links_.size());
    t.gpus_per_node_ = static_cast<int>(t.gpus_.size());
  }
  const auto nodes = static_cast<std::size_t>(t.num_nodes_);
  FORETRAIN_EXPECTS(t.devices_.size() == nodes * static_cast<std::size_t>(t.devices_per_node_) &&
                        t.links_.size() == nodes * static_cast<std::size_t>(t.links_per_node_) &&
                        t.gpus_.size() == nodes * static_cast<std::size_t>(t.gpus_per_node_),
                    "all nodes are alike");
}

Topology TopologyBuilder::build() {
  Topology& t = topology_;
  FORETRAIN_EXPECTS(t.num_nodes_ >= 1 && !t.gpus_.empty(), "a topology has nodes with GPUs");
  FORETRAIN_EXPECTS(t.nics_.size() % static_cast<std::size_t>(t.num_nodes_) == 0,
                    "all nodes have as many NICs");
  t.links_begin_.assign(t.devices_.size() + 1, 0);
  for (const Link& link : t.links_) ++t.links_begin_[link.from.position() + 1];
  for (std::size_t d = 0; d < t.devices_.size(); ++d) {
    FORETRAIN_EXPECTS(t.links_begin_[d + 1] > 0 || t.devices_.size() == 1,
                      "every device has a link");
    t.links_begin_[d + 1] += t.links_begin_[d];
  }
  t.links_from_.resize(t.links_.size());
  std::vector<std::size_t> next(t.links_begin_.begin(), t.links_begin_.end() - 1);
  for (std::size_t l = 0; l < t.links_.size(); ++l) {
    t.links_from_[next[t.links_[l].from.position()]++] = LinkId{static_cast<std::int32_t>(l)};
  }
  return std::move(topology_);
}

}  // namespace foretrain
