#include "sim/collectives/usage_builder.h"

#include <algorithm>
#include <cmath>

#include "sim/collectives/double_tree.h"
#include "sim/collectives/fabric_load.h"
#include "sim/core/contracts.h"
#include "topologies/intra_node.h"

namespace foretrain {
namespace {

/// Ranks up to which an all-to-all follows each flow; beyond, switches get flows by count.
constexpr std::size_t kMostRanksByFlow = 64;

std::size_t distinct_nics(const Topology& topology, NodeId node) {
  return topology.nics(node).size();
}

}  // namespace

UsageBuilder::UsageBuilder(const Topology& topology, const Router& router,
                           const ProcessGroup& group, std::uint64_t label)
    : topology_(topology), router_(router), group_(group), label_(label) {
  std::map<int, std::size_t> position;  // nodes in the order in which the group meets them
  for (const DeviceId gpu : group.gpus) {
    const Device& device = topology.device(gpu);
    if (nodes_.empty() || nodes_.back().index != device.node.index()) {
      const auto [entry, inserted] = position.try_emplace(device.node.index(), nodes_.size());
      if (inserted) {
        nodes_.push_back({{}, device.node.index()});
      } else {
        nodes_[entry->second].members.push_back({gpu, device.local_index});
        continue;
      }
    }
    nodes_.back().members.push_back({gpu, device.local_index});
  }
  for (const Node& node : nodes_)
    local_ranks_ = std::max(local_ranks_, static_cast<int>(node.members.size()));
  usage_.reserve(64 * nodes_.size());
}

void UsageBuilder::add_edge(DeviceId from, DeviceId to, double weight, std::uint64_t salt) {
  if (from == to || weight <= 0) return;
  const FlowRoute flow = route(from, to, salt);
  for (const LinkShare& use : flow.links) usage_.push_back({use.link, use.share * weight});
  network_latency_ = std::max(network_latency_, flow.latency);
}

void UsageBuilder::add_between(const Node& from, std::size_t from_at, const Node& to,
                               std::size_t to_at, double weight, std::uint64_t salt) {
  add_edge(from.members[from_at % from.members.size()].gpu,
           to.members[to_at % to.members.size()].gpu, weight, salt);
}

void UsageBuilder::stamp(const Node& node, const NodeUsage& usage) {
  const int base = node.index * topology_.links_per_node();
  for (const LinkShare& use : usage) usage_.push_back({LinkId{base + use.link.index()}, use.share});
}

void UsageBuilder::put(NodeUsage& usage, const Node& node, DeviceId from, DeviceId to,
                       double weight) const {
  if (from == to) return;
  const int base = node.index * topology_.links_per_node();
  for (const LinkShare& use : router_.route(from, to, label_).links) {
    const LinkId relative{use.link.index() - base};
    const auto found = std::find_if(usage.begin(), usage.end(),
                                    [&](const LinkShare& u) { return u.link == relative; });
    if (found == usage.end()) {
      usage.push_back({relative, use.share * weight});
    } else {
      found->share += use.share * weight;
    }
  }
}

std::vector<std::size_t> UsageBuilder::entries(const Node& node, int most) const {
  const int nics = static_cast<int>(distinct_nics(topology_, NodeId{node.index}));
  std::vector<std::size_t> result;
  int last = -1;
  for (std::size_t at = 0; at < node.members.size(); ++at) {
    const std::vector<int> own =
        nics_of_gpu(node.members[at].local, topology_.gpus_per_node(), nics);
    if (own.empty() || own.front() == last) continue;
    last = own.front();
    result.push_back(at);
  }
  if (result.empty()) result.push_back(0);
  if (most >= 1 && static_cast<int>(result.size()) > most)
    result.resize(static_cast<std::size_t>(most));
  return result;
}

/// Calls `make(node, odd)` once per distinct set of GPUs and direction, and copies what it returns.
template <class Make>
void UsageBuilder::stamp_all(Make make) {
  std::map<std::pair<std::vector<int>, bool>, NodeUsage> known;
  const std::pair<const std::pair<std::vector<int>, bool>, NodeUsage>* recent[2] = {nullptr,
                                                                                    nullptr};
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (node.members.size() < 2) continue;
    const bool odd = i % 2 == 1;
    const auto* last = recent[odd ? 1 : 0];
    const bool same =
        last != nullptr && last->first.first.size() == node.members.size() &&
        std::equal(node.members.begin(), node.members.end(), last->first.first.begin(),
                   [](const Member& member, int local) { return member.local == local; });
    if (!same) {
      std::vector<int> locals;
      for (const Member& member : node.members) locals.push_back(member.local);
      const auto [entry, inserted] = known.try_emplace({std::move(locals), odd});
      if (inserted) entry->second = make(node, odd);
      last = recent[odd ? 1 : 0] = &*entry;
    }
    stamp(node, last->second);
  }
}

