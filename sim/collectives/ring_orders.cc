// The order in which rings and trees visit a group's GPUs: what usage_builder.cc loads as a whole,
// edge by edge.
#include <algorithm>

#include "sim/collectives/double_tree.h"
#include "sim/collectives/usage_builder.h"

namespace foretrain {

std::vector<UsageBuilder::Ring> UsageBuilder::rings(int most) const {
  std::vector<Ring> result;
  if (nodes_.size() == 1) {
    std::vector<DeviceId> gpus;
    for (const Member& member : nodes_.front().members) gpus.push_back(member.gpu);
    const auto cycles = mesh_cycles(topology_, gpus);
    if (cycles.empty()) {
      // Down through the node, as ring_usage() goes from position 0.
      std::reverse(gpus.begin() + 1, gpus.end());
      return {{std::move(gpus), 1.0}};
    }
    for (const auto& cycle : cycles) {
      Ring ring{{}, 1.0 / static_cast<double>(cycles.size())};
      for (const std::size_t at : cycle) ring.gpus.push_back(gpus[at]);
      result.push_back(std::move(ring));
    }
    return result;
  }
  std::size_t count = entries(nodes_.front(), most).size();
  for (const Node& node : nodes_) count = std::min(count, entries(node, most).size());
  for (std::size_t ring = 0; ring < count; ++ring) {
    Ring order{{}, 1.0 / static_cast<double>(count)};
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const std::size_t k = nodes_[i].members.size();
      const std::size_t start = entries(nodes_[i], most)[ring];
      // Even nodes go down from `start`, odd ones up to it.
      for (std::size_t step = 0; step < k; ++step) {
        const std::size_t at = i % 2 == 0 ? start + k - step : start + 1 + step;
        order.gpus.push_back(nodes_[i].members[at % k].gpu);
      }
    }
    result.push_back(std::move(order));
  }
  return result;
}

std::vector<UsageBuilder::Tree> UsageBuilder::trees(int most) const {
  const int n = static_cast<int>(nodes_.size());
  std::vector<std::vector<std::size_t>> heads;
  std::size_t count = nodes_.front().members.size();
  for (const Node& node : nodes_) {
    heads.push_back(entries(node, most));
    if (n > 1) count = std::min(count, heads.back().size());
  }
  if (n == 1) {
    heads.front().clear();
    for (std::size_t at = 0; at < count; ++at) heads.front().push_back(at);
  }
  std::vector<Tree> result;
  for (std::size_t head = 0; head < count; ++head) {
    for (int tree = 0; tree < (n > 1 ? 2 : 1); ++tree) {
      Tree order;
      order.share = (n > 1 ? 0.5 : 1.0) / static_cast<double>(count);
      order.salt = 2 * head + static_cast<std::uint64_t>(tree);
      std::vector<int> first;  // position of each node's head
      for (int i = 0; i < n; ++i) {
        const Node& node = nodes_[static_cast<std::size_t>(i)];
        const std::size_t k = node.members.size();
        first.push_back(static_cast<int>(order.gpus.size()));
        for (std::size_t step = 0; step < k; ++step) {
          order.parent.push_back(step == 0 ? -1 : static_cast<int>(order.gpus.size()) - 1);
          const std::size_t at = heads[static_cast<std::size_t>(i)][head] + step;
          order.gpus.push_back(node.members[at % k].gpu);
        }
      }
      for (int i = 0; i < n && n > 1; ++i) {
        const int parent = double_tree_parent(i, n, tree);
        if (parent >= 0)
          order.parent[static_cast<std::size_t>(first[static_cast<std::size_t>(i)])] =
              first[static_cast<std::size_t>(parent)];
      }
      result.push_back(std::move(order));
    }
  }
  return result;
}

}  // namespace foretrain
