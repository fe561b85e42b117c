// NCCL's tuning model: latency and bandwidth of every algorithm and protocol, and its choice.
#pragma once

#include <vector>

#include "sim/collectives/collective.h"
#include "sim/collectives/nccl_graphs.h"

namespace foretrain {

/// One cell of NCCL's table for a call.
struct TuningCell {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  CollectiveProtocol protocol = CollectiveProtocol::kSimple;
  double latency_us = 0;
  double gbytes_per_s = 0;    // algorithm bandwidth, corrections for the size included
  double estimated_us = 0;
};

/// All cells that NCCL may take for a call of `bytes`, in its order of preference on ties.
/// Equations: nccl src/graph/tuning.cc; ring latency base + steps * hop, tree base + 2 (local - 1) hop +
/// 2 floor(log2 N) net, bandwidths from graph speed times channels under the tables' limits.
[[nodiscard]] std::vector<TuningCell> tuning_cells(const NcclMachine& machine,
                                                   const NcclSettings& settings,
                                                   const NcclTables& tables, const NcclGraphs& graphs,
                                                   CollectiveKind kind, double bytes, int ranks,
                                                   int nodes);

/// Row of the architecture tables: volta | ampere | hopper | blackwell.
[[nodiscard]] const char* architecture_row(int compute_capability);

}  // namespace foretrain
