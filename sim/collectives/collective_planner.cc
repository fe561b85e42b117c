#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "sim/collectives/chunk_schedule.h"
#include "sim/collectives/collective.h"
#include "sim/collectives/collective_cost.h"
#include "sim/collectives/nccl_graphs.h"
#include "sim/collectives/nccl_tuning.h"
#include "sim/collectives/usage_builder.h"
#include "sim/core/contracts.h"

namespace foretrain {
namespace {

bool is_peer_to_peer(CollectiveKind kind) {
  return kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kSendRecv;
}

/// Bytes on the wire per byte of data: LL sends 8 of flags with 8 of data, LL128 8 with 120.
double wire_overhead(CollectiveProtocol protocol) {
  switch (protocol) {
    case CollectiveProtocol::kLl: return 2.0;
    case CollectiveProtocol::kLl128: return 128.0 / 120.0;
    case CollectiveProtocol::kSimple: return 1.0;
  }
  return 1.0;
}

/// Values of a row of tuning.csv that is no part of NCCL's estimates.
std::array<double, 3> constants(const NcclTables& tables, int minor, std::string_view table,
                                std::string_view row) {
  const NcclTuningRow* found = find_tuning_row(tables, minor, table, row);
  return found == nullptr ? std::array<double, 3>{} : found->values;
}

}  // namespace

struct CollectivePlanner::Impl {
  const Topology& topology;
  const Router& router;
  NcclMachine machine;
  NcclSettings settings;
  NcclTables tables;

