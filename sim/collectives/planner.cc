#include <algorithm>
#include <cmath>
#include <map>

#include "sim/collectives/collective.h"
#include "sim/collectives/nccl_graphs.h"
#include "sim/collectives/nccl_tuning.h"
#include "sim/collectives/usage_builder.h"
#include "sim/core/contracts.h"

namespace foretrain {

std::string_view to_string(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce: return "all_reduce";
    case CollectiveKind::kAllGather: return "all_gather";
    case CollectiveKind::kReduceScatter: return "reduce_scatter";
    case CollectiveKind::kBroadcast: return "broadcast";
    case CollectiveKind::kReduce: return "reduce";
    case CollectiveKind::kAllToAll: return "all_to_all";
    case CollectiveKind::kSendRecv: return "send_recv";
  }
  return "";
}

std::string_view to_string(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::kTree: return "Tree";
    case CollectiveAlgorithm::kRing: return "Ring";
    case CollectiveAlgorithm::kCollNetDirect: return "CollnetDirect";
    case CollectiveAlgorithm::kCollNetChain: return "CollnetChain";
    case CollectiveAlgorithm::kNvls: return "NVLS";
    case CollectiveAlgorithm::kNvlsTree: return "NVLSTree";
    case CollectiveAlgorithm::kPat: return "PAT";
    case CollectiveAlgorithm::kPeerToPeer: return "P2P";
  }
  return "";
}

std::string_view to_string(CollectiveProtocol protocol) {
  switch (protocol) {
    case CollectiveProtocol::kLl: return "LL";
    case CollectiveProtocol::kLl128: return "LL128";
    case CollectiveProtocol::kSimple: return "Simple";
  }
  return "";
}

namespace {

bool is_peer_to_peer(CollectiveKind kind) {
  return kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kSendRecv;
}

/// Fewer channels for small calls: NCCL's loops over thresholds, @source nccl src/enqueue.cc.
void reduce_channels(CollectiveChoice& choice, double bytes, int ranks, int most_threads) {
  double threshold = choice.protocol == CollectiveProtocol::kSimple ? 64 : 8;
  if (choice.protocol == CollectiveProtocol::kLl && choice.algorithm == CollectiveAlgorithm::kRing) {
    threshold *= ranks;
  }
  if (choice.algorithm == CollectiveAlgorithm::kNvls || choice.algorithm == CollectiveAlgorithm::kNvlsTree) return;
  while (choice.channels >= 2 && bytes < static_cast<double>(choice.channels) * most_threads * threshold) {
    --choice.channels;
  }
}

}  // namespace

struct CollectivePlanner::Impl {
  const Topology& topology;
  const Router& router;
  NcclMachine machine;
  NcclSettings settings;
  NcclTables tables;

  [[nodiscard]] double efficiency(const char* table, std::size_t column) const {
    return tables.value(table, architecture_row(machine.compute_capability), settings.version_minor, column);
  }
  [[nodiscard]] CollectiveChoice peer_to_peer(Bytes size, int nodes) const {
    CollectiveChoice choice;
    choice.algorithm = CollectiveAlgorithm::kPeerToPeer;
    const std::size_t column = nodes == 1 ? 0 : 1;
    choice.latency = duration_from_seconds(efficiency("peer_to_peer_latency_us", column) * 1e-6);
    const double link = nodes == 1 ? (machine.nvlink ? machine.nvlink_links : 1) : machine.nic_gbytes_per_s;
    choice.channels = nodes == 1 && machine.nvlink ? 32 : 2;
    choice.algorithm_bandwidth = gigabytes_per_second(std::max(1.0, link));
    choice.estimated_us = to_seconds(choice.latency) * 1e6 + size.as_double() / (choice.algorithm_bandwidth.bytes_per_second() * 1e-6);
    return choice;
  }
};

CollectivePlanner::CollectivePlanner(const Topology& topology, const Router& router,
                                     NcclMachine machine, NcclSettings settings, NcclTables tables)
    : impl_(std::make_unique<Impl>(Impl{topology, router, std::move(machine), std::move(settings),
                                        std::move(tables)})) {}
