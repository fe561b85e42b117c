// NCCL's tuning model: latency and bandwidth of every algorithm and protocol, and its choice.
#pragma once

#include <vector>

#include "sim/collectives/collective.h"
#include "sim/collectives/nccl_graphs.h"

namespace foretrain {

/// volta | ampere | hopper | blackwell, as NCCL's tables name them.
[[nodiscard]] const char* architecture_row(int compute_capability);

/// One cell of NCCL's table for a communicator: the parts that do not depend on a call's size.
struct TuningCell {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  CollectiveProtocol protocol = CollectiveProtocol::kSimple;
  double latency_us = 0;
  double gbytes_per_s = 0;  // algorithm bandwidth
};

/// The table of a group for one collective: every cell that the machine, the release and the
/// environment allow, in NCCL's order (Tree, Ring, NVLS, NVLSTree, PAT; LL, LL128, Simple).
/// Equations: README.md.
[[nodiscard]] std::vector<TuningCell> tuning_cells(const NcclMachine& machine,
                                                   const NcclSettings& settings,
                                                   const NcclTables& tables,
                                                   const NcclGraphs& graphs, const NcclGroup& group,
                                                   CollectiveKind kind);

/// NCCL's estimate for a call: t = latency + bytes / bandwidth, with the corrections for trees and
/// for the plateau of rings between nodes. Microseconds.
[[nodiscard]] double estimate_us(const TuningCell& cell, const NcclMachine& machine,
                                 const NcclSettings& settings, const NcclTables& tables,
                                 const NcclGraphs& graphs, const NcclGroup& group,
                                 CollectiveKind kind, double bytes);

/// The channels of a call: what NCCL plans with, and over how many it then splits the data.
struct CallChannels {
  int planned = 1;
  int used = 1;
};
[[nodiscard]] CallChannels call_channels(const TuningCell& cell, const NcclSettings& settings,
                                         const NcclGraphs& graphs, const NcclGroup& group,
                                         CollectiveKind kind, double bytes);

}  // namespace foretrain
