#include "sim/collectives/chunk_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/collectives/collective_cost.h"
#include "sim/collectives/usage_builder.h"
#include "sim/core/contracts.h"

namespace foretrain {
namespace {

using Id = std::uint32_t;

class Scheduler {
 public:
  Scheduler(const UsageBuilder& builder, const Topology& topology, const ProcessGroup& group,
            const ChunkRules& rules)
      : builder_(builder), topology_(topology), group_(group), rules_(rules) {
    schedule_.launch = duration_from_seconds(rules.efficiency.launch_us * 1e-6);
    schedule_.choice = rules.choice;
    schedule_.first_after.push_back(0);
  }

  Result<CommunicationSchedule> make() {
    switch (rules_.choice.algorithm) {
      case CollectiveAlgorithm::kRing: rings(); break;
      case CollectiveAlgorithm::kTree: trees(); break;
      case CollectiveAlgorithm::kNvls: multicast(); break;
      case CollectiveAlgorithm::kNvlsTree: multicast_trees(); break;
      case CollectiveAlgorithm::kPeerToPeer:
        if (rules_.kind == CollectiveKind::kAllToAll) {
          all_to_all();
        } else {
          shift();
        }
        break;
      default:
        return fail(
            {}, "fidelity",
            fmt::format("{} has no chunk by chunk form here", to_string(rules_.choice.algorithm)),
            "use fluid, or force another algorithm: nccl.NCCL_ALGO: Ring");
    }
    if (too_many_) {
      return fail(
          {}, "fidelity",
          fmt::format("chunk by chunk this call has more than {} transfers", rules_.most_transfers),
          "use fluid, fewer ranks or a smaller size");
    }
    return std::move(schedule_);
  }

 private:
  // ---- paths ----

  /// What a link really carries of its bandwidth, as the fluid lowering has it.
  [[nodiscard]] double efficiency(LinkTier tier) const {
    double share = 0;
    switch (tier) {
      case LinkTier::kNvlink: share = rules_.efficiency.nvlink; break;
      case LinkTier::kPcie: share = rules_.efficiency.pcie; break;
      case LinkTier::kHostLink: share = rules_.efficiency.network; break;
      case LinkTier::kInterSwitch: break;
    }
    return share > 0 ? share : 1;
  }

  /// `part` of all channels serve the path.
  Id add_path(const FlowRoute& route, double part, double weight = 1) {
    ChunkPath path;
    bool between = false;
    for (const LinkShare& use : route.links) {
      const LinkTier tier = topology_.link(use.link).tier;
      between = between || tier == LinkTier::kHostLink;
      path.usage.push_back({use.link, use.share * weight / efficiency(tier)});
    }
    path.rate_cap = DataRate::from_bytes_per_second(1e9 * rules_.efficiency.channel_gbytes_per_s *
                                                    rules_.choice.max_channels * part);
    const double hop_us = between ? rules_.efficiency.network_hop_us : rules_.efficiency.hop_us;
    path.latency = duration_from_seconds(hop_us * 1e-6) + (between ? route.latency : SimDuration{});
    schedule_.paths.push_back(std::move(path));
    return static_cast<Id>(schedule_.paths.size() - 1);
  }

  Id add(Id path, double data_bytes, std::initializer_list<Id> after) {
    return add(path, data_bytes, std::span{after.begin(), after.size()});
  }
  Id add(Id path, double data_bytes, std::span<const Id> after) {
    schedule_.path.push_back(path);
    schedule_.bytes.push_back(data_bytes * rules_.wire_overhead);
    schedule_.after.insert(schedule_.after.end(), after.begin(), after.end());
    schedule_.first_after.push_back(static_cast<Id>(schedule_.after.size()));
    return static_cast<Id>(schedule_.path.size() - 1);
  }

  /// False, and nothing more is scheduled, if `count` transfers are too many. Dependencies are a
  /// few per transfer.
  bool affordable(double count) {
    too_many_ = too_many_ || count > static_cast<double>(rules_.most_transfers);
    return !too_many_;
  }