CollectivePlanner::~CollectivePlanner() = default;
CollectivePlanner::CollectivePlanner(CollectivePlanner&&) noexcept = default;

CollectiveChoice CollectivePlanner::choose(CollectiveKind kind, Bytes size, int num_ranks,
                                           int num_nodes) const {
  FORETRAIN_EXPECTS(num_ranks >= 1 && num_nodes >= 1, "a group has ranks and nodes");
  if (num_ranks == 1) return {};
  if (is_peer_to_peer(kind)) return impl_->peer_to_peer(size, num_nodes);
  const NcclGraphs graphs = nccl_graphs(impl_->machine, impl_->settings,
                                        std::max(1, num_ranks / num_nodes), num_nodes);
  const std::vector<TuningCell> cells =
      tuning_cells(impl_->machine, impl_->settings, impl_->tables, graphs, kind, size.as_double(),
                   num_ranks, num_nodes);
  CollectiveChoice choice;
  if (cells.empty()) return choice;
  const TuningCell& best =
      *std::min_element(cells.begin(), cells.end(), [](const TuningCell& a, const TuningCell& b) {
        return a.estimated_us < b.estimated_us;
      });
  choice.algorithm = best.algorithm;
  choice.protocol = best.protocol;
  choice.latency = duration_from_seconds(best.latency_us * 1e-6);
  choice.algorithm_bandwidth = gigabytes_per_second(best.gbytes_per_s);
  choice.estimated_us = best.estimated_us;
  const bool nvls = best.algorithm == CollectiveAlgorithm::kNvls;
  choice.channels = nvls ? graphs.nvls_channels : graphs.communicator_channels;
  const int threads = best.protocol == CollectiveProtocol::kLl128 ? 640 : 512;
  reduce_channels(choice, size.as_double(), num_ranks, threads);
  return choice;
}

LoweredCollective CollectivePlanner::lower(CollectiveKind kind, Bytes size,
                                           const ProcessGroup& group, std::uint64_t label) const {
  LoweredCollective lowered;
  const int n = static_cast<int>(group.gpus.size());
  if (n < 2 || size.count() <= 0) return lowered;
  UsageBuilder builder{impl_->topology, impl_->router, group, label};
  lowered.choice = choose(kind, size, n, builder.nodes());
  const CollectiveChoice& choice = lowered.choice;
  const int adapters = std::max(1, impl_->machine.nics_per_node * builder.local_ranks() /
                                       std::max(1, impl_->machine.gpus_per_node));
  switch (choice.algorithm) {
    case CollectiveAlgorithm::kTree: builder.add_tree(adapters, 2.0); break;
    case CollectiveAlgorithm::kNvls: builder.add_nvls(kind); break;
    case CollectiveAlgorithm::kNvlsTree: builder.add_nvls_tree(adapters); break;
    case CollectiveAlgorithm::kPeerToPeer: builder.add_peers(kind); break;
    default: builder.add_rings(kind, adapters); break;
  }
  // Flags beside the data: LL sends twice the bytes, LL128 one line in sixteen more.
  const double overhead = choice.protocol == CollectiveProtocol::kLl      ? 2.0
                          : choice.protocol == CollectiveProtocol::kLl128 ? 128.0 / 120.0
                                                                          : 1.0;
  lowered.usage = builder.take(overhead);
  lowered.work_bytes = size.as_double();
  lowered.latency = choice.latency;
  if (choice.algorithm == CollectiveAlgorithm::kPeerToPeer) {
    const double share = impl_->efficiency("peer_to_peer", builder.nodes() == 1 ? 0 : 1);
    double limit = 0;
    for (const LinkShare& use : lowered.usage) {
      const double rate = impl_->topology.link(use.link).bandwidth.bytes_per_second() / use.share;
      if (limit <= 0 || rate < limit) limit = rate;
    }
    lowered.rate_cap = DataRate::from_bytes_per_second(limit * share);
  } else {
    const bool node_ring = builder.nodes() == 1 && choice.algorithm == CollectiveAlgorithm::kRing;
    lowered.rate_cap = choice.algorithm_bandwidth * (node_ring ? impl_->efficiency("ring_plateau", 0) : 1.0);
  }
  return lowered;
}

}  // namespace foretrain
