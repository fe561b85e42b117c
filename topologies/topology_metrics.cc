#include "topologies/topology_metrics.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

namespace foretrain {
namespace {

constexpr std::array<const char*, 3> kSwitchTiers{"leaf", "spine", "core"};
constexpr std::array<const char*, 3> kCableTiers{"host-leaf", "leaf-spine", "spine-core"};

/// Bandwidth that wants to leave a part of the fabric: from the first half of the nodes, to the
/// second.
struct Surplus {
  double first = 0;
  double second = 0;
};

/// Lets a part serve what meets inside it; the rest goes on, as far as `uplinks` carry it.
/// @return what met inside.
double meet(Surplus& part, double uplinks) {
  const double met = std::min(part.first, part.second);
  part.first = std::min(part.first - met, uplinks);
  part.second = std::min(part.second - met, uplinks);
  return met;
}

/// One leaf as the metrics see it.
struct LeafLoad {
  std::int64_t nics = 0;
  double uplinks = 0;  // bit/s
  Surplus surplus;
};

class FabricCounts {
 public:
  explicit FabricCounts(const Topology& topology) : topology_(topology) {
    for (const Link& link : topology.links()) {
      if (link.tier == LinkTier::kHostLink || link.tier == LinkTier::kInterSwitch) add(link);
    }
  }

  void fill(TopologyMetrics& metrics) const {
    fill_counts(metrics);
    fill_hops(metrics);
    fill_bisection(metrics);
  }

 private:
  void add(const Link& link) {
    const Device& from = topology_.device(link.from);
    const Device& to = topology_.device(link.to);
    if (from.kind == DeviceKind::kNic) {
      LeafLoad& leaf = leaves_[link.to];
      const bool first_half = from.node.index() < topology_.num_nodes() / 2;
      (first_half ? leaf.surplus.first : leaf.surplus.second) += link.bandwidth.bits_per_second();
      ++leaf.nics;
    } else if (to.tier > from.tier) {
      if (from.tier == 1) leaves_[link.from].uplinks += link.bandwidth.bits_per_second();
      if (from.tier == 2) pod_uplinks_[from.pod] += link.bandwidth.bits_per_second();
    }
    if (to.tier > from.tier) cables_[static_cast<std::size_t>(to.tier - 1)] += link.cables;
  }

  void fill_counts(TopologyMetrics& metrics) const {
    std::array<int, 3> switches{};
    for (const Device& device : topology_.devices()) {
      if (device.kind == DeviceKind::kSwitch) ++switches[static_cast<std::size_t>(device.tier - 1)];
    }
    for (std::size_t tier = 0; tier < 3; ++tier) {
      metrics.switches += switches[tier];
      metrics.cables += cables_[tier];
      const int ports = cables_[tier] + (tier < 2 ? cables_[tier + 1] : 0);
      if (switches[tier] > 0)
        metrics.switch_tiers.push_back({kSwitchTiers[tier], switches[tier], ports});
      if (cables_[tier] > 0)
        metrics.cable_tiers.push_back({kCableTiers[tier], cables_[tier], 2 * cables_[tier]});
    }
  }

  /// Fabrics without a common top are separate: the rail of a rail-only fabric, else 0.
  int component(DeviceId leaf) const {
    return topology_.fabric().rail_only ? topology_.device(leaf).rail : 0;
  }

  void fill_hops(TopologyMetrics& metrics) const {
    // Ordered pairs within a leaf, a pod and a component; each contains the one before.
    std::map<int, std::int64_t> pod_nics, component_nics;
    double leaf_pairs = 0, pod_pairs = 0, all_pairs = 0;
    const auto pairs = [](std::int64_t n) {
      return static_cast<double>(n) * static_cast<double>(n - 1);
    };
    for (const auto& [leaf, load] : leaves_) {
      leaf_pairs += pairs(load.nics);
      pod_nics[topology_.device(leaf).pod] += load.nics;
      component_nics[component(leaf)] += load.nics;
    }
    for (const auto& [pod, nics] : pod_nics) pod_pairs += pairs(nics);
    for (const auto& [part, nics] : component_nics) all_pairs += pairs(nics);
    if (all_pairs <= 0) return;
    metrics.mean_hops =
        (2 * leaf_pairs + 4 * (pod_pairs - leaf_pairs) + 6 * (all_pairs - pod_pairs)) / all_pairs;
    metrics.diameter_hops = all_pairs > pod_pairs ? 6 : pod_pairs > leaf_pairs ? 4 : 2;
  }

  void fill_bisection(TopologyMetrics& metrics) const {
    double flow = 0;
    std::map<int, Surplus> pods;
    std::map<int, int> component_of_pod;
    for (const auto& [leaf, load] : leaves_) {
      Surplus surplus = load.surplus;
      flow += meet(surplus, load.uplinks);
      const int pod = topology_.device(leaf).pod;
      pods[pod].first += surplus.first;
      pods[pod].second += surplus.second;
      component_of_pod[pod] = component(leaf);
    }
    std::map<int, Surplus> components;
    for (auto& [pod, surplus] : pods) {
      const auto up = pod_uplinks_.find(pod);
      flow += meet(surplus, up == pod_uplinks_.end() ? 0.0 : up->second);
      components[component_of_pod[pod]].first += surplus.first;
      components[component_of_pod[pod]].second += surplus.second;
    }
    for (auto& [part, surplus] : components) flow += meet(surplus, 0.0);
    metrics.bisection = DataRate::from_bits_per_second(flow);
    metrics.bisection_per_gpu = metrics.bisection / (static_cast<double>(metrics.gpus) / 2);
  }

  const Topology& topology_;
  std::map<DeviceId, LeafLoad> leaves_;
  std::map<int, double> pod_uplinks_;
  std::array<int, 3> cables_{};  // NIC to leaf, leaf to spine, spine to core
};

}  // namespace

TopologyMetrics compute_metrics(const Topology& topology) {
  TopologyMetrics metrics;
  metrics.gpus = topology.num_gpus();
  metrics.nodes = topology.num_nodes();
  metrics.links = static_cast<int>(topology.links().size());
  FabricCounts{topology}.fill(metrics);
  return metrics;
}

}  // namespace foretrain
