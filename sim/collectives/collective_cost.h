// What a collective costs on real machines, from what was measured (efficiency.csv): not NCCL's own
// estimate.
#pragma once

#include "sim/collectives/collective.h"
#include "sim/collectives/nccl_graphs.h"

namespace foretrain {

/// What of efficiency.csv applies to one call.
struct CostQuery {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  CollectiveProtocol protocol = CollectiveProtocol::kSimple;
  int compute_capability = 90;
  bool nvlink = true;
  NcclGroup group;
  int peers_in_flight = 1;  // sends to other nodes that an all-to-all has under way at a time
};

/// The last row that matches. @pre the tables have a row that matches all (load_nccl_tables does
/// not check).
[[nodiscard]] NcclEfficiencyRow efficiency_of(const NcclTables& tables, const CostQuery& query);

/// Hops in a row that a call cannot avoid, inside nodes and between them; of those between them
/// `paths` wait for cables and switches one after the other.
struct CostSteps {
  double inside = 0;
  double between = 0;
  double paths = 0;
};
[[nodiscard]] CostSteps steps_of(const CostQuery& query);

/// Bytes that leave a GPU per byte of S: 2 (n - 1) / n for all-reduce, (n - 1) / n for all-gather,
/// reduce-scatter and all-to-all, 1 for broadcast, reduce and send/receive: bus bandwidth is
/// algorithm bandwidth times this.
[[nodiscard]] double bus_factor(CollectiveKind kind, int ranks);

}  // namespace foretrain
