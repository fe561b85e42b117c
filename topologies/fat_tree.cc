#include "topologies/fat_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "topologies/intra_node.h"
#include "topologies/topology_builder.h"

namespace foretrain {
namespace {

constexpr double kRatioSlack = 1e-9;  // a quotient that should be whole may miss by rounding

int divide_up(int a, int b) { return (a + b - 1) / b; }

double oversubscription_at(const FabricSpec& fabric, std::size_t boundary) {
  return fabric.oversubscription[std::min(boundary, fabric.oversubscription.size() - 1)];
}

/// How `children` switches with `up` uplinks each meet a layer of parents, all alike.
struct Spread {
  int parents = 0;
  int up = 0;
};

/// The fewest parents such that each child meets each parent with equally many cables. Prefers to
/// keep `up`; rounds it up to a multiple of the parents where that would more than double the
/// parents.
std::optional<Spread> spread(int children, int up, int parent_ports, int most_up) {
  if (children > parent_ports) return std::nullopt;
  const int fewest = divide_up(children * up, parent_ports);
  for (int parents = fewest; parents <= std::min(2 * fewest, up); ++parents) {
    if (up % parents == 0) return Spread{parents, up};
  }
  for (int parents = fewest; parents < up; ++parents) {
    const int rounded = divide_up(up, parents) * parents;
    if (rounded <= most_up && children * (rounded / parents) <= parent_ports) {
      return Spread{parents, rounded};
    }
  }
  return Spread{up, up};
}

tl::unexpected<Diagnostics> fabric_fail(const char* field, std::string message,
                                        std::string hint = {}) {
  return fail(SourceLocation{}, fmt::format("cluster.fabric.{}", field), std::move(message),
              std::move(hint));
}

DataRate cable_bandwidth(const TopologyRequest& request) {
  const FabricSpec& fabric = request.fabric;
  if (!(fabric.link_bandwidth > DataRate{})) return request.node.nic_bandwidth;
  return fabric.link_bandwidth * fabric.payload_efficiency;
}

/// Host bandwidth over uplink bandwidth. Headers differ by some percent between NIC and cable
/// figures; what counts is into how many host ports a switch port splits.
double host_share(const TopologyRequest& request) {
  constexpr double kHeaders = 0.1;
  const double share = std::min(1.0, request.node.nic_bandwidth / cable_bandwidth(request));
  const double whole = 1.0 / std::round(1.0 / share);
  return std::abs(share / whole - 1.0) <= kHeaders ? whole : share;
}

Result<void> check_fabric(const TopologyRequest& request) {
  const FabricSpec& fabric = request.fabric;
  if (fabric.tiers < 1 || fabric.tiers > 3) {
    return fabric_fail("tiers",
                       fmt::format("a fat-tree has 1, 2 or 3 tiers, not {}", fabric.tiers));
  }
  if (fabric.switch_ports < 2) {
    return fabric_fail("switch_ports",
                       fmt::format("a switch needs 2 ports, not {}", fabric.switch_ports));
  }
  if (fabric.oversubscription.empty() ||
      !std::all_of(fabric.oversubscription.begin(), fabric.oversubscription.end(),
                   [](double o) { return o > 0 && std::isfinite(o); })) {
    return fabric_fail("oversubscription",
                       "must be a positive number, or a list of them from the leaf up");
  }
  const int nics = request.node.nics;
  if (fabric.rails < 1 || nics % fabric.rails != 0) {
    std::string allowed;
    for (int r = 1; r <= nics; ++r) {
      if (nics % r == 0) allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", r);
    }
    return fabric_fail(
        "rails", fmt::format("{} rails do not divide the {} NICs of a node", fabric.rails, nics),
        fmt::format("possible: {}", allowed));
  }
  if (fabric.tiers == 1 && fabric.rails > 1 && !fabric.rail_only) {
    return fabric_fail("rails",
                       fmt::format("{} rails on one switch tier would not meet", fabric.rails),
                       "use tiers: 2, rails: 1, or rail_only: true");
  }
  return {};
}

/// Ports and node counts that do not depend on the number of nodes.
struct ClosLimits {
  PortSplit leaf, spine;
  int leaves_per_unit = 1;
  int nics_per_leaf_node = 1;
  int nodes_per_unit = 0;
  int units_per_pod = 0;
  std::int64_t most_nodes = 0;
};

ClosLimits limits_of(const TopologyRequest& request, int tiers) {
  const FabricSpec& fabric = request.fabric;
  const int ports = fabric.switch_ports;
  ClosLimits limits;
  limits.leaf = tiers == 1
                    ? PortSplit{ports, 0}
                    : split_ports(ports, oversubscription_at(fabric, 0), host_share(request));
  limits.spine =
      tiers < 3 ? PortSplit{ports, 0} : split_ports(ports, oversubscription_at(fabric, 1));
  limits.leaves_per_unit = fabric.rail_only ? 1 : fabric.rails;
  limits.nics_per_leaf_node = request.node.nics / fabric.rails;
  limits.nodes_per_unit = limits.leaf.down / limits.nics_per_leaf_node;
  limits.units_per_pod = tiers == 1 ? 1 : limits.spine.down / limits.leaves_per_unit;
  limits.most_nodes = std::int64_t{limits.nodes_per_unit} * limits.units_per_pod;
  if (tiers == 3) limits.most_nodes *= ports;
  return limits;
}

tl::unexpected<Diagnostics> too_small(const TopologyRequest& request, const ClosLimits& limits) {
  const FabricSpec& fabric = request.fabric;
  const int nics = request.node.nics;
  if (limits.nodes_per_unit == 0) {
    std::string hint = "use switches with more ports";
    for (int rails = fabric.rails + 1; rails <= nics; ++rails) {
      if (nics % rails == 0 && nics / rails <= limits.leaf.down && fabric.tiers > 1) {
        hint = fmt::format("spread the NICs of a node over more leaves: rails: {}", rails);
        break;
      }
    }
    return fabric_fail("rails",
                       fmt::format("a leaf has {} host ports, but {} NICs of a node need one",
                                   limits.leaf.down, limits.nics_per_leaf_node),
                       hint);
  }
  if (limits.units_per_pod == 0) {
    std::string hint = "use switches with more ports";
    for (int rails = fabric.rails - 1; rails >= 1; --rails) {
      TopologyRequest fewer = request;
      fewer.fabric.rails = rails;
      if (nics % rails != 0 || limits_of(fewer, fabric.tiers).most_nodes < request.nodes) continue;
      hint = fmt::format("rails: {} would fit", rails);
      break;
    }
    return fabric_fail(
        "rails",
        fmt::format("a spine has {} ports for leaves, but a unit of {} rails has {} leaves",
                    limits.spine.down, fabric.rails, limits.leaves_per_unit),
        hint);
  }
  std::string hint;
  for (int tiers = fabric.tiers + 1; tiers <= 3; ++tiers) {
    const std::int64_t most = limits_of(request, tiers).most_nodes;
    if (most >= request.nodes) {
      hint = fmt::format("tiers: {} holds {} nodes", tiers, most);
      break;
    }
  }
  if (hint.empty()) hint = fmt::format("use switches with more than {} ports", fabric.switch_ports);
  return fabric_fail(
      "tiers",
      fmt::format("{} tier{} of {}-port switches hold{} {} nodes of {} NICs, not {}", fabric.tiers,
                  fabric.tiers == 1 ? "" : "s", fabric.switch_ports, fabric.tiers == 1 ? "s" : "",
                  limits.most_nodes, nics, request.nodes),
      hint);
}

/// The layers of one Clos as devices of a builder.
class ClosWiring {
 public:
  ClosWiring(const TopologyRequest& request, const ClosPlan& plan, TopologyBuilder& builder)
      : plan_(plan), builder_(builder), fabric_(request.fabric) {
    cable_.bandwidth = cable_bandwidth(request);
    cable_.latency = fabric_.link_latency + fabric_.switch_latency;
    cable_.latency_back = cable_.latency;
    host_.bandwidth = std::min(request.node.nic_bandwidth, cable_.bandwidth);
    host_.latency_back = request.node.nic_latency + fabric_.link_latency;
    host_.latency = host_.latency_back + fabric_.switch_latency;
    host_.tier = LinkTier::kHostLink;
  }

