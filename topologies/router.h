// Routes of a flow as a usage vector: which directed links carry what share of it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"
#include "topologies/fabric_spec.h"
#include "topologies/topology.h"

namespace foretrain {

/// A link and the share of the flow's bytes that crosses it (1 = all of them).
struct LinkShare {
  LinkId link;
  double share = 0;
  bool operator==(const LinkShare&) const = default;
};

struct FlowRoute {
  std::vector<LinkShare> links;  // sorted by link id, no duplicates
  SimDuration latency{};         // of the longest path used
  int hops = 0;                  // links of the longest path used
};

struct RouteTables;

/// Which NIC serves which GPU, and how a flow between two GPUs travels. GPUs of one node use
/// NVLink (NVSwitch: up and down link; mesh: the direct links, else a relay GPU; PCIe: the tree);
/// GPUs of different nodes go GPU - PCIe - NIC - fabric - NIC - PCIe - GPU. With several NICs per
/// GPU the flow is split evenly. Cross-rail flows on a rail-optimized fabric follow NCCL's PXN:
/// over NVLink to the GPU of the destination's rail first (`pxn` below). Where that is impossible
/// and the fabric does not join the rails, the source reaches the NIC of that rail over PCIe.
///
/// ECMP hashes once per switch, with a hash of its own, over all cables that lead on. Spraying
/// splits by cables at each switch, so that each equal-cost cable carries the same share.
class Router {
 public:
  struct Options {
    Routing routing = Routing::kEcmp;
    std::uint64_t seed = 1;
    bool pxn = true;
  };
  Router(const Topology& topology, Options options);

  /// The route of flow `label` (a hash input: same endpoints with other labels may take other
  /// paths). Complexity O(path length), or O(equal-cost links) when spraying. @pre source !=
  /// destination.
  [[nodiscard]] FlowRoute route(DeviceId source_gpu, DeviceId destination_gpu,
                                std::uint64_t label) const;

 private:
  const Topology* topology_;
  Options options_;
  std::shared_ptr<const RouteTables> tables_;  // shared: copies of a router stay cheap
};

}  // namespace foretrain
