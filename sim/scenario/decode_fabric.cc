// The network between nodes: what a scenario leaves out follows from the node's adapters.
#include <fmt/format.h>

#include <algorithm>

#include "sim/hardware/entry_reader.h"
#include "sim/scenario/decode.h"
#include "topologies/fat_tree.h"

namespace foretrain {
namespace {

/// The slowest switch that carries the link and the adapter's transport: for ports and latency.
const SwitchSpec* matching_switch(const Catalogs& catalogs, const NicSpec& nic, DataRate link) {
  const bool infiniband = nic.transport == "infiniband";
  const SwitchSpec* best = nullptr;
  for (const std::string& name : catalogs.hardware.switch_names()) {
    const SwitchSpec* candidate = catalogs.hardware.fabric_switch(name);
    if ((candidate->transport == "infiniband") != infiniband) continue;
    if (candidate->port_bandwidth < link) continue;
    if (best == nullptr || candidate->port_bandwidth < best->port_bandwidth) best = candidate;
  }
  return best;
}

void decode_oversubscription(const NodeReader& fabric, FabricSpec& spec) {
  const DocumentNode* node = fabric.child("oversubscription");
  if (node == nullptr) return;
  std::vector<const DocumentNode*> values{node};
  if (node->kind == DocumentNode::Kind::kSequence) {
    values.clear();
    for (const DocumentNode& item : node->items) values.push_back(&item);
  }
  std::vector<double> ratios;
  for (const DocumentNode* value : values) {
    const bool scalar = value->kind == DocumentNode::Kind::kScalar;
    const auto ratio = scalar ? parse_number(value->scalar) : std::nullopt;
    if (!ratio || *ratio <= 0 || *ratio > 64) {
      fabric.error("oversubscription", "must be a ratio above 0 and at most 64, or a list of such",
                   "oversubscription: 2 (down over up bandwidth)");
      return;
    }
    ratios.push_back(*ratio);
  }
  if (ratios.empty() || ratios.size() > 2) {
    fabric.error("oversubscription",
                 "needs one ratio, or one per tier boundary from the leaf up (at most two)");
    return;
  }
  spec.oversubscription = ratios;
}

void decode_links(const NodeReader& fabric, const Catalogs& catalogs, const NicSpec& nic,
                  FabricSpec& spec) {
  spec.link_bandwidth = nic.bandwidth;
  const double payload = nic.payload_efficiency.value();
  spec.payload_efficiency = payload > 0 ? payload : 1.0;
  spec.link_latency = catalogs.fabric.cable_latency;
  const NodeReader link = fabric.map("link");
  if (const auto bandwidth = link.quantity<DataRate>("bandwidth", parse_data_rate)) {
    spec.link_bandwidth = *bandwidth;
  }
  if (const auto latency = link.quantity<SimDuration>("latency", parse_duration)) {
    spec.link_latency = *latency;
  }
  const SwitchSpec* found = matching_switch(catalogs, nic, spec.link_bandwidth);
  spec.switch_ports = found != nullptr ? found->ports : catalogs.fabric.switch_ports;
  spec.switch_latency = found != nullptr ? found->latency : catalogs.fabric.switch_latency;
  if (const auto ports = fabric.integer("switch_ports", 2, 2048)) {
    spec.switch_ports = static_cast<int>(*ports);
  }
  if (const auto latency = fabric.quantity<SimDuration>("switch_latency", parse_duration)) {
    spec.switch_latency = *latency;
  }
}

void decode_shape(const NodeReader& fabric, const ClusterSpec& cluster, FabricSpec& spec) {
  const bool infiniband = cluster.node.nic.transport == "infiniband";
  const bool switched = cluster.node.interconnect == NodeInterconnect::kNvSwitch;
  spec.rails = infiniband && switched && cluster.nodes > 1 ? std::max(1, cluster.node.nics) : 1;
  const auto rails = fabric.integer("rails", 1, 256);
  if (rails) spec.rails = static_cast<int>(*rails);
  if (const auto only = fabric.boolean("rail_only")) spec.rail_only = *only;
  if (spec.rail_only && rails && spec.rails == 1) {
    fabric.error("rail_only", "needs more than one rail", "rails: as many as adapters of a node");
  }
  spec.routing = infiniband ? Routing::kSpray : Routing::kEcmp;
  if (const auto routing = fabric.choice("routing")) {
    spec.routing = *routing == "spray" ? Routing::kSpray : Routing::kEcmp;
  }
}

void warn_of_ideal(const NodeReader& fabric) {
  for (const char* key : {"tiers", "rails", "rail_only", "switch_ports", "oversubscription"}) {
    if (fabric.child(key) != nullptr) fabric.warn(key, "has no effect on an ideal fabric");
  }
}

/// The plan with the fewest tiers, up from what the request has.
Result<ClosPlan> plan_with_tiers(TopologyRequest& request, bool fixed) {
  Result<ClosPlan> plan = plan_clos(request);
  while (!plan && !fixed && request.fabric.tiers < 3) {
    ++request.fabric.tiers;
    plan = plan_clos(request);
  }
  return plan;
}

/// Tiers and rails as asked for; otherwise the fewest tiers that hold the nodes, and where a leaf
/// has too few ports for all adapters of a node, the fewest rails; where a spine has too few for
/// all rails, the most that it has.
void decode_tiers(const NodeReader& top, const NodeReader& fabric, ClusterSpec& cluster,
                  Problems& problems) {
  FabricSpec& spec = cluster.fabric;
  const auto asked = fabric.integer("tiers", 1, 3);
  spec.tiers = static_cast<int>(asked.value_or(1));
  // What cannot be wired is said of a cluster that is understood otherwise.
  if (spec.kind == FabricKind::kIdeal || cluster.nodes == 1 || problems.any_below("cluster"))
    return;
  TopologyRequest request;
  request.fabric = spec;
  request.nodes = cluster.nodes;
  request.node.gpus = cluster.node.gpus;
  request.node.nics = cluster.node.nics;
  request.node.nic_bandwidth = cluster.node.nic.bandwidth * spec.payload_efficiency;
  Result<ClosPlan> plan = plan_with_tiers(request, asked.has_value());
  const bool choose_rails = fabric.child("rails") == nullptr;
  const auto try_rails = [&](int rails) {
    if (plan || !choose_rails || cluster.node.nics % rails != 0) return;
    TopologyRequest spread = request;
    spread.fabric.rails = rails;
    spread.fabric.tiers = spec.tiers;
    if (!plan_with_tiers(spread, asked.has_value())) return;
    request = spread;
    plan = plan_with_tiers(request, true);
  };
  for (int rails = spec.rails + 1; rails <= cluster.node.nics; ++rails) try_rails(rails);
  // An NVLink domain of 72 adapters has more rails than a spine has ports for.
  for (int rails = spec.rails - 1; rails >= 1; --rails) try_rails(rails);
  spec.tiers = request.fabric.tiers;
  spec.rails = request.fabric.rails;
  if (plan) return;
  for (const Diagnostic& problem : plan.error()) {
    problems.error(top.locate(problem.path), problem.path, problem.message, problem.hint);
  }
}

}  // namespace

Result<FabricDefaults> load_fabric_defaults(const std::string& catalog_dir) {
  const Result<DocumentNode> document = read_document(catalog_dir + "/fabric_defaults.yaml");
  if (!document) return tl::make_unexpected(document.error());
  FabricDefaults defaults;
  Diagnostics problems;
  EntryReader all{*document, {}, problems};
  if (const DocumentNode* cable = all.map("cable", true)) {
    EntryReader reader{*cable, "cable", problems};
    defaults.cable_latency = reader.quantity<SimDuration>("latency", parse_duration);
  }
  if (const DocumentNode* fallback = all.map("switch", true)) {
    EntryReader reader{*fallback, "switch", problems};
    defaults.switch_ports = static_cast<int>(reader.integer("ports", {2, 2048}));
    defaults.switch_latency = reader.quantity<SimDuration>("latency", parse_duration);
  }
  all.finish();
  if (!problems.empty()) return tl::make_unexpected(problems);
  return defaults;
}

void decode_fabric(const NodeReader& top, const NodeReader& cluster, const Catalogs& catalogs,
                   ClusterSpec& out, Problems& problems) {
  const NodeReader fabric = cluster.map("fabric");
  FabricSpec& spec = out.fabric;
  if (const auto kind = fabric.choice("kind")) {
    spec.kind = *kind == "ideal" ? FabricKind::kIdeal : FabricKind::kFatTree;
  }
  if (spec.kind == FabricKind::kIdeal) warn_of_ideal(fabric);
  decode_links(fabric, catalogs, out.node.nic, spec);
  decode_shape(fabric, out, spec);
  decode_oversubscription(fabric, spec);
  if (out.nodes > 1 && out.node.nics == 0 && !problems.any_below("cluster.node")) {
    cluster.error("node", "several nodes need network adapters",
                  "a map with nics: 8 and nic: cx7-400g");
  }
  decode_tiers(top, fabric, out, problems);
}

}  // namespace foretrain
