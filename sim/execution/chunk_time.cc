#include "sim/execution/chunk_time.h"

#include <algorithm>

#include "sim/network/transfer_graph.h"

namespace foretrain {

ChunkTime run_chunks(const std::vector<CommunicationSchedule>& schedules,
                     const LinkCapacities& capacities) {
  TransferGraph graph;
  std::vector<TransferGraph::Id> first;
  std::size_t transfers = 0, dependencies = 0;
  for (const CommunicationSchedule& schedule : schedules) {
    transfers += schedule.size();
    dependencies += schedule.after.size();
  }
  graph.reserve(transfers, dependencies);
  std::vector<TransferGraph::Id> after;
  for (const CommunicationSchedule& schedule : schedules) {
    const auto first_path = static_cast<TransferGraph::Id>(graph.connections().size());
    const auto base = static_cast<TransferGraph::Id>(graph.size());
    first.push_back(base);
    for (const ChunkPath& path : schedule.paths) {
      Connection connection;
      for (const LinkShare& use : path.usage) connection.usage.push_back({use.link, use.share});
      connection.rate_cap = path.rate_cap;
      connection.latency = path.latency;
      graph.add_connection(std::move(connection));
    }
    for (std::size_t t = 0; t < schedule.size(); ++t) {
      after.clear();
      for (const std::uint32_t before : schedule.after_of(t)) after.push_back(base + before);
      graph.add(first_path + schedule.path[t], schedule.bytes[t], after);
    }
  }
  const TransferOutcome outcome = run_transfers(graph, capacities);
  ChunkTime result;
  result.transfers = transfers;
  result.finished = outcome.finished == graph.size();
  for (std::size_t s = 0; s < schedules.size(); ++s) {
    const std::size_t end = s + 1 < schedules.size() ? first[s + 1] : graph.size();
    SimTime last{};
    for (std::size_t t = first[s]; t < end; ++t) {
      if (outcome.arrived[t] != SimTime::max()) last = std::max(last, outcome.arrived[t]);
    }
    result.seconds = std::max(result.seconds, to_seconds(schedules[s].launch) + to_seconds(last));
  }
  return result;
}

}  // namespace foretrain