  /// Adds the switches of Clos number `index` (the rail, in a rail-only fabric) and their cables.
  void add_switches(int index) {
    leaves_.clear();
    const int pod_base = index * plan_.pods;
    for (int l = 0; l < plan_.leaves(); ++l) {
      Device leaf = fabric_switch("leaf", index * plan_.leaves() + l, 1);
      leaf.unit = l / plan_.leaves_per_unit;
      leaf.pod = pod_base + leaf.unit / plan_.units_per_pod;
      if (fabric_.rails > 1) leaf.rail = fabric_.rail_only ? index : l % plan_.leaves_per_unit;
      leaves_.push_back(builder_.add_device(std::move(leaf)));
    }
    std::vector<DeviceId> spines, cores;
    for (int s = 0; s < plan_.spines(); ++s) {
      Device spine = fabric_switch("spine", index * plan_.spines() + s, 2);
      spine.pod = pod_base + s / plan_.spines_per_pod;
      if (fabric_.rail_only && fabric_.rails > 1) spine.rail = index;
      spines.push_back(builder_.add_device(std::move(spine)));
    }
    for (int c = 0; c < plan_.cores(); ++c) {
      Device core = fabric_switch("core", index * plan_.cores() + c, 3);
      if (fabric_.rail_only && fabric_.rails > 1) core.rail = index;
      cores.push_back(builder_.add_device(std::move(core)));
    }
    if (!spines.empty()) add_leaf_cables(spines);
    if (!cores.empty()) add_spine_cables(spines, cores);
  }

