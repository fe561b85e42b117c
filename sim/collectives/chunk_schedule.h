// A collective as NCCL runs it: chunks over the edges of its rings, trees or switches, each waiting
// for those that it needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/collectives/collective.h"
#include "sim/core/units.h"
#include "topologies/router.h"

namespace foretrain {

/// Where chunks travel: links with bytes per byte sent, flags of the protocol and what the cable
/// loses included.
struct ChunkPath {
  std::vector<LinkShare> usage;  // sorted by link
  DataRate rate_cap;             // of the channels' SMs; 0: none
  SimDuration latency{};         // after the last byte: processing, cables, switches
};

/// Transfers of one call. Those of a path are sent in the order in which they stand here.
struct CommunicationSchedule {
  std::vector<ChunkPath> paths;
  std::vector<std::uint32_t> path;  // by transfer
  std::vector<double> bytes;
  std::vector<std::uint32_t> first_after;  // of `after`, by transfer, and one more: its size
  std::vector<std::uint32_t> after;        // transfers that must have arrived
  SimDuration launch{};                    // before the first byte
  CollectiveChoice choice;

  [[nodiscard]] std::size_t size() const { return path.size(); }
  [[nodiscard]] std::span<const std::uint32_t> after_of(std::size_t transfer) const {
    return std::span{after}.subspan(first_after[transfer],
                                    first_after[transfer + 1] - first_after[transfer]);
  }
};

/// What a schedule is made with, besides the group.
struct ChunkRules {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  CollectiveChoice choice;
  NcclEfficiencyRow efficiency;
  double bytes = 0;          // S as nccl-tests counts it
  double wire_overhead = 1;  // bytes on the wire per byte of data
  int most_rings = 0;        // 0: one per NIC
  double chunk_bytes = 0;    // of one channel, data
  int slices = 1;            // of a chunk
  std::size_t most_transfers = 0;
};

class UsageBuilder;

/// @return the schedule, or a diagnostic if it has more than `most_transfers` or if there is none
/// for the algorithm (CollNet).
[[nodiscard]] Result<CommunicationSchedule> make_schedule(const UsageBuilder& builder,
                                                          const Topology& topology,
                                                          const ProcessGroup& group,
                                                          const ChunkRules& rules);

}  // namespace foretrain