  /// Pieces in which `bytes` go by `channels` channels, each of at most one chunk.
  [[nodiscard]] int pieces(double bytes, double channels, double chunk) const {
    constexpr double kMost = 1e9;  // far more than a schedule may hold, and an int still
    return static_cast<int>(
        std::clamp(std::ceil(bytes / (chunk * std::max(1.0, channels))), 1.0, kMost));
  }
  /// Slices of a piece: a chunk is handed on slice by slice if it is longer than one.
  [[nodiscard]] int slices_of(double piece, double channels) const {
    const double slice = rules_.chunk_bytes / rules_.slices * std::max(1.0, channels);
    return static_cast<int>(std::clamp<double>(std::ceil(piece / slice), 1, rules_.slices));
  }

  // ---- rings ----

  void rings() {
    const std::vector<UsageBuilder::Ring> orders = builder_.rings(rules_.most_rings);
    std::vector<std::pair<int, int>> plans;  // loops and slices by ring
    const bool chain =
        rules_.kind == CollectiveKind::kBroadcast || rules_.kind == CollectiveKind::kReduce;
    double count = 0;
    for (const UsageBuilder::Ring& ring : orders) {
      const auto n = static_cast<double>(ring.gpus.size());
      const double channels = rules_.choice.channels * ring.share;
      const double data = rules_.bytes * ring.share;
      const int loops = pieces(chain ? data : data / n, channels, rules_.chunk_bytes);
      const int slices = chain ? 1 : slices_of(data / n / loops, channels);
      plans.emplace_back(loops, slices);
      count += chain ? loops * (n - 1) : loops * slices * steps(n) * n;
    }
    if (!affordable(count)) return;
    for (std::size_t r = 0; r < orders.size(); ++r) {
      if (chain) {
        ring_chain(orders[r], r, plans[r].first);
      } else {
        ring_steps(orders[r], r, plans[r].first, plans[r].second);
      }
    }
  }
  [[nodiscard]] double steps(double n) const {
    return rules_.kind == CollectiveKind::kAllReduce ? 2 * (n - 1) : n - 1;
  }
  [[nodiscard]] std::vector<Id> ring_paths(const UsageBuilder::Ring& ring, std::size_t salt) {
    std::vector<Id> paths;
    const std::size_t n = ring.gpus.size();
    for (std::size_t i = 0; i < n; ++i) {
      paths.push_back(
          add_path(builder_.route(ring.gpus[i], ring.gpus[(i + 1) % n], salt), ring.share));
    }
    return paths;
  }

  /// Loop by loop, step by step: a rank sends on what has come from the one before it.
  void ring_steps(const UsageBuilder::Ring& ring, std::size_t salt, int loops, int slices) {
    const std::vector<Id> paths = ring_paths(ring, salt);
    const std::size_t n = paths.size();
    const double bytes =
        rules_.bytes * ring.share / static_cast<double>(n) / loops / static_cast<double>(slices);
    const auto last = static_cast<int>(steps(static_cast<double>(n)));
    const auto width = static_cast<Id>(n * static_cast<std::size_t>(slices));
    for (int loop = 0; loop < loops; ++loop) {
      for (int step = 0; step < last; ++step) {
        const auto before = static_cast<Id>(schedule_.size()) - width;  // the step before
        for (Id slice = 0; slice < static_cast<Id>(slices); ++slice) {
          for (std::size_t rank = 0; rank < n; ++rank) {
            const Id from =
                before + slice * static_cast<Id>(n) + static_cast<Id>((rank + n - 1) % n);
            if (step == 0) {
              add(paths[rank], bytes, {});
            } else {
              add(paths[rank], bytes, {from});
            }
          }
        }
      }
    }
  }