  void add_host_link(DeviceId nic, int node, int nic_index) {
    const int unit = node / plan_.nodes_per_unit;
    const int rail = fabric_.rail_only ? 0 : nic_index % fabric_.rails;
    builder_.add_cable(nic, leaves_[position(unit * plan_.leaves_per_unit + rail)], host_);
  }

 private:
  static std::size_t position(int index) { return static_cast<std::size_t>(index); }

  static Device fabric_switch(const char* name, int number, int tier) {
    Device device;
    device.kind = DeviceKind::kSwitch;
    device.name = fmt::format("{}{}", name, number);
    device.tier = tier;
    return device;
  }

  void add_leaf_cables(const std::vector<DeviceId>& spines) {
    for (int l = 0; l < plan_.leaves(); ++l) {
      const int pod = l / (plan_.units_per_pod * plan_.leaves_per_unit);
      for (int s = 0; s < plan_.spines_per_pod; ++s) {
        add_bundle(leaves_[position(l)], spines[position(pod * plan_.spines_per_pod + s)],
                   plan_.leaf_up / plan_.spines_per_pod, 1);
      }
    }
  }

  void add_spine_cables(const std::vector<DeviceId>& spines, const std::vector<DeviceId>& cores) {
    for (int s = 0; s < plan_.spines(); ++s) {
      const int plane = s % plan_.spines_per_pod;
      for (int c = 0; c < plan_.cores_per_plane; ++c) {
        add_bundle(spines[position(s)], cores[position(plane * plan_.cores_per_plane + c)],
                   plan_.spine_up / plan_.cores_per_plane, 2);
      }
    }
  }

  /// A hash sends a flow to one cable, so each cable is a link of its own; a sprayed flow loads
  /// them all alike, so one link with the sum carries the same traffic at a fraction of the
  /// entries.
  void add_bundle(DeviceId low, DeviceId high, int cables, int tier_index) {
    CableSpec cable = cable_;
    cable.tier_index = tier_index;
    if (fabric_.routing == Routing::kSpray) {
      cable.cables = cables;
      cable.bandwidth = cable.bandwidth * cables;
      builder_.add_cable(low, high, cable);
      return;
    }
    for (int i = 0; i < cables; ++i) builder_.add_cable(low, high, cable);
  }

