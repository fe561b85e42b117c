#include "sim/network/transfer_graph.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "sim/core/contracts.h"
#include "sim/network/work_time.h"

namespace foretrain {

TransferGraph::Id TransferGraph::add_connection(Connection connection) {
  FORETRAIN_EXPECTS(!connection.usage.empty() || connection.rate_cap.bytes_per_second() > 0,
                    "a connection has links or a cap");
  FORETRAIN_EXPECTS(connection.latency.count() >= 0, "latency must not be negative");
  connections_.push_back(std::move(connection));
  return static_cast<Id>(connections_.size() - 1);
}

TransferGraph::Id TransferGraph::add(Id connection, double bytes, std::span<const Id> after) {
  FORETRAIN_EXPECTS(connection < connections_.size(), "no such connection");
  FORETRAIN_EXPECTS(bytes >= 0, "bytes must not be negative");
  connection_.push_back(connection);
  bytes_.push_back(bytes);
  first_.push_back(static_cast<std::uint32_t>(after_.size()));
  after_.insert(after_.end(), after.begin(), after.end());
  return static_cast<Id>(bytes_.size() - 1);
}

void TransferGraph::reserve(std::size_t transfers, std::size_t dependencies) {
  connection_.reserve(transfers);
  bytes_.reserve(transfers);
  first_.reserve(transfers);
  after_.reserve(dependencies);
}

namespace {

using Id = TransferGraph::Id;
constexpr Id kNone = ~Id{0};

class Runner {
 public:
  Runner(const TransferGraph& graph, const LinkCapacities& capacities)
      : graph_(graph), capacities_(capacities) {
    order_transfers();
    order_successors();
    find_shared();
    ready_.assign(graph.size(), 0);
    outcome_.arrived.assign(graph.size(), SimTime::max());
    outcome_.link_bytes.assign(capacities.size(), 0.0);
  }

  TransferOutcome run() {
    for (Id c = 0; c < lanes_.size(); ++c) wake(c);
    while (true) {
      settle();
      if (starts_.empty() && running_ == 0) break;
      if (!step()) break;
    }
    count_bytes();
    return std::move(outcome_);
  }

 private:
  /// The part of a connection that changes: which transfer is next, when it may start.
  struct Lane {
    std::uint32_t next = 0, end = 0;  // of queue_
    std::int64_t free_at = 0;         // ps, the one before has been sent
    std::int64_t latency = 0;
    double fastest = 0;  // bytes per second, alone
    bool shared = false;
    bool busy = false;  // shared only: in the network, or about to be
    bool woken = false;
  };

  /// Transfers by connection, each connection's in their order.
  void order_transfers() {
    const std::span<const Connection> connections = graph_.connections();
    lanes_.resize(connections.size());
    for (Id t = 0; t < graph_.size(); ++t) ++lanes_[graph_.connection_of(t)].end;
    std::uint32_t sum = 0;
    for (Lane& lane : lanes_) {
      lane.next = sum;
      sum += std::exchange(lane.end, sum);
    }
    queue_.resize(graph_.size());
    for (Id t = 0; t < graph_.size(); ++t) queue_[lanes_[graph_.connection_of(t)].end++] = t;
    for (std::size_t c = 0; c < lanes_.size(); ++c)
      lanes_[c].latency = connections[c].latency.count();
  }

  void order_successors() {
    waiting_for_.resize(graph_.size());
    first_successor_.assign(graph_.size() + 1, 0);
    for (Id t = 0; t < graph_.size(); ++t) {
      const std::span<const Id> after = graph_.after(t);
      waiting_for_[t] = static_cast<std::uint32_t>(after.size());
      for (const Id before : after) {
        FORETRAIN_EXPECTS(before < graph_.size(), "a transfer waits for one that exists");
        ++first_successor_[before + 1U];
      }
    }
    for (std::size_t t = 1; t < first_successor_.size(); ++t)
      first_successor_[t] += first_successor_[t - 1];
    successors_.resize(graph_.dependencies());
    std::vector<std::uint32_t> at(first_successor_.begin(), first_successor_.end() - 1);
    for (Id t = 0; t < graph_.size(); ++t) {
      for (const Id before : graph_.after(t)) successors_[at[before]++] = t;
    }
  }

  /// A link binds nothing if all connections at their fastest do not fill it.
  void find_shared() {
    constexpr double kTolerance = 1e-9;  // rounding of sums of shares
    const std::span<const Connection> connections = graph_.connections();
    std::vector<double> load(capacities_.size(), 0.0);
    for (std::size_t c = 0; c < connections.size(); ++c) {
      Lane& lane = lanes_[c];
      double rate = connections[c].rate_cap.bytes_per_second();
      bool capped = rate > 0;
      for (const LinkUse& use : connections[c].usage) {
        FORETRAIN_EXPECTS(use.link.position() < capacities_.size(), "no such link");
        const double limit = capacities_[use.link.position()].bytes_per_second() / use.weight;
        if (!capped || limit < rate) rate = limit;
        capped = true;
      }
      lane.fastest = rate;
      if (lane.next == lane.end) continue;
      for (const LinkUse& use : connections[c].usage)
        load[use.link.position()] += use.weight * rate;
    }
    binding_.resize(connections.size());
    for (std::size_t c = 0; c < connections.size(); ++c) {
      Lane& lane = lanes_[c];
      if (lane.next == lane.end) continue;
      for (const LinkUse& use : connections[c].usage) {
        const double capacity = capacities_[use.link.position()].bytes_per_second();
        if (load[use.link.position()] > capacity * (1 + kTolerance)) binding_[c].push_back(use);
      }
      lane.shared = !binding_[c].empty();
      outcome_.shared_connections += lane.shared ? 1 : 0;
    }
    if (outcome_.shared_connections > 0) network_ = make_fluid_network(capacities_);
  }

