#include "sim/execution/machine.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "sim/core/unit_parser.h"
#include "sim/document/document.h"
#include "sim/hardware/entry_reader.h"

namespace foretrain {
namespace {

/// Finds entries of interconnects.yaml and collects what is wrong with them.
class Interconnects {
 public:
  explicit Interconnects(const DocumentNode& root) : root_(root) {}

  /// A reader for `section.name`, or nothing after a diagnostic that lists what there is.
  std::optional<EntryReader> entry(const char* section, const std::string& name) {
    const DocumentNode* all = root_.find(section);
    const DocumentNode* found = all == nullptr ? nullptr : all->find(name);
    if (found != nullptr)
      return EntryReader{*found, fmt::format("{}.{}", section, name), diagnostics_};
    std::string known;
    for (const DocumentEntry& item : (all == nullptr ? root_ : *all).entries) {
      known += (known.empty() ? "" : ", ") + item.key;
    }
    diagnostics_.push_back({Severity::kError, (all == nullptr ? root_ : *all).location, section,
                            fmt::format("has no entry {}", name), "known: " + known});
    return std::nullopt;
  }

  /// Every entry says where it comes from.
  void finish(EntryReader& reader) {
    if (const DocumentNode* source = reader.map("source", true)) {
      EntryReader fields{*source, reader.path() + ".source", diagnostics_};
      (void)fields.text("title");
      (void)fields.text("date");
      (void)fields.optional_text("url");
      (void)fields.optional_choice("basis", {"read", "recalled", "assumed"}, "read");
      fields.finish();
    }
    (void)reader.map("sources", false);
    (void)reader.optional_text("note");
    reader.finish();
  }

  Diagnostics& diagnostics() { return diagnostics_; }

 private:
  const DocumentNode& root_;
  Diagnostics diagnostics_;
};

IntraNode intra_node(NodeInterconnect interconnect) {
  switch (interconnect) {
    case NodeInterconnect::kNvSwitch: return IntraNode::kNvSwitch;
    case NodeInterconnect::kNvlinkMesh: return IntraNode::kNvlinkMesh;
    case NodeInterconnect::kPcie: return IntraNode::kPcie;
  }
  return IntraNode::kPcie;
}

}  // namespace

Result<TopologyRequest> topology_request(const ClusterSpec& cluster,
                                         const std::string& catalog_dir) {
  const Result<DocumentNode> document = read_document(catalog_dir + "/interconnects.yaml");
  if (!document) return tl::make_unexpected(document.error());
  Interconnects interconnects{*document};
  const NodeSpec& node = cluster.node;
  TopologyRequest request;
  request.fabric = cluster.fabric;
  request.nodes = cluster.nodes;
  NodeShape& shape = request.node;
  shape.gpus = node.gpus;
  shape.nics = node.nics;
  shape.interconnect = intra_node(node.interconnect);
  shape.nvlink_bandwidth = node.gpu.nvlink_bandwidth;
  if (auto pcie = interconnects.entry("pcie", fmt::format("gen{}", node.pcie_generation))) {
    shape.pcie_bandwidth = pcie->quantity("payload", parse_data_rate);
    shape.pcie_latency = pcie->quantity("latency", parse_duration);
    interconnects.finish(*pcie);
  }
  if (node.interconnect != NodeInterconnect::kPcie) {
    if (auto nvlink = interconnects.entry("nvlink", to_string(node.interconnect))) {
      shape.nvlink_latency = nvlink->quantity("latency", parse_duration);
      interconnects.finish(*nvlink);
    }
  }
  const std::string socket = fmt::format("{}-gen{}", node.cpu, node.pcie_generation);
  if (auto sockets = interconnects.entry("sockets", socket)) {
    shape.socket_bandwidth = sockets->quantity("bandwidth", parse_data_rate);
    shape.socket_latency = sockets->quantity("latency", parse_duration);
    interconnects.finish(*sockets);
  }
  if (has_errors(interconnects.diagnostics())) {
    return tl::make_unexpected(std::move(interconnects.diagnostics()));
  }
  const double efficiency = node.nic.payload_efficiency.value();
  shape.nic_bandwidth = node.nic.bandwidth * efficiency;
  shape.nic_latency = node.nic.latency;
  if (node.nics > 0) {
    FabricSpec& fabric = request.fabric;
    if (!(fabric.link_bandwidth > DataRate{})) fabric.link_bandwidth = node.nic.bandwidth;
    if (fabric.payload_efficiency >= 1.0) fabric.payload_efficiency = efficiency;
  }
  return request;
}

}  // namespace foretrain
