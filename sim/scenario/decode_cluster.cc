#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/decode.h"

namespace foretrain {
namespace {

constexpr std::int64_t kMostNodes = 65'536;
constexpr std::int64_t kMostGpusPerNode = 576;

void decode_node_fields(const NodeReader& node, const Catalogs& catalogs, NodeSpec& spec,
                        bool extends) {
  const HardwareCatalog& hardware = catalogs.hardware;
  const auto gpu = node.choice("gpu", hardware.gpu_names());
  if (gpu) {
    spec.gpu = *hardware.gpu(*gpu);
    if (!extends) {
      spec.interconnect = spec.gpu.nvlink_links > 0 ? NodeInterconnect::kNvSwitch : NodeInterconnect::kPcie;
      spec.pcie_generation = spec.gpu.pcie_generation;
      spec.cpu = "intel";
    }
  } else if (!extends) {
    node.require("gpu", "name a GPU of `foretrain catalog gpus`, or a node by `extends:`");
  }
  const auto gpus = node.integer("gpus", 1, kMostGpusPerNode);
  if (gpus) spec.gpus = static_cast<int>(*gpus);
  if (!gpus && !extends) node.require("gpus", "GPUs per node: 8");
  if (const auto word = node.choice("interconnect")) {
    spec.interconnect = parse_interconnect(*word).value_or(spec.interconnect);
    if (spec.interconnect != NodeInterconnect::kPcie && spec.gpu.nvlink_links == 0 && !spec.gpu.name.empty()) {
      node.error("interconnect", fmt::format("{} has no NVLink", spec.gpu.name), "write pcie");
    }
  }
  if (const auto nics = node.integer("nics", 0, 256)) spec.nics = static_cast<int>(*nics);
  if (const auto nic = node.choice("nic", hardware.nic_names())) {
    spec.nic = *hardware.nic(*nic);
    if (spec.nics == 0) node.error("nics", "missing: how many adapters of this kind a node has", "nics: 8");
  } else if (spec.nics > 0 && spec.nic.name.empty()) {
    node.error("nic", "missing: which adapter", "name one of `foretrain catalog nics`");
  }
  if (const auto cpu = node.choice("cpu")) spec.cpu = *cpu;
  if (const auto pcie = node.integer("pcie", 3, 6)) spec.pcie_generation = static_cast<int>(*pcie);
  if (const auto memory = node.quantity<Bytes>("host_memory", parse_bytes)) spec.host_memory = *memory;
  if (const auto storage = node.quantity<Bytes>("local_storage", parse_bytes)) spec.local_storage = *storage;
}

void decode_node(const NodeReader& cluster, const Catalogs& catalogs, NodeSpec& spec) {
  const DocumentNode* node = cluster.child("node");
  if (node == nullptr) {
    cluster.require("node", "name a node of `foretrain catalog nodes`: node: dgx-h100");
    return;
  }
  const std::vector<std::string> names = catalogs.hardware.node_names();
  if (node->kind == DocumentNode::Kind::kScalar) {
    if (const auto name = cluster.choice("node", names)) spec = *catalogs.hardware.node(*name);
    return;
  }
  const NodeReader fields = cluster.map("node");
  if (!fields.present()) return;
  const bool extends = fields.child("extends") != nullptr;
  if (const auto base = fields.choice("extends", names)) {
    spec = *catalogs.hardware.node(*base);
    spec.description = "like " + *base;
  } else {
    spec.name = "custom";
  }
  decode_node_fields(fields, catalogs, spec, extends);
}

/// The switch whose ports match the link and carry the adapter's transport; for its port count and latency.
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

/// Adapters that a fabric of k-port switches holds with 1, 2 and 3 tiers.
std::int64_t capacity_of(int tiers, std::int64_t ports) {
  if (tiers == 1) return ports;
  return tiers == 2 ? ports * ports / 2 : ports * ports * ports / 4;
}

void decode_oversubscription(const NodeReader& fabric, FabricSpec& spec) {
  const DocumentNode* node = fabric.child("oversubscription");
  if (node == nullptr) return;
  std::vector<const DocumentNode*> values;
  if (node->kind == DocumentNode::Kind::kSequence) {
    for (const DocumentNode& item : node->items) values.push_back(&item);
  } else {
    values.push_back(node);
  }
  std::vector<double> ratios;
  for (const DocumentNode* value : values) {
    const auto ratio = value->kind == DocumentNode::Kind::kScalar ? parse_number(value->scalar) : std::nullopt;
    if (!ratio || *ratio <= 0 || *ratio > 64) {
      fabric.error("oversubscription", "must be a ratio above 0 and at most 64, or a list of such",
                   "oversubscription: 2 (down over up bandwidth)");
      return;
    }
    ratios.push_back(*ratio);
  }
  if (ratios.empty() || ratios.size() > 2) {
    fabric.error("oversubscription", "needs one ratio, or one per tier boundary (at most two)");
    return;
  }
  spec.oversubscription = ratios;
}

void decode_fabric(const NodeReader& cluster, const Catalogs& catalogs, ClusterSpec& out,
                   Problems& problems) {
  const NodeReader fabric = cluster.map("fabric");
  FabricSpec& spec = out.fabric;
  const NicSpec& nic = out.node.nic;
  const bool infiniband = nic.transport == "infiniband";
  if (const auto kind = fabric.choice("kind")) {
    spec.kind = *kind == "ideal" ? FabricKind::kIdeal : FabricKind::kFatTree;
  }
  spec.link_bandwidth = nic.bandwidth;
  spec.payload_efficiency = nic.payload_efficiency.value() > 0 ? nic.payload_efficiency.value() : 1.0;
  // 30 m of fibre at 5 ns/m.
  spec.link_latency = SimDuration{150'000};
  const NodeReader link = fabric.map("link");
  if (const auto bandwidth = link.quantity<DataRate>("bandwidth", parse_data_rate)) spec.link_bandwidth = *bandwidth;
  if (const auto latency = link.quantity<SimDuration>("latency", parse_duration)) spec.link_latency = *latency;
  const SwitchSpec* fabric_switch = matching_switch(catalogs, nic, spec.link_bandwidth);
  spec.switch_ports = fabric_switch != nullptr ? fabric_switch->ports : 64;
  spec.switch_latency = fabric_switch != nullptr ? fabric_switch->latency : SimDuration{600'000};
  if (const auto ports = fabric.integer("switch_ports", 2, 2048)) spec.switch_ports = static_cast<int>(*ports);
  if (const auto latency = fabric.quantity<SimDuration>("switch_latency", parse_duration)) {
    spec.switch_latency = *latency;
  }
  spec.rails = infiniband && out.node.interconnect == NodeInterconnect::kNvSwitch ? std::max(1, out.node.nics) : 1;
  if (out.nodes == 1) spec.rails = 1;
  if (const auto rails = fabric.integer("rails", 1, 256)) {
    spec.rails = static_cast<int>(*rails);
    if (out.node.nics > 0 && out.node.nics % spec.rails != 0) {
      fabric.error("rails", fmt::format("{} rails do not divide the {} adapters of a node", spec.rails, out.node.nics),
                   "rails: 1, or as many as adapters");
    }
  }
  if (const auto only = fabric.boolean("rail_only")) spec.rail_only = *only;
  decode_oversubscription(fabric, spec);
  spec.routing = infiniband ? Routing::kSpray : Routing::kEcmp;
  if (const auto routing = fabric.choice("routing")) spec.routing = *routing == "spray" ? Routing::kSpray : Routing::kEcmp;
  const std::int64_t adapters = static_cast<std::int64_t>(out.nodes) * out.node.nics;
  spec.tiers = 1;
  while (spec.tiers < 3 && adapters > capacity_of(spec.tiers, spec.switch_ports)) ++spec.tiers;
  if (spec.rails > 1 && out.nodes > 1) spec.tiers = std::max(spec.tiers, 2);
  if (const auto tiers = fabric.integer("tiers", 1, 3)) spec.tiers = static_cast<int>(*tiers);
  if (out.nodes > 1 && out.node.nics == 0 && !out.node.gpu.name.empty()) {
    problems.error(cluster.at("node"), cluster.path_of("node"), "several nodes need network adapters",
                   "add nics: 8 and nic: cx7-400g");
  }
}

void decode_faults(const NodeReader& cluster, ClusterSpec& out, Problems& problems) {
  const DocumentNode* faults = cluster.child("faults");
  if (faults == nullptr) return;
  if (faults->kind != DocumentNode::Kind::kSequence) {
    cluster.error("faults", "must be a list", "faults: [{gpu: 17, speed: 90 %}]");
    return;
  }
  for (const DocumentNode& item : faults->items) {
    const NodeReader fault{&item, "cluster.faults[]", problems};
    if (!fault.present()) continue;
    Fault result;
    if (const auto gpu = fault.integer("gpu", 0, 1 << 24)) result.gpu = static_cast<int>(*gpu);
    if (const auto link = fault.text("link")) result.link = *link;
    const auto speed = fault.quantity<Ratio>("speed", parse_ratio);
    const auto bandwidth = fault.quantity<Ratio>("bandwidth", parse_ratio);
    const bool of_gpu = fault.child("gpu") != nullptr;
    if (of_gpu == (fault.child("link") != nullptr)) {
      problems.error(item.location, "cluster.faults[]", "names a GPU or a link, one of them",
                     "{gpu: 17, speed: 90 %} or {link: leaf3/spine1, bandwidth: 50 %}");
      continue;
    }
    const auto& factor = of_gpu ? speed : bandwidth;
    if (!factor || factor->value() <= 0) {
      problems.error(item.location, "cluster.faults[]",
                     of_gpu ? "needs a speed above 0 %" : "needs a bandwidth above 0 %",
                     "dead GPUs and links are not supported in this version");
      continue;
    }
    result.factor = factor->value();
    out.faults.push_back(result);
  }
}

}  // namespace

void decode_cluster(const NodeReader& top, const Catalogs& catalogs, ClusterSpec& cluster,
                    Problems& problems) {
  top.require("cluster", "cluster: {nodes: 1, node: dgx-h100}");
  const NodeReader reader = top.map("cluster");
  if (!reader.present()) return;
  if (const auto nodes = reader.integer("nodes", 1, kMostNodes)) cluster.nodes = static_cast<int>(*nodes);
  decode_node(reader, catalogs, cluster.node);
  decode_fabric(reader, catalogs, cluster, problems);
  decode_faults(reader, cluster, problems);
}

}  // namespace foretrain
