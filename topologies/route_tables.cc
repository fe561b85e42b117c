#include "topologies/route_tables.h"

#include <algorithm>
#include <limits>
#include <map>

#include "topologies/intra_node.h"

namespace foretrain {
namespace {

/// Paths inside node 0 over links of some tiers.
class NodePaths {
 public:
  explicit NodePaths(const Topology& topology) : topology_(topology) {}

  /// The shortest path; of several the widest, and of equally wide ones a fixed choice that differs
  /// from pair to pair, so that relayed traffic spreads. Empty if there is none.
  std::vector<LinkId> find(DeviceId source, DeviceId destination, LinkTier tier) const {
    const std::vector<int> hops = hops_to(destination, tier);
    std::vector<LinkId> path;
    if (hops[source.position()] == kUnreached) return path;
    DeviceId at = source;
    while (at != destination) {
      std::vector<LinkId> best;
      double widest = 0;
      for (const LinkId id : topology_.links_from(at)) {
        const Link& link = topology_.link(id);
        if (!inside(link, tier) || hops[link.to.position()] != hops[at.position()] - 1) continue;
        const double width = width_to(link, destination, hops, tier);
        if (width > widest) best.clear();
        if (width >= widest) best.push_back(id);
        widest = std::max(widest, width);
      }
      const LinkId next = best[source.position() % best.size()];
      path.push_back(next);
      at = topology_.link(next).to;
    }
    return path;
  }

 private:
  static constexpr int kUnreached = std::numeric_limits<int>::max();

  bool inside(const Link& link, LinkTier tier) const {
    return link.tier == tier && link.to.index() < topology_.devices_per_node();
  }

  /// Bandwidth of a link and, where the next device is not yet the destination, of the best second
  /// link.
  double width_to(const Link& link, DeviceId destination, const std::vector<int>& hops,
                  LinkTier tier) const {
    const double width = link.bandwidth.bits_per_second();
    if (link.to == destination) return width;
    double second = 0;
    for (const LinkId id : topology_.links_from(link.to)) {
      const Link& next = topology_.link(id);
      if (!inside(next, tier) || hops[next.to.position()] != hops[link.to.position()] - 1) continue;
      second = std::max(second, next.bandwidth.bits_per_second());
    }
    return std::min(width, second);
  }

  /// Breadth-first from the destination: links come in pairs, so distances are the same both ways.
  /// GPUs relay over NVLink only; NICs never do.
  std::vector<int> hops_to(DeviceId destination, LinkTier tier) const {
    std::vector<int> hops(static_cast<std::size_t>(topology_.devices_per_node()), kUnreached);
    std::vector<DeviceId> queue{destination};
    hops[destination.position()] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const DeviceId at = queue[i];
      const DeviceKind kind = topology_.device(at).kind;
      const bool end_point =
          kind == DeviceKind::kNic || (kind == DeviceKind::kGpu && tier == LinkTier::kPcie);
      if (end_point && at != destination) continue;
      for (const LinkId id : topology_.links_from(at)) {
        const Link& link = topology_.link(id);
        if (!inside(link, tier) || hops[link.to.position()] != kUnreached) continue;
        hops[link.to.position()] = hops[at.position()] + 1;
        queue.push_back(link.to);
      }
    }
    return hops;
  }