  void wake(Id connection) {
    Lane& lane = lanes_[connection];
    if (lane.woken || lane.busy || lane.next == lane.end) return;
    lane.woken = true;
    wakeful_.push_back(connection);
  }

  /// Sends all that can be sent without asking the network. First come, first served: neighbours
  /// in time lie close in memory.
  void settle() {
    for (std::size_t at = 0; at < wakeful_.size(); ++at) {
      const Id connection = wakeful_[at];
      Lane& lane = lanes_[connection];
      lane.woken = false;
      while (lane.next != lane.end && !lane.busy) {
        const Id transfer = queue_[lane.next];
        if (waiting_for_[transfer] > 0) break;
        const std::int64_t start = std::max(lane.free_at, ready_[transfer]);
        if (lane.shared && graph_.bytes(transfer) > 0) {
          lane.busy = true;
          starts_.push({start, transfer});
          break;
        }
        const std::int64_t duration = work_time_ps(graph_.bytes(transfer), lane.fastest);
        if (duration == kNeverPs) {
          lane.busy = true;  // for ever
          break;
        }
        sent(transfer, lane, start + duration);
      }
    }
    wakeful_.clear();
  }

  void sent(Id transfer, Lane& lane, std::int64_t time) {
    ++lane.next;
    lane.free_at = time;
    const std::int64_t arrival = time + lane.latency;
    outcome_.arrived[transfer] = from_ps(arrival);
    outcome_.end = std::max(outcome_.end, from_ps(arrival));
    ++outcome_.finished;
    for (std::uint32_t i = first_successor_[transfer]; i < first_successor_[transfer + 1U]; ++i) {
      const Id next = successors_[i];
      ready_[next] = std::max(ready_[next], arrival);
      if (--waiting_for_[next] == 0) wake(graph_.connection_of(next));
    }
  }

  /// The next instant at which the network changes. False: nothing will ever happen.
  bool step() {
    const std::int64_t start = starts_.empty() ? kNeverPs : starts_.top().first;
    std::optional<SimTime> completion;
    if (running_ > 0) {
      completion = starts_.empty() ? network_->next_completion()
                                   : network_->next_completion_until(from_ps(start));
    }
    if (completion) {
      network_->advance_into(*completion, completed_);
      for (const ActivityId id : completed_) {
        const Id transfer = transfer_of_[id.position()];
        const Id connection = graph_.connection_of(transfer);
        --running_;
        lanes_[connection].busy = false;
        sent(transfer, lanes_[connection], to_ps(*completion));
        wake(connection);
      }
      return true;
    }
    if (starts_.empty()) return false;
    while (!starts_.empty() && starts_.top().first == start) {
      begin(starts_.top().second, from_ps(start));
      starts_.pop();
    }
    return true;
  }

  void begin(Id transfer, SimTime now) {
    const Id connection = graph_.connection_of(transfer);
    spec_.usage.assign(binding_[connection].begin(), binding_[connection].end());
    spec_.work_bytes = graph_.bytes(transfer);
    spec_.rate_cap = DataRate::from_bytes_per_second(lanes_[connection].fastest);
    const ActivityId id = network_->start(now, spec_);
    if (transfer_of_.size() <= id.position()) transfer_of_.resize(id.position() + 1, kNone);
    transfer_of_[id.position()] = transfer;
    ++running_;
  }

  void count_bytes() {
    std::vector<double> by_connection(lanes_.size(), 0.0);
    for (Id t = 0; t < graph_.size(); ++t) {
      if (outcome_.arrived[t] != SimTime::max())
        by_connection[graph_.connection_of(t)] += graph_.bytes(t);
    }
    for (std::size_t c = 0; c < lanes_.size(); ++c) {
      for (const LinkUse& use : graph_.connections()[c].usage)
        outcome_.link_bytes[use.link.position()] += use.weight * by_connection[c];
    }
  }

  const TransferGraph& graph_;
  const LinkCapacities& capacities_;
  std::vector<Lane> lanes_;                    // by connection
  std::vector<Id> queue_;                      // transfers by connection
  std::vector<std::vector<LinkUse>> binding_;  // by connection
  std::vector<std::uint32_t> waiting_for_, first_successor_;
  std::vector<Id> successors_;
  std::vector<std::int64_t> ready_;  // ps, the latest arrival so far of what it waits for
  std::vector<Id> wakeful_;
  using Start = std::pair<std::int64_t, Id>;
  std::priority_queue<Start, std::vector<Start>, std::greater<>> starts_;
  std::unique_ptr<NetworkModel> network_;
  std::vector<Id> transfer_of_;  // by activity
  std::vector<ActivityId> completed_;
  std::size_t running_ = 0;
  ActivitySpec spec_;
  TransferOutcome outcome_;
};

}  // namespace

TransferOutcome run_transfers(const TransferGraph& graph, const LinkCapacities& capacities) {
  return Runner{graph, capacities}.run();
}

}  // namespace foretrain