  [[nodiscard]] CollectiveChoice choose(CollectiveKind kind, double bytes,
                                        const NcclGroup& group) const;
  [[nodiscard]] CollectiveChoice peer_to_peer(CollectiveKind kind, double bytes,
                                              const NcclGroup& group,
                                              const NcclGraphs& graphs) const;
  [[nodiscard]] CostQuery cost_query(CollectiveKind kind, const CollectiveChoice& choice,
                                     const NcclGroup& group) const {
    const double per_channel = constants(tables, settings.version_minor, "p2p_batch", "")[0];
    return {kind,
            choice.algorithm,
            choice.protocol,
            machine.compute_capability,
            machine.nvlink,
            group,
            std::max(1, static_cast<int>(per_channel) * choice.max_channels)};
  }
  [[nodiscard]] bool sends_by_ll(double message, int channels_per_peer) const;
  void add_usage(UsageBuilder& builder, CollectiveKind kind, const CollectiveChoice& choice,
                 const NcclGroup& group) const;
  [[nodiscard]] int most_rings(const NcclGroup& group) const;
  [[nodiscard]] double limit(const LoweredCollective& lowered, const NcclEfficiencyRow& row,
                             double per_rank) const;
};

CollectiveChoice CollectivePlanner::Impl::choose(CollectiveKind kind, double bytes,
                                                 const NcclGroup& group) const {
  const NcclGraphs graphs = nccl_graphs(machine, settings, tables, group);
  if (is_peer_to_peer(kind)) return peer_to_peer(kind, bytes, group, graphs);
  std::vector<TuningCell> cells = tuning_cells(machine, settings, tables, graphs, group, kind);
  CollectiveChoice choice;
  if (cells.empty()) {
    // Up to 2.23 NCCL fell back to rings; later releases refuse the call, and rings stand for it
    // here.
    choice.available = settings.version_minor < 24;
    NcclSettings free = settings;
    free.environment.erase("NCCL_ALGO");
    free.environment.erase("NCCL_PROTO");
    cells = tuning_cells(machine, free, tables, graphs, group, kind);
    std::erase_if(
        cells, [](const TuningCell& cell) { return cell.algorithm != CollectiveAlgorithm::kRing; });
    FORETRAIN_ASSERT(!cells.empty(), "rings are always possible");
  }
  const auto estimate = [&](const TuningCell& cell) {
    return estimate_us(cell, machine, settings, tables, graphs, group, kind, bytes);
  };
  const TuningCell* best = &cells.front();
  choice.estimated_us = estimate(*best);
  for (const TuningCell& cell : cells) {
    const double time = estimate(cell);
    if (time >= choice.estimated_us) continue;
    best = &cell;
    choice.estimated_us = time;
  }
  choice.algorithm = best->algorithm;
  choice.protocol = best->protocol;
  choice.latency = duration_from_seconds(best->latency_us * 1e-6);
  choice.algorithm_bandwidth = gigabytes_per_second(best->gbytes_per_s);
  const CallChannels channels = call_channels(*best, settings, graphs, group, kind, bytes);
  choice.max_channels = channels.planned;
  choice.channels = channels.used;
  return choice;
}

/// LL up to a size per channel that the message is cut into. Newer GPUs and releases count only the
/// channels that the message fills with whole parts, which makes the size one for all.
bool CollectivePlanner::Impl::sends_by_ll(double message, int channels_per_peer) const {
  const auto [usual, part, unused] = constants(tables, settings.version_minor, "p2p_ll",
                                               architecture_row(machine.compute_capability));
  const auto set = nccl_integer(settings, "NCCL_P2P_LL_THRESHOLD");
  const double least = set ? *set : usual;
  const double channels =
      part > 0 ? std::min<double>(channels_per_peer, std::ceil(message / part)) : channels_per_peer;
  return message <= least * channels;
}

/// NCCL has no estimate for sends and receives; ours stands for it.
CollectiveChoice CollectivePlanner::Impl::peer_to_peer(CollectiveKind kind, double bytes,
                                                       const NcclGroup& group,
                                                       const NcclGraphs& graphs) const {
  CollectiveChoice choice;
  choice.algorithm = CollectiveAlgorithm::kPeerToPeer;
  const int peers = kind == CollectiveKind::kAllToAll ? group.ranks - 1 : 1;
  const double message = kind == CollectiveKind::kAllToAll ? bytes / group.ranks : bytes;
  const int per_peer = std::max(1, graphs.p2p_channels_per_peer);
  const bool small = group.nodes == 1 && sends_by_ll(message, per_peer);
  choice.protocol = small ? CollectiveProtocol::kLl : CollectiveProtocol::kSimple;
  choice.max_channels = std::min(graphs.p2p_channels, peers * per_peer);
  choice.channels = choice.max_channels;
  const CostQuery query = cost_query(kind, choice, group);
  const NcclEfficiencyRow row = efficiency_of(tables, query);
  const CostSteps steps = steps_of(query);
  choice.latency = duration_from_seconds(
      (row.launch_us + steps.inside * row.hop_us + steps.between * row.network_hop_us) * 1e-6);
  const double link = group.nodes > 1 ? machine.nic_gbytes_per_s * machine.nics_per_node /
                                            std::max(1, machine.gpus_per_node) * row.network
                                      : 25.0 * std::max(1, machine.nvlink_links) * row.nvlink;
  choice.algorithm_bandwidth =
      gigabytes_per_second(std::max(0.1, link) / bus_factor(kind, group.ranks));
  choice.estimated_us = to_seconds(choice.latency) * 1e6 +
                        bytes / choice.algorithm_bandwidth.bytes_per_second() * 1e6;
  return choice;
}

/// Boxes without NVLink have no more rings than the search finds; else one per NIC (0).
int CollectivePlanner::Impl::most_rings(const NcclGroup& group) const {
  return machine.nvlink || group.local_ranks == 1 ? 0 : 1;
}

void CollectivePlanner::Impl::add_usage(UsageBuilder& builder, CollectiveKind kind,
                                        const CollectiveChoice& choice,
                                        const NcclGroup& group) const {
  const double n = group.ranks;
  const bool all_reduce = kind == CollectiveKind::kAllReduce;
  const int most = most_rings(group);
  switch (choice.algorithm) {
    case CollectiveAlgorithm::kTree: builder.add_trees(most); break;
    case CollectiveAlgorithm::kNvls: {
      const double out = all_reduce ? 1 + 1 / n : kind == CollectiveKind::kAllGather ? 1 / n : 1.0;
      builder.add_multicast(out, all_reduce                           ? 1 + 1 / n
                                 : kind == CollectiveKind::kAllGather ? 1.0
                                                                      : 1 / n);
      break;
    }
    case CollectiveAlgorithm::kNvlsTree: {
      const double local = 1 + 1.0 / group.local_ranks;
      builder.add_multicast(local, local);
      builder.add_network_trees(most);
      break;
    }
    case CollectiveAlgorithm::kPat: builder.add_dimensions(); break;
    case CollectiveAlgorithm::kPeerToPeer:
      if (kind == CollectiveKind::kAllToAll) {
        builder.add_all_to_all(machine.nvlink && machine.nvswitch);
      } else {
        builder.add_shift();
      }
      break;
    default: builder.add_rings(bus_factor(kind, group.ranks), most); break;
  }
}

/// Bytes of work per second that the machine's own links and the channels let through.
double CollectivePlanner::Impl::limit(const LoweredCollective& lowered,
                                      const NcclEfficiencyRow& row, double per_rank) const {
  double rate = 0;
  const auto bound = [&](double candidate) {
    rate = rate > 0 ? std::min(rate, candidate) : candidate;
  };
  for (const LinkShare& use : lowered.usage) {
    const Link& link = topology.link(use.link);
    double share = 0;
    switch (link.tier) {
      case LinkTier::kNvlink: share = row.nvlink; break;
      case LinkTier::kPcie: share = row.pcie; break;
      case LinkTier::kHostLink: share = row.network; break;
      case LinkTier::kInterSwitch: break;  // what others leave there is the network model's to say
    }
    if (share > 0) bound(share * link.bandwidth.bytes_per_second() / use.share);
  }
  if (row.channel_gbytes_per_s > 0) {
    bound(1e9 * row.channel_gbytes_per_s * lowered.choice.max_channels / per_rank);
  }
  return rate;
}

CollectivePlanner::CollectivePlanner(const Topology& topology, const Router& router,
                                     NcclMachine machine, NcclSettings settings, NcclTables tables)
    : impl_(std::make_unique<Impl>(
          Impl{topology, router, std::move(machine), std::move(settings), std::move(tables)})) {}
CollectivePlanner::~CollectivePlanner() = default;
CollectivePlanner::CollectivePlanner(CollectivePlanner&&) noexcept = default;

CollectiveChoice CollectivePlanner::choose(CollectiveKind kind, Bytes size, int num_ranks,
                                           int num_nodes) const {
  FORETRAIN_EXPECTS(num_nodes >= 1 && num_ranks >= num_nodes, "every node of a group holds a rank");
  if (num_ranks == 1) return {};
  const int local = (num_ranks + num_nodes - 1) / num_nodes;
  return impl_->choose(kind, size.as_double(), {num_ranks, num_nodes, local});
}

LoweredCollective CollectivePlanner::lower(CollectiveKind kind, Bytes size,
                                           const ProcessGroup& group, std::uint64_t label) const {
  LoweredCollective lowered;
  const int n = static_cast<int>(group.gpus.size());
  if (n < 2 || size.count() <= 0) return lowered;
  UsageBuilder builder{impl_->topology, impl_->router, group, label};
  const NcclGroup shape{n, builder.nodes(), builder.local_ranks()};
  lowered.choice = impl_->choose(kind, size.as_double(), shape);
  impl_->add_usage(builder, kind, lowered.choice, shape);
  const double overhead = wire_overhead(lowered.choice.protocol);
  lowered.usage = builder.take(overhead);
  lowered.work_bytes = size.as_double();
  const CostQuery query = impl_->cost_query(kind, lowered.choice, shape);
  const NcclEfficiencyRow row = efficiency_of(impl_->tables, query);
  const CostSteps steps = steps_of(query);
  lowered.latency = duration_from_seconds(
      (row.launch_us + steps.inside * row.hop_us + steps.between * row.network_hop_us) * 1e-6 +
      steps.paths * to_seconds(builder.network_latency()));
  lowered.rate_cap =
      DataRate::from_bytes_per_second(impl_->limit(lowered, row, bus_factor(kind, n) * overhead));
  return lowered;
}

Result<CommunicationSchedule> CollectivePlanner::schedule(CollectiveKind kind, Bytes size,
                                                          const ProcessGroup& group,
                                                          std::uint64_t label,
                                                          std::size_t most_transfers) const {
  const int n = static_cast<int>(group.gpus.size());
  if (n < 2 || size.count() <= 0) return CommunicationSchedule{};
  const UsageBuilder builder{impl_->topology, impl_->router, group, label};
  const NcclGroup shape{n, builder.nodes(), builder.local_ranks()};
  ChunkRules rules;
  rules.kind = kind;
  rules.choice = impl_->choose(kind, size.as_double(), shape);
  rules.efficiency = efficiency_of(impl_->tables, impl_->cost_query(kind, rules.choice, shape));
  rules.bytes = size.as_double();
  rules.wire_overhead = wire_overhead(rules.choice.protocol);
  rules.most_rings = impl_->most_rings(shape);
  rules.most_transfers = most_transfers;
  rules.chunk_bytes = size.as_double();
  for (const NcclChunkRow& row : impl_->tables.chunks) {
    if (row.algorithm != to_string(rules.choice.algorithm) ||
        row.protocol != to_string(rules.choice.protocol) ||
        (!row.collective.empty() && row.collective != to_string(kind)))
      continue;
    rules.chunk_bytes = row.chunk_bytes;
    rules.slices = row.slices;
  }
  return make_schedule(builder, impl_->topology, group, rules);
}

}  // namespace foretrain
