// The `chunk` fidelity: chunks of collectives as explicit transfers that wait for each other, run
// on the fluid network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/units.h"
#include "sim/network/network_model.h"

namespace foretrain {

/// One way from a sender to a receiver. Its transfers are sent one after another, in the order in
/// which they were added to the graph; a transfer that cannot start yet holds up those behind it.
struct Connection {
  std::vector<LinkUse> usage;  // sorted by link, no duplicates, weights > 0; may be empty if capped
  DataRate rate_cap;           // 0: none
  SimDuration latency{};       // from the last byte sent to the last byte arrived
};

/// Transfers and what they wait for. Numbers are dense, in the order of adding.
class TransferGraph {
 public:
  using Id = std::uint32_t;

  Id add_connection(Connection connection);
  /// `bytes` over a connection, not before all of `after` have arrived.
  /// @pre bytes >= 0; `after` names transfers, which may be added later (a cycle never starts).
  Id add(Id connection, double bytes, std::span<const Id> after);
  void reserve(std::size_t transfers, std::size_t dependencies);

  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] std::span<const Connection> connections() const { return connections_; }
  [[nodiscard]] Id connection_of(Id transfer) const { return connection_[transfer]; }
  [[nodiscard]] double bytes(Id transfer) const { return bytes_[transfer]; }
  [[nodiscard]] std::span<const Id> after(Id transfer) const {
    const std::size_t end = transfer + 1U < first_.size() ? first_[transfer + 1U] : after_.size();
    return std::span{after_}.subspan(first_[transfer], end - first_[transfer]);
  }
  [[nodiscard]] std::size_t dependencies() const { return after_.size(); }

 private:
  std::vector<Connection> connections_;
  std::vector<Id> connection_;  // by transfer
  std::vector<double> bytes_;
  std::vector<std::uint32_t> first_;  // of after_, by transfer
  std::vector<Id> after_;
};

struct TransferOutcome {
  std::vector<SimTime> arrived;        // by transfer; SimTime::max() for those that never did
  SimTime end{};                       // of the last that arrived
  std::size_t finished = 0;            // less than all: a cycle, or a link of capacity 0
  std::vector<double> link_bytes;      // by link, of transfers that finished
  std::size_t shared_connections = 0;  // those that contention can slow down
};

/// Runs the whole graph from time 0. Deterministic; independent of the order in which connections
/// were added as long as each one's transfers keep theirs.
///
/// Links that all connections together could not fill, each at its own fastest, bind nothing and
/// are left out; a connection without binding links moves at a constant rate, so its transfers are
/// timed without the solver. Exact, since a connection sends one transfer at a time.
[[nodiscard]] TransferOutcome run_transfers(const TransferGraph& graph,
                                            const LinkCapacities& capacities);

}  // namespace foretrain
