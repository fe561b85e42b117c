#include "topologies/topology_metrics.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>

#include "test_fabrics.h"

namespace foretrain {
namespace {

constexpr double kByte = 1.0;  // the flow oracle counts whole bytes per second

TEST(TopologyMetrics, AgreeWithSearchAndMaximumFlowOnKnownFabrics) {
  std::vector<TopologyRequest> requests{superpod(4, 2, 1),     superpod(6, 2),
                                        superpod(40, 2),       superpod(5, 1, 1),
                                        plain_hosts(16, 3, 4), plain_hosts(128, 3, 8)};
  requests.push_back(superpod(24, 2));
  requests.back().fabric.rail_only = true;
  requests.back().fabric.switch_ports = 16;
  for (const TopologyRequest& request : requests) {
    const Topology topology = built(request);
    const TopologyMetrics metrics = compute_metrics(topology);
    const HopOracle hops = hops_by_search(topology);
    EXPECT_EQ(metrics.diameter_hops, hops.diameter);
    EXPECT_NEAR(metrics.mean_hops, hops.mean, 1e-12 * hops.mean);
    EXPECT_NEAR(metrics.bisection.bytes_per_second(), bisection_by_max_flow(topology), kByte);
  }
}

RC_GTEST_PROP(TopologyMetrics, AgreeWithTheOraclesOnAnyFatTree, ()) {
  TopologyRequest request = superpod(*rc::gen::inRange(2, 25), *rc::gen::inRange(1, 4), 1);
  request.node.nics = *rc::gen::element(1, 2, 4);
  request.fabric.rails = *rc::gen::element(1, request.node.nics);
  request.fabric.rail_only = *rc::gen::arbitrary<bool>();
  request.fabric.switch_ports = *rc::gen::element(4, 6, 8, 10, 16);
  request.fabric.oversubscription = {*rc::gen::element(0.8, 1.0, 2.0, 3.0),
                                     *rc::gen::element(1.0, 2.0)};
  request.node.nic_bandwidth = gigabytes_per_second(*rc::gen::element(25.0, 50.0));
  request.fabric.routing = *rc::gen::element(Routing::kEcmp, Routing::kSpray);
  const Result<Topology> topology = build_topology(request);
  if (!topology) RC_DISCARD("does not fit");
  const TopologyMetrics metrics = compute_metrics(*topology);
  const HopOracle hops = hops_by_search(*topology);
  RC_ASSERT(metrics.diameter_hops == hops.diameter);
  RC_ASSERT(std::abs(metrics.mean_hops - hops.mean) <= 1e-12 * hops.mean);
  RC_ASSERT(std::abs(metrics.bisection.bytes_per_second() - bisection_by_max_flow(*topology)) <=
            kByte);
}

TEST(TopologyMetrics, OneNodeHasNoFabric) {
  const TopologyMetrics metrics = compute_metrics(built(superpod(1, 2)));
  EXPECT_EQ(metrics.switches, 0);
  EXPECT_EQ(metrics.cables, 0);
  EXPECT_EQ(metrics.diameter_hops, 0);
  EXPECT_EQ(metrics.bisection, DataRate{});
}

}  // namespace
}  // namespace foretrain
