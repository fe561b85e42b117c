#include "sim/collectives/usage_builder.h"

#include <algorithm>

namespace foretrain {

UsageBuilder::UsageBuilder(const Topology& topology, const Router& router, const ProcessGroup& group,
                           std::uint64_t label)
    : topology_(topology), router_(router), group_(group), label_(label) {
  // Nodes in the order in which the group first meets them.
  std::map<NodeId, std::size_t> position;
  for (const DeviceId gpu : group.gpus) {
    const NodeId node = topology.device(gpu).node;
    const auto [entry, inserted] = position.try_emplace(node, by_node_.size());
    if (inserted) by_node_.emplace_back();
    by_node_[entry->second].push_back(gpu);
  }
}

void UsageBuilder::add_edge(DeviceId from, DeviceId to, double weight, std::uint64_t salt) {
  if (from == to || weight <= 0) return;
  const FlowRoute route = router_.route(from, to, label_ * 8191 + salt);
  for (const LinkShare& use : route.links) usage_[use.link] += use.share * weight;
}

/// All GPUs of a node from `entry` to `exit` (positions in its list).
std::vector<DeviceId> UsageBuilder::node_order(std::size_t node, std::size_t entry, std::size_t exit) const {
  const std::vector<DeviceId>& gpus = by_node_[node];
  const std::size_t count = gpus.size();
  std::vector<DeviceId> order{gpus[entry % count]};
  for (std::size_t i = 1; i < count; ++i) {
    const std::size_t at = (entry + i) % count;
    if (at != exit % count) order.push_back(gpus[at]);
  }
  if (count > 1 && entry % count != exit % count) order.push_back(gpus[exit % count]);
  return order;
}

void UsageBuilder::add_rings(CollectiveKind kind, int rings) {
  const auto n = static_cast<double>(group_.gpus.size());
  const double per_rank = kind == CollectiveKind::kAllReduce ? 2 * (n - 1) / n
                          : kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter
                              ? (n - 1) / n
                              : 1.0;
  const auto local = static_cast<std::size_t>(local_ranks());
  const std::size_t count = nodes() == 1 ? 1 : std::min(local, static_cast<std::size_t>(rings));
  const double weight = per_rank / static_cast<double>(count);
  for (std::size_t c = 0; c < count; ++c) {
    std::vector<DeviceId> ring;
    const std::size_t first = c * local / count;
    const std::size_t pair = local > 1 ? (first ^ 1U) % local : first;
    for (std::size_t node = 0; node < by_node_.size(); ++node) {
      // Odd nodes swap entry and exit, so that a ring leaves and arrives on one rail.
      const bool odd = node % 2 == 1;
      const auto order = node_order(node, odd ? pair : first, odd ? first : pair);
      ring.insert(ring.end(), order.begin(), order.end());
    }
    for (std::size_t i = 0; i < ring.size(); ++i) {
      add_edge(ring[i], ring[(i + 1) % ring.size()], weight, c);
    }
  }
}

/// Trees A and B over nodes: parent of id in NCCL's double binary tree. @source nccl src/graph/trees.cc.
static int tree_parent(int id, int nodes) {
  if (id == 0) return -1;
  int bit = 1;
  while ((id & bit) == 0) bit <<= 1;
  const int up = (id ^ bit) | (bit << 1);
  return up >= nodes ? id ^ bit : up;
}

void UsageBuilder::add_inter_node_trees(int channels, double weight) {
  const auto local = static_cast<std::size_t>(local_ranks());
  const std::size_t count = std::min(local, static_cast<std::size_t>(std::max(1, channels)));
  const int total = nodes();
  for (std::size_t c = 0; c < count; ++c) {
    const std::size_t head = c * local / count;
    for (int tree = 0; tree < 2; ++tree) {
      const auto real = [&](int id) {
        if (tree == 0) return id;
        return total % 2 == 0 ? total - 1 - id : (id + 1) % total;
      };
      for (int id = 1; id < total; ++id) {
        const int parent = tree_parent(id, total);
        const auto child_node = static_cast<std::size_t>(real(id));
        const auto parent_node = static_cast<std::size_t>(real(parent));
        const DeviceId from = by_node_[child_node][head % by_node_[child_node].size()];
        const DeviceId to = by_node_[parent_node][head % by_node_[parent_node].size()];
        const double share = weight / (2.0 * static_cast<double>(count));
        add_edge(from, to, share, 2 * c);
        add_edge(to, from, share, 2 * c + 1);
      }
    }
  }
}

void UsageBuilder::add_tree(int channels, double intra_weight) {
  const auto local = static_cast<std::size_t>(local_ranks());
  const std::size_t count = nodes() == 1 ? 1 : std::min(local, static_cast<std::size_t>(std::max(1, channels)));
  for (std::size_t c = 0; c < count; ++c) {
    const std::size_t head = c * local / count;
    for (std::size_t node = 0; node < by_node_.size(); ++node) {
      const auto chain = node_order(node, head, head + local - 1);
      const double weight = intra_weight / 2 / static_cast<double>(count);
      for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
        add_edge(chain[i], chain[i + 1], weight, c);
        add_edge(chain[i + 1], chain[i], weight, c);
      }
    }
  }
  if (nodes() > 1) add_inter_node_trees(channels, 1.0);
}

void UsageBuilder::add_nvls(CollectiveKind kind) {
  const auto n = static_cast<double>(group_.gpus.size());
  // A shift by one crosses every GPU's link once out and once in.
  const double weight = kind == CollectiveKind::kAllReduce ? 1 + 1 / n : 1.0;
  const auto& gpus = by_node_.front();
  for (std::size_t i = 0; i < gpus.size(); ++i) add_edge(gpus[i], gpus[(i + 1) % gpus.size()], weight, 0);
}

void UsageBuilder::add_nvls_tree(int heads) {
  for (const auto& gpus : by_node_) {
    const auto n = static_cast<double>(gpus.size());
    for (std::size_t i = 0; i < gpus.size(); ++i) add_edge(gpus[i], gpus[(i + 1) % gpus.size()], 1 + 1 / n, 0);
  }
  add_inter_node_trees(heads, 1.0);
}

void UsageBuilder::add_peers(CollectiveKind kind) {
  const std::size_t n = group_.gpus.size();
  if (kind == CollectiveKind::kSendRecv) {
    for (std::size_t i = 0; i < n; ++i) add_edge(group_.gpus[i], group_.gpus[(i + 1) % n], 1.0, i);
    return;
  }
  const double weight = 1.0 / static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t shift = 1; shift < n; ++shift) {
      add_edge(group_.gpus[i], group_.gpus[(i + shift) % n], weight, shift);
    }
  }
}

std::vector<LinkShare> UsageBuilder::take(double overhead) {
  std::vector<LinkShare> result;
  result.reserve(usage_.size());
  for (const auto& [link, weight] : usage_) result.push_back({link, weight * overhead});
  return result;
}

}  // namespace foretrain