UsageBuilder::NodeUsage UsageBuilder::ring_usage(const Node& node,
                                                 const std::vector<std::size_t>& starts,
                                                 double weight, bool closed) const {
  NodeUsage usage;
  const std::size_t k = node.members.size();
  for (const std::size_t start : starts) {
    // Down from `start` to start + 1 (mod k), the whole way round when the ring closes inside the
    // node.
    for (std::size_t i = 0; i + (closed ? 0 : 1) < k; ++i) {
      const std::size_t from = (start + k - i % k) % k;
      const std::size_t to = (from + k - 1) % k;
      put(usage, node, node.members[from].gpu, node.members[to].gpu, weight);
    }
  }
  return usage;
}

void UsageBuilder::add_rings(double per_rank, int most) {
  if (nodes_.size() == 1) {
    const Node& node = nodes_.front();
    std::vector<DeviceId> gpus;
    for (const Member& member : node.members) gpus.push_back(member.gpu);
    const auto cycles = mesh_cycles(topology_, gpus);
    if (cycles.empty()) {
      stamp_all([&](const Node& n, bool) { return ring_usage(n, {0}, per_rank, true); });
      return;
    }
    NodeUsage usage;
    const double weight = per_rank / static_cast<double>(cycles.size());
    for (const auto& cycle : cycles) {
      for (std::size_t i = 0; i < cycle.size(); ++i) {
        put(usage, node, gpus[cycle[i]], gpus[cycle[(i + 1) % cycle.size()]], weight);
      }
    }
    stamp(node, usage);
    return;
  }
  std::size_t rings = entries(nodes_.front(), most).size();
  for (const Node& node : nodes_) rings = std::min(rings, entries(node, most).size());
  const double weight = per_rank / static_cast<double>(rings);
  const auto starts_of = [&](const Node& node) {
    std::vector<std::size_t> starts = entries(node, most);
    starts.resize(rings);
    return starts;
  };
  stamp_all([&](const Node& node, bool odd) {
    NodeUsage usage = ring_usage(node, starts_of(node), weight, false);
    if (!odd) return usage;
    // The same hops the other way: a cable's two links have neighbouring ids.
    NodeUsage reversed;
    const std::size_t k = node.members.size();
    for (const std::size_t start : starts_of(node)) {
      for (std::size_t i = 1; i < k; ++i) {
        put(reversed, node, node.members[(start + i) % k].gpu,
            node.members[(start + i + 1) % k].gpu, weight);
      }
    }
    return reversed;
  });
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& from = nodes_[i];
    const std::size_t next = (i + 1) % nodes_.size();
    const Node& to = nodes_[next];
    const std::vector<std::size_t> from_starts = starts_of(from), to_starts = starts_of(to);
    for (std::size_t ring = 0; ring < rings; ++ring) {
      const std::size_t exit = from_starts[ring] + (i % 2 == 0 ? 1 : 0);
      const std::size_t entry = to_starts[ring] + (next % 2 == 0 ? 0 : 1);
      add_between(from, exit, to, entry, weight, ring);
    }
  }
}

