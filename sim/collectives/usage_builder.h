// The links that a collective's data cross, and how many bytes of its size cross each.
#pragma once

#include <map>
#include <vector>

#include "sim/collectives/collective.h"

namespace foretrain {

/// Sums usage of one collective over a group, in bytes per byte of its size S (as nccl-tests counts it).
class UsageBuilder {
 public:
  UsageBuilder(const Topology& topology, const Router& router, const ProcessGroup& group,
               std::uint64_t label);

  [[nodiscard]] int nodes() const { return static_cast<int>(by_node_.size()); }
  [[nodiscard]] int local_ranks() const { return static_cast<int>(by_node_.front().size()); }

  /// One ring per adapter; a ring leaves a node by one GPU and enters the next by the GPU on the same rail.
  /// Every rank sends 2 (n-1)/n S (all-reduce), (n-1)/n S (all-gather, reduce-scatter) or S (broadcast, reduce).
  void add_rings(CollectiveKind kind, int rings);
  /// Double binary tree between nodes, chain inside; S up and S down over every edge, half of it per tree.
  /// `intra_weight` is what both directions of a chain's edge carry together.
  void add_tree(int channels, double intra_weight);
  /// Multicast in the NVSwitch: all-reduce moves S + S/n out of and into every GPU.
  void add_nvls(CollectiveKind kind);
  void add_nvls_tree(int heads);
  /// Every rank to every other (all-to-all), or to the next (send/recv).
  void add_peers(CollectiveKind kind);

  /// The sum, times `overhead`, sorted by link.
  [[nodiscard]] std::vector<LinkShare> take(double overhead);

 private:
  void add_edge(DeviceId from, DeviceId to, double weight, std::uint64_t salt);
  void add_inter_node_trees(int channels, double weight);
  [[nodiscard]] std::vector<DeviceId> node_order(std::size_t node, std::size_t entry, std::size_t exit) const;

  const Topology& topology_;
  const Router& router_;
  const ProcessGroup& group_;
  std::uint64_t label_;
  std::vector<std::vector<DeviceId>> by_node_;  // GPUs of the group on each node, group order
  std::map<LinkId, double> usage_;
};

}  // namespace foretrain
