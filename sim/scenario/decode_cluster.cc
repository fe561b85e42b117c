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
      spec.interconnect =
          spec.gpu.nvlink_links > 0 ? NodeInterconnect::kNvSwitch : NodeInterconnect::kPcie;
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
    if (spec.interconnect != NodeInterconnect::kPcie && spec.gpu.nvlink_links == 0 &&
        !spec.gpu.name.empty()) {
      node.error("interconnect", fmt::format("{} has no NVLink", spec.gpu.name), "write pcie");
    }
  }
  if (const auto nics = node.integer("nics", 0, 256)) spec.nics = static_cast<int>(*nics);
  if (const auto nic = node.choice("nic", hardware.nic_names())) {
    spec.nic = *hardware.nic(*nic);
    if (spec.nics == 0)
      node.error("nics", "missing: how many adapters of this kind a node has", "nics: 8");
  } else if (spec.nics > 0 && spec.nic.name.empty()) {
    node.error("nic", "missing: which adapter", "name one of `foretrain catalog nics`");
  }
  if (const auto cpu = node.choice("cpu")) spec.cpu = *cpu;
  if (const auto pcie = node.integer("pcie", 3, 6)) spec.pcie_generation = static_cast<int>(*pcie);
  if (const auto memory = node.quantity<Bytes>("host_memory", parse_bytes))
    spec.host_memory = *memory;
  if (const auto storage = node.quantity<Bytes>("local_storage", parse_bytes))
    spec.local_storage = *storage;
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

void decode_faults(const NodeReader& cluster, ClusterSpec& out, Problems& problems) {
  const DocumentNode* faults = cluster.child("faults");
  if (faults == nullptr) return;
  if (faults->kind != DocumentNode::Kind::kSequence) {
    cluster.error("faults", "must be a list", "faults: [{gpu: 17, speed: 90 %}]");
    return;
  }
  for (std::size_t i = 0; i < faults->items.size(); ++i) {
    const NodeReader fault = NodeReader::item(faults->items[i], "cluster.faults", i, problems);
    if (!fault.present()) continue;
    Fault result;
    if (const auto gpu = fault.integer("gpu", 0, std::max(0, out.num_gpus() - 1)))
      result.gpu = static_cast<int>(*gpu);
    if (const auto link = fault.text("link")) result.link = *link;
    const auto speed = fault.quantity<Ratio>("speed", parse_ratio);
    const auto bandwidth = fault.quantity<Ratio>("bandwidth", parse_ratio);
    const bool of_gpu = fault.child("gpu") != nullptr;
    if (of_gpu == (fault.child("link") != nullptr)) {
      fault.error_here("names a GPU or a link, one of them",
                       "{gpu: 17, speed: 90 %} or {link: leaf3/spine1, bandwidth: 50 %}");
      continue;
    }
    const auto& factor = of_gpu ? speed : bandwidth;
    if (!factor || factor->value() <= 0) {
      if (fault.child(of_gpu ? "speed" : "bandwidth") != nullptr && !factor) continue;
      fault.error_here(of_gpu ? "needs a speed above 0 %" : "needs a bandwidth above 0 %",
                       "dead GPUs and links are not supported in this version");
      continue;
    }
    result.factor = factor->value();
    result.location = faults->items[i].location;
    out.faults.push_back(result);
  }
}

}  // namespace

void decode_cluster(const NodeReader& top, const Catalogs& catalogs, ClusterSpec& cluster,
                    Problems& problems) {
  top.require("cluster", "cluster: {nodes: 1, node: dgx-h100}");
  const NodeReader reader = top.map("cluster");
  if (!reader.present()) return;
  if (const auto nodes = reader.integer("nodes", 1, kMostNodes))
    cluster.nodes = static_cast<int>(*nodes);
  decode_node(reader, catalogs, cluster.node);
  decode_fabric(top, reader, catalogs, cluster, problems);
  decode_faults(reader, cluster, problems);
}

}  // namespace foretrain