UsageBuilder::NodeUsage UsageBuilder::chain_usage(const Node& node,
                                                  const std::vector<std::size_t>& heads,
                                                  double weight) const {
  NodeUsage usage;
  const std::size_t k = node.members.size();
  for (const std::size_t head : heads) {
    for (std::size_t i = 0; i + 1 < k; ++i) {
      const DeviceId near = node.members[(head + i) % k].gpu;
      const DeviceId far = node.members[(head + i + 1) % k].gpu;
      put(usage, node, far, near, weight);
      put(usage, node, near, far, weight);
    }
  }
  return usage;
}

void UsageBuilder::add_trees(int most) {
  stamp_all([&](const Node& node, bool) {
    std::vector<std::size_t> heads = entries(node, most);
    if (nodes_.size() == 1) {
      heads.clear();
      for (std::size_t at = 0; at < node.members.size(); ++at) heads.push_back(at);
    }
    return chain_usage(node, heads, 1.0 / static_cast<double>(heads.size()));
  });
  if (nodes_.size() > 1) add_network_trees(most);
}

void UsageBuilder::add_network_trees(int most) {
  std::size_t heads = entries(nodes_.front(), most).size();
  for (const Node& node : nodes_) heads = std::min(heads, entries(node, most).size());
  const int n = static_cast<int>(nodes_.size());
  const double weight = 0.5 / static_cast<double>(heads);
  std::vector<std::vector<std::size_t>> at;
  for (const Node& node : nodes_) at.push_back(entries(node, most));
  for (int tree = 0; tree < 2; ++tree) {
    for (int id = 0; id < n; ++id) {
      const int parent = double_tree_parent(id, n, tree);
      if (parent < 0) continue;
      const auto child_at = static_cast<std::size_t>(id),
                 parent_at = static_cast<std::size_t>(parent);
      for (std::size_t head = 0; head < heads; ++head) {
        const std::uint64_t salt = 2 * head + static_cast<std::uint64_t>(tree);
        add_between(nodes_[child_at], at[child_at][head], nodes_[parent_at], at[parent_at][head],
                    weight, salt);
        add_between(nodes_[parent_at], at[parent_at][head], nodes_[child_at], at[child_at][head],
                    weight, salt);
      }
    }
  }
}

void UsageBuilder::add_multicast(double out, double in) {
  stamp_all([&](const Node& node, bool) {
    NodeUsage usage;
    const int base = node.index * topology_.links_per_node();
    for (const Member& member : node.members) {
      for (const LinkId link : topology_.links_from(member.gpu)) {
        if (topology_.link(link).tier != LinkTier::kNvlink) continue;
        usage.push_back({LinkId{link.index() - base}, out});
        usage.push_back(
            {LinkId{link.index() + 1 - base}, in});  // add_cable: the way back has the next id
        FORETRAIN_ASSERT(topology_.link(LinkId{link.index() + 1}).to == member.gpu,
                         "cables are pairs of links");
      }
    }
    return usage;
  });
}

void UsageBuilder::add_dimensions() {
  const std::size_t n = nodes_.size();
  double left = static_cast<double>(n - 1);
  double part = std::ceil(static_cast<double>(n) / 2);
  for (std::size_t distance = 1; distance < n && left > 0; distance *= 2) {
    const double ranks = std::min(left, std::max(1.0, part));
    for (std::size_t i = 0; i < n; ++i) {
      add_between(nodes_[i], 0, nodes_[(i + distance) % n], 0, ranks / static_cast<double>(n),
                  distance);
    }
    left -= ranks;
    part = std::ceil(part / 2);
  }
}

void UsageBuilder::add_all_to_all(bool relay) {
  const auto n = static_cast<double>(group_.gpus.size());
  stamp_all([&](const Node& node, bool) {
    NodeUsage usage;
    const std::size_t k = node.members.size();
    // Data for ranks of other nodes changes over to the GPU on their rail first.
    const double local =
        (1.0 + (relay ? (n - static_cast<double>(k)) / static_cast<double>(k) : 0.0)) / n;
    for (std::size_t from = 0; from < k; ++from) {
      for (std::size_t shift = 1; shift < k; ++shift) {
        put(usage, node, node.members[from].gpu, node.members[(from + shift) % k].gpu, local);
      }
    }
    return usage;
  });
  const std::size_t nodes = nodes_.size();
  if (nodes == 1) return;
  if (group_.gpus.size() > kMostRanksByFlow) {
    add_pairs_by_count();
    return;
  }
  for (std::size_t distance = 1; distance < nodes; ++distance) {
    for (std::size_t i = 0; i < nodes; ++i) {
      const Node& from = nodes_[i];
      const Node& to = nodes_[(i + distance) % nodes];
      // All that `from` has for one rank of `to` leaves by that rank's rail.
      const double share = static_cast<double>(from.members.size()) / n;
      for (std::size_t at = 0; at < to.members.size(); ++at)
        add_between(from, at, to, at, share, distance * 64 + at);
    }
  }
}