  /// Broadcast and reduce: every chunk from rank to rank.
  void ring_chain(const UsageBuilder::Ring& ring, std::size_t salt, int chunks) {
    const std::vector<Id> paths = ring_paths(ring, salt);
    const double bytes = rules_.bytes * ring.share / chunks;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      for (std::size_t hop = 0; hop + 1 < paths.size(); ++hop) {
        if (hop == 0) {
          add(paths[hop], bytes, {});
        } else {
          add(paths[hop], bytes, {static_cast<Id>(schedule_.size()) - 1});
        }
      }
    }
  }

  // ---- trees ----

  void trees() {
    const std::vector<UsageBuilder::Tree> orders = builder_.trees(rules_.most_rings);
    const double per_rank = bus_factor(rules_.kind, static_cast<int>(group_.gpus.size()));
    std::vector<int> chunks;
    double count = 0;
    for (const UsageBuilder::Tree& tree : orders) {
      chunks.push_back(pieces(rules_.bytes * tree.share, rules_.choice.channels * tree.share,
                              rules_.chunk_bytes));
      count += 2.0 * chunks.back() * static_cast<double>(tree.gpus.size());
    }
    if (!affordable(count)) return;
    for (std::size_t t = 0; t < orders.size(); ++t) tree_chunks(orders[t], chunks[t], per_rank);
  }