  const ClosPlan plan_;
  TopologyBuilder& builder_;
  const FabricSpec fabric_;
  CableSpec cable_, host_;
  std::vector<DeviceId> leaves_;
};

/// NIC devices by node and local index, once all nodes are stamped.
std::vector<DeviceId> stamp_nodes(const NodeTemplate& node, int nodes, TopologyBuilder& builder) {
  std::vector<DeviceId> nics;
  for (int n = 0; n < nodes; ++n) {
    stamp_node(builder, node, n);
    for (const int nic : node.nics) {
      nics.push_back(DeviceId{n * static_cast<int>(node.devices.size()) + nic});
    }
  }
  return nics;
}

}  // namespace

PortSplit split_ports(int ports, double oversubscription, double host_share) {
  const double down_per_up = oversubscription / host_share;
  const int up =
      std::max(1, static_cast<int>(std::floor(ports / (1.0 + down_per_up) + kRatioSlack)));
  const double down = std::floor(up * down_per_up + kRatioSlack);
  return {static_cast<int>(std::min(down, static_cast<double>(ports - up))), up};
}

Result<ClosPlan> plan_clos(const TopologyRequest& request) {
  if (Result<void> checked = check_fabric(request); !checked) {
    return tl::make_unexpected(checked.error());
  }
  const FabricSpec& fabric = request.fabric;
  const ClosLimits limits = limits_of(request, fabric.tiers);
  if (request.nodes > limits.most_nodes) return too_small(request, limits);
  ClosPlan plan;
  plan.leaves_per_unit = limits.leaves_per_unit;
  plan.nodes_per_unit = limits.nodes_per_unit;
  plan.nics_per_leaf_node = limits.nics_per_leaf_node;
  plan.units = divide_up(request.nodes, plan.nodes_per_unit);
  plan.units_per_pod = limits.units_per_pod;
  plan.pods = divide_up(plan.units, plan.units_per_pod);
  if (plan.leaves() == 1) return plan;

  const int leaf_down = std::min(request.nodes, plan.nodes_per_unit) * plan.nics_per_leaf_node;
  const double wanted_up = leaf_down * host_share(request) / oversubscription_at(fabric, 0);
  const int up =
      std::clamp(static_cast<int>(std::ceil(wanted_up - kRatioSlack)), 1, limits.leaf.up);
  const int pod_leaves = std::min(plan.units, plan.units_per_pod) * plan.leaves_per_unit;
  const int spine_down = plan.pods == 1 ? fabric.switch_ports : limits.spine.down;
  const auto spines = spread(pod_leaves, up, spine_down, fabric.switch_ports - leaf_down);
  FORETRAIN_ASSERT(spines.has_value(), "limits_of leaves room for the leaves of a pod");
  plan.leaf_up = spines->up;
  plan.spines_per_pod = spines->parents;
  if (plan.pods == 1) return plan;

  const int down = pod_leaves * (plan.leaf_up / plan.spines_per_pod);
  const int spine_up =
      std::clamp(static_cast<int>(std::ceil(down / oversubscription_at(fabric, 1) - kRatioSlack)),
                 1, fabric.switch_ports - down);
  const auto cores = spread(plan.pods, spine_up, fabric.switch_ports, fabric.switch_ports - down);
  FORETRAIN_ASSERT(cores.has_value(), "limits_of leaves room for the pods");
  plan.spine_up = cores->up;
  plan.cores_per_plane = cores->parents;
  return plan;
}

Result<Topology> build_fat_tree(const TopologyRequest& request) {
  Result<NodeTemplate> node = make_node_template(request.node);
  if (!node) return tl::make_unexpected(node.error());
  TopologyBuilder builder{request.fabric};
  if (request.nodes == 1) {  // nothing to connect
    stamp_node(builder, *node, 0);
    return builder.build();
  }
  const Result<ClosPlan> plan = plan_clos(request);
  if (!plan) return tl::make_unexpected(plan.error());
  const auto nodes = static_cast<std::size_t>(request.nodes);
  const int copies = request.fabric.rail_only ? request.fabric.rails : 1;
  const auto switches =
      static_cast<std::size_t>(copies * (plan->leaves() + plan->spines() + plan->cores()));
  const auto cables = static_cast<std::size_t>(
      copies * (plan->leaves() * plan->leaf_up + plan->spines() * plan->spine_up));
  builder.reserve(nodes * node->devices.size() + switches,
                  2 * (nodes * (node->cables.size() + node->nics.size()) + cables));
  const std::vector<DeviceId> nics = stamp_nodes(*node, request.nodes, builder);
  ClosWiring wiring{request, *plan, builder};
  for (int copy = 0; copy < copies; ++copy) {
    wiring.add_switches(copy);
    for (std::size_t i = 0; i < nics.size(); ++i) {
      const int nic = static_cast<int>(i % node->nics.size());
      if (copies > 1 && nic % copies != copy) continue;
      wiring.add_host_link(nics[i], static_cast<int>(i / node->nics.size()), nic);
    }
  }
  return builder.build();
}

Result<Topology> build_ideal(const TopologyRequest& request) {
  TopologyRequest single = request;
  const int nics = request.nodes * std::max(1, request.node.nics);
  single.fabric.tiers = 1;
  single.fabric.rails = 1;
  single.fabric.rail_only = false;
  single.fabric.oversubscription = {1.0};
  single.fabric.switch_ports = std::max(2, nics);
  single.fabric.link_bandwidth = DataRate{};  // the NIC's
  return build_fat_tree(single);
}

}  // namespace foretrain
