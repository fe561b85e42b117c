// The links that a collective's data cross, and how many bytes of its size cross each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/collectives/collective.h"

namespace foretrain {

/// Sums usage of one collective over a group, in bytes per byte of its size S (as nccl-tests counts
/// it). Inside a node usage is worked out once per set of GPUs and copied to the nodes that have
/// the same.
class UsageBuilder {
 public:
  UsageBuilder(const Topology& topology, const Router& router, const ProcessGroup& group,
               std::uint64_t label);

  [[nodiscard]] int nodes() const { return static_cast<int>(nodes_.size()); }
  /// GPUs on the fullest node.
  [[nodiscard]] int local_ranks() const { return local_ranks_; }

  /// At most `most` rings, one per NIC of the group's GPUs; every hop carries `per_rank` in all.
  /// Ring j goes down through the node's GPUs from the one on NIC j and leaves by the next one's
  /// NIC; odd nodes go the other way, so that a ring stays on one rail between nodes.
  void add_rings(double per_rank, int most);
  /// Chains inside nodes, double binary trees between them: S up and S down, half of each NIC's
  /// part per tree.
  void add_trees(int most);
  /// Reduction and multicast in the NVSwitch. `out`, `in`: bytes that leave and reach each GPU.
  void add_multicast(double out, double in);
  /// The part of trees between nodes.
  void add_network_trees(int most);
  /// One rank per node; messages to ranks 1, 2, 4 … further on, S (n-1)/n together.
  void add_dimensions();
  /// Every rank to every other, S / n each. `relay`: GPUs hand data over to the one on the
  /// destination's rail.
  void add_all_to_all(bool relay);
  /// Every rank to the next.
  void add_shift();

  /// The rings that add_rings() loads, each as GPUs in sending order, and the share of the data
  /// that each carries.
  struct Ring {
    std::vector<DeviceId> gpus;
    double share = 1;
  };
  [[nodiscard]] std::vector<Ring> rings(int most) const;
  /// The trees that add_trees() loads: parent of each GPU by position, -1 for the root. Parents
  /// need not stand before their children.
  struct Tree {
    std::vector<DeviceId> gpus;
    std::vector<int> parent;
    double share = 1;
    std::uint64_t salt = 0;  // of the flows between nodes
  };
  [[nodiscard]] std::vector<Tree> trees(int most) const;
  /// The route of a flow as add_edge() takes it.
  [[nodiscard]] FlowRoute route(DeviceId from, DeviceId to, std::uint64_t salt) const {
    return router_.route(from, to, label_ * 8191 + salt);
  }

  /// Latency of the longest path between nodes that was added.
  [[nodiscard]] SimDuration network_latency() const { return network_latency_; }
  /// The sum, times `overhead`, sorted by link.
  [[nodiscard]] std::vector<LinkShare> take(double overhead);

 private:
  struct Member {
    DeviceId gpu;
    int local = 0;  // number within the node
  };
  struct Node {
    std::vector<Member> members;  // group order
    int index = 0;
  };
  /// Shares of a node's own links, by position after its first link.
  using NodeUsage = std::vector<LinkShare>;

  void add_edge(DeviceId from, DeviceId to, double weight, std::uint64_t salt);
  void add_between(const Node& from, std::size_t from_at, const Node& to, std::size_t to_at,
                   double weight, std::uint64_t salt);
  void add_pairs_by_count();
  void stamp(const Node& node, const NodeUsage& usage);
  void put(NodeUsage& usage, const Node& node, DeviceId from, DeviceId to, double weight) const;
  /// Positions in a node's list where rings enter: the first GPU on each NIC, at most `most`.
  [[nodiscard]] std::vector<std::size_t> entries(const Node& node, int most) const;
  [[nodiscard]] NodeUsage ring_usage(const Node& node, const std::vector<std::size_t>& starts,
                                     double weight, bool closed) const;
  [[nodiscard]] NodeUsage chain_usage(const Node& node, const std::vector<std::size_t>& heads,
                                      double weight) const;
  template <class Make>
  void stamp_all(Make make);

  const Topology& topology_;
  const Router& router_;
  const ProcessGroup& group_;
  std::uint64_t label_;
  int local_ranks_ = 0;
  std::vector<Node> nodes_;
  SimDuration network_latency_{};
  std::vector<LinkShare> usage_;  // unsorted, links may repeat
};

/// Cycles through all of `gpus` over direct links, as many as the links hold, each in both
/// directions; empty if there is none. A link holds as many as it is times wider than the
/// narrowest. @pre at most 8 GPUs of one node.
[[nodiscard]] std::vector<std::vector<std::size_t>> mesh_cycles(const Topology& topology,
                                                                const std::vector<DeviceId>& gpus);

}  // namespace foretrain