  /// Up when all children have come, down when the parent's has; the root turns around.
  void tree_chunks(const UsageBuilder::Tree& tree, int chunks, double per_rank) {
    const std::size_t n = tree.gpus.size();
    std::vector<std::vector<std::size_t>> children(n);
    std::vector<Id> up(n), down(n);
    std::size_t root = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (tree.parent[i] < 0) {
        root = i;
        continue;
      }
      const auto parent = static_cast<std::size_t>(tree.parent[i]);
      children[parent].push_back(i);
      const double part = tree.share / per_rank;
      up[i] = add_path(builder_.route(tree.gpus[i], tree.gpus[parent], tree.salt), part);
      down[i] = add_path(builder_.route(tree.gpus[parent], tree.gpus[i], tree.salt), part);
    }
    std::vector<std::size_t> order{root};  // parents first
    for (std::size_t at = 0; at < order.size(); ++at)
      order.insert(order.end(), children[order[at]].begin(), children[order[at]].end());
    const double bytes = rules_.bytes * tree.share / chunks;
    std::vector<Id> sent_up(n), sent_down(n), waits;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const auto collected = [&](std::size_t i) {
        waits.clear();
        for (const std::size_t child : children[i]) waits.push_back(sent_up[child]);
      };
      for (std::size_t at = n; at-- > 1;) {
        collected(order[at]);
        sent_up[order[at]] = add(up[order[at]], bytes, waits);
      }
      for (std::size_t at = 1; at < n; ++at) {
        const std::size_t i = order[at];
        const auto parent = static_cast<std::size_t>(tree.parent[i]);
        if (parent == root) {
          collected(root);
        } else {
          waits = {sent_down[parent]};
        }
        sent_down[i] = add(down[i], bytes, waits);
      }
    }
  }

  // ---- NVLS ----

  /// A chunk goes down to all once all have sent it up: the switch adds and multiplies.
  void multicast() {
    const std::size_t n = group_.gpus.size();
    const auto ranks = static_cast<double>(n);
    double out = 1, in = 1;
    if (rules_.kind == CollectiveKind::kAllReduce) out = in = 1 + 1 / ranks;
    if (rules_.kind == CollectiveKind::kAllGather) out = 1 / ranks;
    if (rules_.kind == CollectiveKind::kReduceScatter) in = 1 / ranks;
    const int chunks = pieces(rules_.bytes, rules_.choice.channels * ranks, rules_.chunk_bytes);
    if (!affordable(2.0 * chunks * ranks * ranks)) return;
    const double part = 1 / bus_factor(rules_.kind, static_cast<int>(n));
    std::vector<Id> up, down;
    for (const DeviceId gpu : group_.gpus) {
      const auto [to_switch, from_switch] = switch_paths(gpu, part, out, in);
      up.push_back(to_switch);
      down.push_back(from_switch);
    }
    std::vector<Id> sent(n);
    for (int chunk = 0; chunk < chunks; ++chunk) {
      for (std::size_t i = 0; i < n; ++i) sent[i] = add(up[i], rules_.bytes / chunks, {});
      for (std::size_t i = 0; i < n; ++i) add(down[i], rules_.bytes / chunks, sent);
    }
  }

  /// Between a GPU and its NVSwitch; one hop in all. `out`, `in`: bytes per byte of a chunk.
  std::pair<Id, Id> switch_paths(DeviceId gpu, double part, double out, double in) {
    FlowRoute ups, downs;
    for (const LinkId link : topology_.links_from(gpu)) {
      if (topology_.link(link).tier != LinkTier::kNvlink) continue;
      ups.links.push_back({link, 1.0});
      downs.links.push_back({LinkId{link.index() + 1}, 1.0});  // cables are pairs of links
    }
    FORETRAIN_ASSERT(!ups.links.empty(), "NVLS needs an NVSwitch");
    const Id up = add_path(ups, part, out);
    schedule_.paths[up].latency = SimDuration{};
    return {up, add_path(downs, part, in)};
  }

  /// NVLS inside nodes, double binary trees between one GPU per NIC of each.
  void multicast_trees() {
    const std::vector<UsageBuilder::Tree> orders = builder_.trees(rules_.most_rings);
    std::vector<int> chunks;
    double count = 0;
    for (const UsageBuilder::Tree& tree : orders) {
      chunks.push_back(pieces(rules_.bytes * tree.share, rules_.choice.channels * tree.share,
                              rules_.chunk_bytes));
      count += 4.0 * chunks.back() * static_cast<double>(tree.gpus.size());
    }
    if (!affordable(count)) return;
    for (std::size_t t = 0; t < orders.size(); ++t) multicast_tree(orders[t], chunks[t]);
  }

  struct TreeNode {
    std::size_t head = 0, members = 0;  // positions in the tree's GPUs, heads first
    int parent = -1;                    // node
    std::vector<std::size_t> children;
    Id up = 0, down = 0;  // paths to and from the parent's head
    std::vector<Id> to_switch, from_switch;
    Id sent_up = 0, sent_down = 0;
    std::vector<Id> collected;  // of its members
  };

  [[nodiscard]] std::vector<TreeNode> nodes_of(const UsageBuilder::Tree& tree) {
    std::vector<TreeNode> nodes;
    std::map<int, int> node_of_head;
    for (std::size_t i = 0; i < tree.gpus.size(); ++i) {
      const bool in_chain =
          i > 0 && topology_.device(tree.gpus[i]).node == topology_.device(tree.gpus[i - 1]).node;
      if (in_chain) {
        ++nodes.back().members;
        continue;
      }
      node_of_head[static_cast<int>(i)] = static_cast<int>(nodes.size());
      nodes.push_back({});
      nodes.back().head = i;
      nodes.back().members = 1;
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const int parent = tree.parent[nodes[i].head];
      if (parent < 0) continue;
      nodes[i].parent = node_of_head.at(parent);
      nodes[static_cast<std::size_t>(nodes[i].parent)].children.push_back(i);
    }
    return nodes;
  }

  void multicast_tree(const UsageBuilder::Tree& tree, int chunks) {
    const double part = tree.share / bus_factor(rules_.kind, static_cast<int>(group_.gpus.size()));
    std::vector<TreeNode> nodes = nodes_of(tree);
    std::vector<std::size_t> order;  // parents first
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      TreeNode& node = nodes[i];
      const double weight = 1 + 1.0 / static_cast<double>(node.members);
      for (std::size_t m = 0; m < node.members; ++m) {
        const auto [up, down] = switch_paths(tree.gpus[node.head + m], part, weight, weight);
        node.to_switch.push_back(up);
        node.from_switch.push_back(down);
      }
      if (node.parent < 0) {
        order.insert(order.begin(), i);
        continue;
      }
      const DeviceId parent = tree.gpus[nodes[static_cast<std::size_t>(node.parent)].head];
      node.up = add_path(builder_.route(tree.gpus[node.head], parent, tree.salt), part);
      node.down = add_path(builder_.route(parent, tree.gpus[node.head], tree.salt), part);
    }
    for (std::size_t at = 0; at < order.size(); ++at)
      order.insert(order.end(), nodes[order[at]].children.begin(), nodes[order[at]].children.end());
    const double bytes = rules_.bytes * tree.share / chunks;
    for (int chunk = 0; chunk < chunks; ++chunk) multicast_chunk(nodes, order, bytes);
  }

  void multicast_chunk(std::vector<TreeNode>& nodes, const std::vector<std::size_t>& order,
                       double bytes) {
    std::vector<Id> waits;
    const auto collect = [&](TreeNode& node) {
      waits = node.collected;
      for (const std::size_t child : node.children) waits.push_back(nodes[child].sent_up);
    };
    for (std::size_t at = order.size(); at-- > 0;) {
      TreeNode& node = nodes[order[at]];
      node.collected.clear();
      for (const Id path : node.to_switch) node.collected.push_back(add(path, bytes, {}));
      if (node.parent < 0) continue;
      collect(node);
      node.sent_up = add(node.up, bytes, waits);
    }
    for (const std::size_t i : order) {
      TreeNode& node = nodes[i];
      if (node.parent < 0) {
        collect(node);
      } else {
        const TreeNode& parent = nodes[static_cast<std::size_t>(node.parent)];
        if (parent.parent < 0) {
          // The root turns around: its children get what it has collected.
          collect(nodes[static_cast<std::size_t>(node.parent)]);
        } else {
          waits = {parent.sent_down};
        }
        node.sent_down = add(node.down, bytes, waits);
        waits = {node.sent_down};
      }
      const std::vector<Id> ready = waits;
      for (const Id path : node.from_switch) add(path, bytes, ready);
    }
  }

  // ---- peer to peer ----

  /// Rounds of increasing distance; as many peers at once as channels serve.
  void all_to_all() {
    const std::size_t n = group_.gpus.size();
    const auto ranks = static_cast<double>(n);
    if (!affordable(ranks * (ranks - 1))) return;
    const std::size_t at_once =
        std::clamp<std::size_t>(static_cast<std::size_t>(rules_.choice.max_channels), 1, n - 1);
    std::vector<std::vector<Id>> sent(n);
    for (std::size_t distance = 1; distance < n; ++distance) {
      for (std::size_t from = 0; from < n; ++from) {
        const std::size_t to = (from + distance) % n;
        const Id path = add_path(builder_.route(group_.gpus[from], group_.gpus[to], distance),
                                 1 / static_cast<double>(at_once));
        const bool waits = sent[from].size() >= at_once;
        const Id before = waits ? sent[from][sent[from].size() - at_once] : 0;
        const double bytes = rules_.bytes / ranks;
        sent[from].push_back(waits ? add(path, bytes, {before}) : add(path, bytes, {}));
      }
    }
  }

  void shift() {
    const std::size_t n = group_.gpus.size();
    const int chunks = pieces(rules_.bytes, rules_.choice.channels, rules_.chunk_bytes);
    if (!affordable(chunks * static_cast<double>(n))) return;
    for (std::size_t i = 0; i < n; ++i) {
      const Id path = add_path(builder_.route(group_.gpus[i], group_.gpus[(i + 1) % n], i), 1.0);
      for (int chunk = 0; chunk < chunks; ++chunk) add(path, rules_.bytes / chunks, {});
    }
  }

  const UsageBuilder& builder_;
  const Topology& topology_;
  const ProcessGroup& group_;
  const ChunkRules& rules_;
  CommunicationSchedule schedule_;
  bool too_many_ = false;
};

}  // namespace

Result<CommunicationSchedule> make_schedule(const UsageBuilder& builder, const Topology& topology,
                                            const ProcessGroup& group, const ChunkRules& rules) {
  return Scheduler{builder, topology, group, rules}.make();
}

}  // namespace foretrain
