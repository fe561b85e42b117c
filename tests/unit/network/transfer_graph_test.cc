#include "sim/network/transfer_graph.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace foretrain {
namespace {

using Id = TransferGraph::Id;

constexpr double kRate = 50e9;  // bytes per second: 400 Gbit/s

LinkCapacities equal_links(std::size_t count, double rate = kRate) {
  return LinkCapacities(count, DataRate::from_bytes_per_second(rate));
}

Connection over(std::vector<int> links, std::int64_t latency_ns = 0) {
  Connection connection;
  for (const int link : links) connection.usage.push_back({LinkId{link}, 1.0});
  connection.latency = SimDuration{latency_ns * 1000};
  return connection;
}

/// Ring all-reduce of `bytes` over n hosts: 2(n-1) steps, each host waits for its own chunk to have
/// arrived and for its neighbour's. Host r sends on link r, receives on link n + r.
TransferGraph ring(std::size_t n, double bytes, const std::vector<std::int64_t>& latency_ns) {
  TransferGraph graph;
  for (std::size_t r = 0; r < n; ++r) {
    graph.add_connection(over({static_cast<int>(r), static_cast<int>(n + (r + 1) % n)},
                              latency_ns[r % latency_ns.size()]));
  }
  for (std::size_t step = 0; step < 2 * (n - 1); ++step) {
    for (std::size_t r = 0; r < n; ++r) {
      std::vector<Id> after;
      if (step > 0) {
        const std::size_t before = (step - 1) * n;
        after = {static_cast<Id>(before + r), static_cast<Id>(before + (r + n - 1) % n)};
      }
      graph.add(static_cast<Id>(r), bytes / static_cast<double>(n), after);
    }
  }
  return graph;
}

/// 2 (N-1) (longest path latency + S / (N B)), as SimGrid's CM02 also gives: N = 64, S = 1 GiB,
/// 50 GB/s and paths of up to 6 us take 43.034584 ms (models/fabrics.md, section 2).
TEST(TransferGraph, RingIsTheClosedForm) {
  const TransferGraph graph = ring(64, 1 << 30, {2000, 2000, 2000, 4000, 2000, 2000, 2000, 6000});
  const TransferOutcome outcome = run_transfers(graph, equal_links(128));
  EXPECT_EQ(outcome.finished, graph.size());
  EXPECT_EQ(outcome.shared_connections, 0u);
  EXPECT_NEAR(static_cast<double>(outcome.end.time_since_epoch().count()) * 1e-9, 43.034584, 5e-7);
}

/// n senders to one receiver: all bytes over one link.
TEST(TransferGraph, IncastTakesWhatTheLastLinkTakes) {
  TransferGraph graph;
  for (int sender = 0; sender < 32; ++sender) {
    graph.add(graph.add_connection(over({sender, 32})), 1 << 20, {});
  }
  const TransferOutcome outcome = run_transfers(graph, equal_links(33));
  EXPECT_EQ(outcome.shared_connections, 32u);
  EXPECT_NEAR(to_seconds(outcome.end), 32.0 * (1 << 20) / kRate, 1e-9);
  EXPECT_DOUBLE_EQ(outcome.link_bytes[32], 32.0 * (1 << 20));
}

/// Chunks of one connection follow each other without a gap; latency is paid once per chain.
TEST(TransferGraph, ChunksOfAConnectionArePipelined) {
  TransferGraph graph;
  const Id first = graph.add_connection(over({0}, 1000));
  const Id second = graph.add_connection(over({1}, 1000));
  for (int chunk = 0; chunk < 10; ++chunk) {
    const Id sent = graph.add(first, 1e6, {});
    graph.add(second, 1e6, std::vector<Id>{sent});
  }
  const TransferOutcome outcome = run_transfers(graph, equal_links(2));
  EXPECT_NEAR(to_seconds(outcome.end), 11 * 1e6 / kRate + 2e-6, 1e-11);
}

TEST(TransferGraph, CycleNeverStarts) {
  TransferGraph graph;
  const Id a = graph.add_connection(over({0}));
  const Id b = graph.add_connection(over({1}));
  graph.add(a, 1, std::vector<Id>{1});
  graph.add(b, 1, std::vector<Id>{0});
  const TransferOutcome outcome = run_transfers(graph, equal_links(2));
  EXPECT_EQ(outcome.finished, 0u);
  EXPECT_EQ(outcome.arrived[0], SimTime::max());
}

TEST(TransferGraph, LinkWithoutCapacityHoldsUpOnlyWhatNeedsIt) {
  TransferGraph graph;
  graph.add(graph.add_connection(over({0})), 1e6, {});
  const Id dead = graph.add(graph.add_connection(over({1})), 1e6, {});
  LinkCapacities capacities = equal_links(2);
  capacities[1] = DataRate{};
  const TransferOutcome outcome = run_transfers(graph, capacities);
  EXPECT_EQ(outcome.finished, 1u);
  EXPECT_EQ(outcome.arrived[dead], SimTime::max());
}

/// Every transfer its own activity on all its links, asked for at every event: no shortcut.
std::vector<double> plain_arrivals(const TransferGraph& graph, const LinkCapacities& capacities) {
  const std::size_t n = graph.size();
  std::vector<double> arrived(n, std::numeric_limits<double>::infinity());
  std::vector<double> left(n);
  std::vector<bool> sent(n, false), running(n, false);
  std::vector<std::vector<Id>> queue(graph.connections().size());
  for (Id t = 0; t < n; ++t) {
    left[t] = graph.bytes(t);
    queue[graph.connection_of(t)].push_back(t);
  }
  double now = 0;
  for (std::size_t guard = 0; guard < 100 * n + 100; ++guard) {
    double next = std::numeric_limits<double>::infinity();
    std::vector<Id> active;
    for (const auto& transfers : queue) {
      const auto head =
          std::find_if(transfers.begin(), transfers.end(), [&](Id t) { return !sent[t]; });
      if (head == transfers.end()) continue;
      double ready = 0;
      for (const Id before : graph.after(*head)) ready = std::max(ready, arrived[before]);
      if (ready <= now + 1e-15) {
        active.push_back(*head);
      } else {
        next = std::min(next, ready);
      }
    }
    std::vector<ActivitySpec> specs;
    for (const Id t : active) {
      const Connection& connection = graph.connections()[graph.connection_of(t)];
      ActivitySpec spec;
      spec.usage = connection.usage;
      spec.rate_cap = connection.rate_cap;
      specs.push_back(spec);
    }
    const std::vector<DataRate> rates = max_min_rates(capacities, specs);
    for (std::size_t i = 0; i < active.size(); ++i)
      next = std::min(next, now + left[active[i]] / rates[i].bytes_per_second());
    if (!(next < std::numeric_limits<double>::infinity())) break;
    for (std::size_t i = 0; i < active.size(); ++i) {
      const Id t = active[i];
      const double rate = rates[i].bytes_per_second();
      const double end = now + left[t] / rate;
      left[t] -= rate * (next - now);
      if (end > next + 1e-13) continue;
      sent[t] = true;
      arrived[t] = next + to_seconds(graph.connections()[graph.connection_of(t)].latency);
    }
    now = next;
  }
  return arrived;
}

RC_GTEST_PROP(TransferGraphProperty, ShortcutsChangeNothing, ()) {
  const int links = *rc::gen::inRange(2, 7);
  const int connections = *rc::gen::inRange(1, 8);
  const int transfers = *rc::gen::inRange(1, 25);
  LinkCapacities capacities;
  for (int l = 0; l < links; ++l)
    capacities.push_back(DataRate::from_bytes_per_second(*rc::gen::inRange(1, 5) * 1e9));
  TransferGraph graph;
  for (int c = 0; c < connections; ++c) {
    std::set<int> used;
    const int hops = *rc::gen::inRange(1, 4);
    for (int h = 0; h < hops; ++h) used.insert(*rc::gen::inRange(0, links));
    Connection connection = over({used.begin(), used.end()}, *rc::gen::inRange(0, 50));
    for (LinkUse& use : connection.usage) use.weight = *rc::gen::inRange(1, 3);
    graph.add_connection(std::move(connection));
  }
  for (int t = 0; t < transfers; ++t) {
    std::vector<Id> after;
    const int waits = t == 0 ? 0 : *rc::gen::inRange(0, 3);
    for (int w = 0; w < waits; ++w) after.push_back(static_cast<Id>(*rc::gen::inRange(0, t)));
    graph.add(static_cast<Id>(*rc::gen::inRange(0, connections)), *rc::gen::inRange(1, 100) * 1e4,
              after);
  }
  const TransferOutcome outcome = run_transfers(graph, capacities);
  const std::vector<double> expected = plain_arrivals(graph, capacities);
  RC_ASSERT(outcome.finished == graph.size());
  for (Id t = 0; t < graph.size(); ++t)
    RC_ASSERT(std::abs(to_seconds(outcome.arrived[t]) - expected[t]) < 1e-9 * expected[t] + 1e-10);
}

}  // namespace
}  // namespace foretrain