/// One flow per GPU and rail, to the node half the way round, stands for all: links of the nodes
/// carry it times the peers, links between switches what counts of peers give.
void UsageBuilder::add_pairs_by_count() {
  const auto n = static_cast<double>(group_.gpus.size());
  const std::size_t nodes = nodes_.size();
  std::vector<double> receivers(static_cast<std::size_t>(local_ranks_), 0.0);
  for (const Node& node : nodes_) {
    for (std::size_t at = 0; at < node.members.size(); ++at) receivers[at] += 1;
  }
  FabricLoad fabric{topology_};
  for (std::size_t i = 0; i < nodes; ++i) {
    const Node& from = nodes_[i];
    const Node& to = nodes_[(i + nodes / 2) % nodes];
    const double per_peer = static_cast<double>(from.members.size()) / n;
    const double arriving = (n - static_cast<double>(to.members.size())) / n;
    const std::size_t parts = distinct_nics(topology_, NodeId{from.index});
    for (std::size_t at = 0; at < receivers.size(); ++at) {
      const bool receives = at < from.members.size();
      const double peers = receivers[at] - (receives ? 1 : 0);
      const FlowRoute route = router_.route(from.members[at % from.members.size()].gpu,
                                            to.members[at % to.members.size()].gpu, label_);
      network_latency_ = std::max(network_latency_, route.latency);
      std::size_t column = at * parts;
      for (const LinkShare& use : route.links) {
        const Link& link = topology_.link(use.link);
        if (link.tier == LinkTier::kInterSwitch) continue;
        const NodeId sender = topology_.device(link.from).node;
        if (sender.index() != from.index) {
          if (at < to.members.size()) usage_.push_back({use.link, use.share * arriving});
          continue;
        }
        if (peers > 0) usage_.push_back({use.link, use.share * per_peer * peers});
        if (link.tier == LinkTier::kHostLink)
          fabric.add_endpoint(column++, link.to, use.share * per_peer, receives);
      }
    }
  }
  fabric.take(topology_.fabric().routing == Routing::kEcmp, label_, usage_);
}

void UsageBuilder::add_shift() {
  const std::size_t n = group_.gpus.size();
  for (std::size_t i = 0; i < n; ++i) add_edge(group_.gpus[i], group_.gpus[(i + 1) % n], 1.0, i);
}

std::vector<LinkShare> UsageBuilder::take(double overhead) {
  std::vector<LinkShare> result;
  const std::size_t links = topology_.links().size();
  constexpr std::size_t kSparse =
      16;  // links per entry beyond which sorting is cheaper than a look at every link
  if (links <= kSparse * usage_.size()) {
    std::vector<double> sums(links, 0.0);
    for (const LinkShare& use : usage_) sums[use.link.position()] += use.share;
    result.reserve(std::min(links, usage_.size()));
    for (std::size_t link = 0; link < links; ++link) {
      if (sums[link] > 0)
        result.push_back({LinkId{static_cast<std::int32_t>(link)}, sums[link] * overhead});
    }
    return result;
  }
  std::stable_sort(usage_.begin(), usage_.end(),
                   [](const LinkShare& a, const LinkShare& b) { return a.link < b.link; });
  for (const LinkShare& use : usage_) {
    if (result.empty() || result.back().link != use.link) {
      if (!result.empty()) result.back().share *= overhead;
      result.push_back({use.link, 0.0});
    }
    result.back().share += use.share;
  }
  if (!result.empty()) result.back().share *= overhead;
  return result;
}

}  // namespace foretrain
