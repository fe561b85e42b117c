#include "topologies/fabric_columns.h"

#include <fmt/format.h>

#include <algorithm>

namespace foretrain {
namespace {

constexpr std::array<const char*, 3> kTierNames{"leaf", "spine", "core"};
constexpr std::array<const char*, 3> kTierPlurals{"leaves", "spines", "cores"};

void add(CableSum& sum, const Link& link) {
  sum.cables += link.cables;
  sum.bandwidth += link.bandwidth;
}

/// Which columns a fabric has, and which switch belongs to which.
class ColumnRule {
 public:
  explicit ColumnRule(const Topology& topology) : rails_(topology.fabric().rail_only) {
    for (const Device& device : topology.devices()) {
      tiers_ = std::max(tiers_, device.tier);
    }
  }
  int tiers() const { return tiers_; }
  bool rails() const { return rails_; }
  /// The top tier joins the columns, unless each rail has its own or there is only one tier.
  int column_tiers() const { return rails_ || tiers_ == 1 ? tiers_ : tiers_ - 1; }
  int column_of(const Device& device) const {
    if (rails_) return std::max(0, device.rail);
    return tiers_ == 3 ? device.pod : device.unit;
  }
  std::string title(const Topology& topology, int column) const {
    if (rails_) return fmt::format("rail {}", column);
    if (tiers_ == 3) return fmt::format("pod {}", column);
    return topology.fabric().rails > 1 ? fmt::format("unit {}", column) : std::string{};
  }

 private:
  bool rails_ = false;
  int tiers_ = 0;
};

}  // namespace

const char* tier_name(std::size_t tier) { return kTierNames[tier]; }
const char* tier_plural(std::size_t tier) { return kTierPlurals[tier]; }

std::string with_commas(long long value) {
  std::string digits = fmt::format("{}", value);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string short_rate(DataRate rate) {
  const double gigabytes = rate.bytes_per_second() / 1e9;
  if (gigabytes >= 1e6) return fmt::format("{:.3g} PB/s", gigabytes / 1e6);
  if (gigabytes >= 1e3) return fmt::format("{:.3g} TB/s", gigabytes / 1e3);
  return fmt::format("{:.3g} GB/s", gigabytes);
}

std::string headline(const Topology& topology) {
  const FabricSpec& fabric = topology.fabric();
  std::string text =
      fmt::format("{} node{}, {} GPU{}", with_commas(topology.num_nodes()),
                  topology.num_nodes() == 1 ? "" : "s", with_commas(topology.num_gpus()),
                  topology.num_gpus() == 1 ? "" : "s");
  if (topology.num_nodes() == 1) return text;
  if (fabric.kind == FabricKind::kIdeal) return text + ": ideal switch";
  text += fmt::format(": {}-tier fat-tree of {}-port switches", fabric.tiers, fabric.switch_ports);
  if (fabric.rails > 1)
    text += fmt::format(", {} rails{}", fabric.rails, fabric.rail_only ? " only" : "");
  return text;
}

double FabricColumns::oversubscription(std::size_t boundary) const {
  double worst = 0;
  for (const FabricColumn& column : columns) {
    if (boundary + 1 >= kBoundaries || column.up[boundary + 1].cables == 0) continue;
    worst = std::max(worst, column.up[boundary].bandwidth / column.up[boundary + 1].bandwidth);
  }
  return worst;
}

FabricColumns arrange_columns(const Topology& topology) {
  const ColumnRule rule{topology};
  FabricColumns out;
  out.column_tiers = rule.column_tiers();
  out.nodes_shared = rule.rails();
  std::vector<int> column_of(topology.devices().size(), -1);
  for (std::size_t d = 0; d < column_of.size(); ++d) {
    const Device& device = topology.devices()[d];
    if (device.kind != DeviceKind::kSwitch) continue;
    if (device.tier > out.column_tiers) {
      out.shared.push_back(DeviceId{static_cast<std::int32_t>(d)});
      continue;
    }
    const int column = rule.column_of(device);
    column_of[d] = column;
    while (static_cast<int>(out.columns.size()) <= column) {
      const int next = static_cast<int>(out.columns.size());
      out.columns.push_back({});
      out.columns.back().title = rule.title(topology, next);
    }
    out.columns[static_cast<std::size_t>(column)]
        .switches[static_cast<std::size_t>(device.tier - 1)]
        .push_back(DeviceId{static_cast<std::int32_t>(d)});
  }
  out.column_of_node.assign(static_cast<std::size_t>(topology.num_nodes()), 0);
  std::vector<int> last_node(out.columns.size(), -1);  // nodes come in order: counts each once
  for (const Link& link : topology.links()) {
    const Device& from = topology.device(link.from);
    const Device& to = topology.device(link.to);
    if (to.tier <= from.tier) continue;
    const auto boundary = static_cast<std::size_t>(to.tier - 1);
    const int column =
        boundary == 0 ? column_of[link.to.position()] : column_of[link.from.position()];
    add(out.up[boundary], link);
    add(out.columns[static_cast<std::size_t>(column)].up[boundary], link);
    if (boundary > 0) continue;
    int& last = last_node[static_cast<std::size_t>(column)];
    if (last != from.node.index()) ++out.columns[static_cast<std::size_t>(column)].nodes;
    last = from.node.index();
    if (!out.nodes_shared) out.column_of_node[from.node.position()] = column;
  }
  return out;
}

}  // namespace foretrain
