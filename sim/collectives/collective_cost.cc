#include "sim/collectives/collective_cost.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace foretrain {
namespace {

std::string_view architecture(int cc) {
  if (cc >= 100) return "blackwell";
  if (cc >= 90) return "hopper";
  if (cc == 89) return "ada";
  return cc >= 80 ? "ampere" : "volta";
}

bool matches(std::string_view cell, std::string_view value) {
  return cell.empty() || cell == value;
}

}  // namespace

NcclEfficiencyRow efficiency_of(const NcclTables& tables, const CostQuery& query) {
  const bool pcie = !query.nvlink && (query.group.local_ranks > 1 || query.group.nodes == 1);
  const std::string_view interconnect = pcie                    ? "pcie"
                                        : query.group.nodes > 1 ? "network"
                                                                : "nvlink";
  NcclEfficiencyRow result;
  for (const NcclEfficiencyRow& row : tables.efficiency) {
    const bool applies = matches(row.architecture, architecture(query.compute_capability)) &&
                         matches(row.interconnect, interconnect) &&
                         matches(row.algorithm, to_string(query.algorithm)) &&
                         matches(row.protocol, to_string(query.protocol)) &&
                         matches(row.collective, to_string(query.kind)) &&
                         row.gpus_min <= query.group.local_ranks &&
                         query.group.local_ranks <= row.gpus_max;
    if (applies) result = row;
  }
  return result;
}

CostSteps steps_of(const CostQuery& query) {
  const NcclGroup& group = query.group;
  const double levels = std::floor(std::log2(static_cast<double>(group.nodes)));
  const double rounds = query.kind == CollectiveKind::kAllReduce ? 2 : 1;
  switch (query.algorithm) {
    case CollectiveAlgorithm::kRing: {
      const double between = group.nodes > 1 ? rounds * (group.nodes - 1) : 0;
      return {rounds * (group.ranks - 1) - between, between, between};
    }
    case CollectiveAlgorithm::kTree: return {2.0 * (group.local_ranks - 1), 2 * levels, 2 * levels};
    case CollectiveAlgorithm::kNvls: return {1, 0, 0};
    case CollectiveAlgorithm::kNvlsTree: return {1, 2 * levels, 2 * levels};
    case CollectiveAlgorithm::kPat: {
      const double phases = std::ceil(std::log2(static_cast<double>(group.nodes)));
      return {0, phases, phases};
    }
    default: break;
  }
  if (query.kind != CollectiveKind::kAllToAll)
    return group.nodes > 1 ? CostSteps{0, 1, 1} : CostSteps{1, 0, 0};
  // Each peer costs its GPU and its proxy thread a moment; their messages travel side by side.
  const double remote = group.ranks - group.local_ranks;
  return {group.local_ranks - 1.0, remote, std::ceil(remote / std::max(1, query.peers_in_flight))};
}

double bus_factor(CollectiveKind kind, int ranks) {
  const double n = ranks;
  switch (kind) {
    case CollectiveKind::kAllReduce: return 2 * (n - 1) / n;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll: return (n - 1) / n;
    default: return 1;
  }
}

}  // namespace foretrain
