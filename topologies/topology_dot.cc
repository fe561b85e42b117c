// Graphviz text: every device and cable of a small fabric, the groups of a large one.
#include <fmt/format.h>

#include <map>
#include <utility>

#include "topologies/fabric_columns.h"
#include "topologies/node_svg.h"
#include "topologies/topology_metrics.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostDevices = 400;  // nodes and switches shown one by one

std::string quoted(const std::string& name) { return "\"" + name + "\""; }

std::string node_name(const Topology& topology, DeviceId id) {
  const Device& device = topology.device(id);
  return device.tier == 0 ? fmt::format("node{}", device.node.index()) : device.name;
}

/// Bundles between nodes and switches, each named device once.
void write_devices(const Topology& topology, std::string& out) {
  for (int n = 0; n < topology.num_nodes(); ++n) {
    out += fmt::format(
        "  \"node{}\" [shape=box, style=filled, fillcolor=\"#ecfdf5\", label=\"node{}\\n{}\"];\n",
        n, n, node_label(topology).short_text);
  }
  std::map<int, std::string> ranks;
  for (const Device& device : topology.devices()) {
    if (device.kind != DeviceKind::kSwitch) continue;
    out += fmt::format("  {} [shape=box];\n", quoted(device.name));
    ranks[device.tier] += quoted(device.name) + "; ";
  }
  for (const auto& [tier, names] : ranks) out += fmt::format("  {{ rank=same; {}}}\n", names);
  std::map<std::pair<DeviceId, DeviceId>, CableSum> bundles;
  for (const Link& link : topology.links()) {
    const Device& from = topology.device(link.from);
    if (topology.device(link.to).tier <= from.tier) continue;
    const DeviceId low =
        from.tier == 0 ? topology.gpu(from.node.index() * topology.gpus_per_node()) : link.from;
    CableSum& sum = bundles[{low, link.to}];
    sum.cables += link.cables;
    sum.bandwidth += link.bandwidth;
  }
  for (const auto& [ends, sum] : bundles) {
    out += fmt::format(
        "  {} -- {} [label=\"{}\", tooltip=\"{}\"];\n", quoted(node_name(topology, ends.second)),
        quoted(node_name(topology, ends.first)), sum.cables, short_rate(sum.bandwidth));
  }
}

void write_groups(const FabricColumns& layout, int num_nodes, std::string& out) {
  const auto edge = [&](const std::string& high, const std::string& low, const CableSum& sum) {
    if (sum.cables == 0) return;
    out += fmt::format("  {} -- {} [label=\"{} x {}\"];\n", quoted(high), quoted(low),
                       with_commas(sum.cables), short_rate(sum.bandwidth / sum.cables));
  };
  const auto tiers = static_cast<std::size_t>(layout.column_tiers);
  if (!layout.shared.empty()) {
    out += fmt::format("  \"top\" [shape=box, label=\"{} {}\"];\n", layout.shared.size(),
                       tier_plural(tiers));
  }
  if (layout.nodes_shared)
    out += fmt::format("  \"nodes\" [shape=box3d, label=\"{} nodes\"];\n", num_nodes);
  for (std::size_t c = 0; c < layout.columns.size(); ++c) {
    const FabricColumn& column = layout.columns[c];
    out += fmt::format("  subgraph \"cluster{}\" {{\n    label=\"{}\";\n", c, column.title);
    if (!layout.nodes_shared) {
      out += fmt::format("    \"c{}/nodes\" [shape=box3d, label=\"{} nodes\"];\n", c, column.nodes);
    }
    for (std::size_t tier = 0; tier < tiers; ++tier) {
      out += fmt::format("    \"c{}/{}\" [shape=box, label=\"{} {}\"];\n", c, tier,
                         column.switches[tier].size(), tier_plural(tier));
    }
    out += "  }\n";
    edge(fmt::format("c{}/0", c), layout.nodes_shared ? "nodes" : fmt::format("c{}/nodes", c),
         column.up[0]);
    for (std::size_t tier = 1; tier < tiers; ++tier) {
      edge(fmt::format("c{}/{}", c, tier), fmt::format("c{}/{}", c, tier - 1), column.up[tier]);
    }
    if (!layout.shared.empty()) edge("top", fmt::format("c{}/{}", c, tiers - 1), column.up[tiers]);
  }
}

/// The inside of the only node.
void write_node(const Topology& topology, std::string& out) {
  for (const Device& device : topology.devices())
    out += fmt::format("  {} [shape=box];\n", quoted(device.name));
  for (std::size_t l = 0; l < topology.links().size(); l += 2) {
    const Link& link = topology.links()[l];
    out += fmt::format("  {} -- {} [label=\"{}\"];\n", quoted(topology.device(link.from).name),
                       quoted(topology.device(link.to).name), short_rate(link.bandwidth));
  }
}

}  // namespace

std::string to_dot(const Topology& topology) {
  std::string out = fmt::format(
      "graph fabric {{\n  label={};\n  labelloc=t; rankdir=TB; node [fontname=Helvetica];\n",
      quoted(headline(topology)));
  std::size_t shown = static_cast<std::size_t>(topology.num_nodes());
  for (const Device& device : topology.devices())
    shown += device.kind == DeviceKind::kSwitch ? 1 : 0;
  if (topology.num_nodes() == 1) {
    write_node(topology, out);
  } else if (shown <= kMostDevices && topology.num_nodes() <= 64) {
    write_devices(topology, out);
  } else {
    write_groups(arrange_columns(topology), topology.num_nodes(), out);
  }
  return out + "}\n";
}

}  // namespace foretrain
