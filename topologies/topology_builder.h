// Collects devices and links, checks them and seals the graph: the only way to a Topology.
#pragma once

#include <cstddef>
#include <utility>

#include "topologies/fabric_spec.h"
#include "topologies/topology.h"

namespace foretrain {

/// What both directions of a cable share, and what they do not.
struct CableSpec {
  DataRate bandwidth;     // one direction, all parallel cables together
  SimDuration latency{};  // from the first to the second device
  SimDuration latency_back{};
  LinkTier tier = LinkTier::kInterSwitch;
  int tier_index = 0;
  int cables = 1;
};

/// Add the nodes first, one after the other and all alike (`finish_node` after each), then the
/// fabric.
class TopologyBuilder {
 public:
  explicit TopologyBuilder(FabricSpec fabric) { topology_.fabric_ = std::move(fabric); }

  void reserve(std::size_t devices, std::size_t links);
  DeviceId add_device(Device device);
  /// Two directed links: `first` to `second`, and back with the next id.
  LinkId add_cable(DeviceId first, DeviceId second, const CableSpec& cable);
  /// Ends a node. @pre all nodes have as many devices and links as the first one.
  void finish_node();

  /// Checks that ids are dense, no end dangles, every device is wired and every link has bandwidth.
  /// @pre the builder is used once.
  [[nodiscard]] Topology build();

 private:
  Topology topology_;
};

}  // namespace foretrain
