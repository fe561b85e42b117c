#include "topologies/topology.h"

namespace foretrain {

std::span<const DeviceId> Topology::nics(NodeId node) const {
  const std::size_t per_node =
      num_nodes_ == 0 ? 0 : nics_.size() / static_cast<std::size_t>(num_nodes_);
  return std::span<const DeviceId>{nics_}.subspan(node.position() * per_node, per_node);
}

std::span<const LinkId> Topology::links_from(DeviceId id) const {
  const std::size_t begin = links_begin_[id.position()];
  return std::span<const LinkId>{links_from_}.subspan(begin,
                                                      links_begin_[id.position() + 1] - begin);
}

}  // namespace foretrain