  const Topology& topology_;
};

void add_node_paths(const Topology& topology, RouteTables& tables) {
  const NodePaths paths{topology};
  const auto nics = topology.nics(NodeId{0});
  for (int a = 0; a < tables.gpus; ++a) {
    for (int b = 0; b < tables.gpus; ++b) {
      std::vector<LinkId> path;
      if (a != b) path = paths.find(topology.gpu(a), topology.gpu(b), LinkTier::kNvlink);
      bool direct = !path.empty();
      for (const LinkId link : path) {
        const Link& l = topology.link(link);
        direct = direct &&
                 (l.to == topology.gpu(b) || topology.device(l.to).kind == DeviceKind::kNvSwitch);
      }
      tables.nvlink_direct.push_back(direct);
      if (a != b && path.empty())
        path = paths.find(topology.gpu(a), topology.gpu(b), LinkTier::kPcie);
      tables.gpu_to_gpu.push_back(std::move(path));
    }
    for (const DeviceId nic : nics) {
      tables.gpu_to_nic.push_back(paths.find(topology.gpu(a), nic, LinkTier::kPcie));
    }
  }
  for (const DeviceId nic : nics) {
    for (int b = 0; b < tables.gpus; ++b) {
      tables.nic_to_gpu.push_back(paths.find(nic, topology.gpu(b), LinkTier::kPcie));
    }
  }
}

void add_ports(const Topology& topology, RouteTables& tables) {
  for (int n = 0; n < topology.num_nodes(); ++n) {
    for (const DeviceId nic : topology.nics(NodeId{n})) {
      for (const LinkId id : topology.links_from(nic)) {
        const Link& link = topology.link(id);
        if (link.tier != LinkTier::kHostLink) continue;
        tables.ports.push_back(
            {id, LinkId{id.index() + 1}, link.to});  // a cable's second link leads back
        if (n == 0) tables.nic_rail.push_back(topology.device(link.to).rail);
      }
    }
  }
}

}  // namespace

SwitchExits::SwitchExits(const Topology& topology)
    : first_(topology.num_nodes() * topology.devices_per_node()) {
  const auto devices = topology.devices();
  for (auto d = static_cast<std::size_t>(first_); d < devices.size(); ++d) {
    Ranges range;
    range.up_begin = exits_.size();
    std::map<int, std::vector<Exit>> below;
    for (const LinkId id : topology.links_from(DeviceId{static_cast<std::int32_t>(d)})) {
      const Link& link = topology.link(id);
      const Device& to = topology.device(link.to);
      if (to.tier > devices[d].tier) {
        exits_.push_back({id, link.cables});
      } else if (to.tier > 0) {
        below[to.tier == 1 ? link.to.index() : to.pod].push_back({id, link.cables});
      }
    }
    range.up_end = exits_.size();
    range.groups_begin = groups_.size();
    for (const auto& [child, exits] : below) {
      groups_.push_back({child, exits_.size(), exits_.size() + exits.size()});
      exits_.insert(exits_.end(), exits.begin(), exits.end());
    }
    range.groups_end = groups_.size();
    ranges_.push_back(range);
  }
}

std::span<const Exit> SwitchExits::up(DeviceId from) const {
  const Ranges& r = ranges(from);
  return std::span<const Exit>{exits_}.subspan(r.up_begin, r.up_end - r.up_begin);
}

std::span<const Exit> SwitchExits::down(DeviceId from, int child) const {
  const Ranges& r = ranges(from);
  const auto begin = groups_.begin() + static_cast<std::ptrdiff_t>(r.groups_begin);
  const auto end = groups_.begin() + static_cast<std::ptrdiff_t>(r.groups_end);
  const auto found = std::lower_bound(begin, end, child,
                                      [](const Group& g, int wanted) { return g.child < wanted; });
  if (found == end || found->child != child) return {};
  return std::span<const Exit>{exits_}.subspan(found->begin, found->end - found->begin);
}

RouteTables make_route_tables(const Topology& topology) {
  RouteTables tables;
  tables.gpus = topology.gpus_per_node();
  tables.nics = static_cast<int>(topology.nics(NodeId{0}).size());
  for (int gpu = 0; gpu < tables.gpus; ++gpu) {
    tables.gpu_nics.push_back(nics_of_gpu(gpu, tables.gpus, tables.nics));
  }
  add_node_paths(topology, tables);
  add_ports(topology, tables);
  tables.exits = SwitchExits{topology};
  return tables;
}

}  // namespace foretrain
