#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <cmath>
#include <cstdint>

#include "test_fabrics.h"

namespace foretrain {
namespace {

bool can_forward(const Topology& topology, DeviceId id) {
  return topology.device(id).kind == DeviceKind::kSwitch;
}

}  // namespace

HopOracle hops_by_search(const Topology& topology) {
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
  Graph graph(topology.devices().size());
  for (const Link& link : topology.links()) {
    if (in_fabric(link)) boost::add_edge(link.from.position(), link.to.position(), graph);
  }
  HopOracle oracle;
  double sum = 0, pairs = 0;
  for (int n = 0; n < topology.num_nodes(); ++n) {
    for (const DeviceId nic : topology.nics(NodeId{n})) {
      std::vector<int> hops(topology.devices().size(), 0);
      boost::breadth_first_search(graph, nic.position(),
                                  boost::visitor(boost::make_bfs_visitor(boost::record_distances(
                                      hops.data(), boost::on_tree_edge()))));
      for (int m = 0; m < topology.num_nodes(); ++m) {
        for (const DeviceId other : topology.nics(NodeId{m})) {
          const int distance = hops[other.position()];
          if (distance == 0) continue;  // itself, or not joined by the fabric
          sum += distance;
          pairs += 1;
          oracle.diameter = std::max(oracle.diameter, distance);
        }
      }
    }
  }
  oracle.mean = pairs > 0 ? sum / pairs : 0;
  return oracle;
}

double bisection_by_max_flow(const Topology& topology) {
  using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
  using Graph = boost::adjacency_list<
      boost::vecS, boost::vecS, boost::directedS, boost::no_property,
      boost::property<
          boost::edge_capacity_t, std::int64_t,
          boost::property<boost::edge_residual_capacity_t, std::int64_t,
                          boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;
  const std::size_t devices = topology.devices().size();
  Graph graph(devices + 2);
  const std::size_t source = devices, sink = devices + 1;
  auto capacity = boost::get(boost::edge_capacity, graph);
  auto reverse = boost::get(boost::edge_reverse, graph);
  const auto connect = [&](std::size_t from, std::size_t to, std::int64_t amount) {
    const auto forward = boost::add_edge(from, to, graph).first;
    const auto backward = boost::add_edge(to, from, graph).first;
    capacity[forward] = amount;
    capacity[backward] = 0;
    reverse[forward] = backward;
    reverse[backward] = forward;
  };
  for (const Link& link : topology.links()) {
    if (!in_fabric(link)) continue;
    // NICs do not forward: one half only sends, the other only receives.
    const bool leaves_nic = !can_forward(topology, link.from);
    const bool enters_nic = !can_forward(topology, link.to);
    const DeviceId end = leaves_nic ? link.from : link.to;
    const bool first_half = topology.device(end).node.index() < topology.num_nodes() / 2;
    if ((leaves_nic && !first_half) || (enters_nic && first_half)) continue;
    connect(link.from.position(), link.to.position(),
            static_cast<std::int64_t>(std::llround(link.bandwidth.bytes_per_second())));
  }
  constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;
  for (int n = 0; n < topology.num_nodes(); ++n) {
    for (const DeviceId nic : topology.nics(NodeId{n})) {
      if (n < topology.num_nodes() / 2) {
        connect(source, nic.position(), kUnlimited / 1024);
      } else {
        connect(nic.position(), sink, kUnlimited / 1024);
      }
    }
  }
  return static_cast<double>(boost::push_relabel_max_flow(graph, source, sink));
}

}  // namespace foretrain
