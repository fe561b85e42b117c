#include "topologies/router.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "test_fabrics.h"

namespace foretrain {
namespace {

constexpr double kShareRounding = 1e-12;

/// Flow is conserved: the source sends 1, the destination receives 1, what enters elsewhere leaves.
/// Every link set that separates the two then carries 1 in sum.
::testing::AssertionResult carries_one_unit(const Topology& topology, const FlowRoute& route,
                                            DeviceId source, DeviceId destination) {
  std::map<DeviceId, double> balance;
  for (std::size_t i = 0; i < route.links.size(); ++i) {
    const LinkShare& use = route.links[i];
    if (use.share <= 0 || use.share > 1 + kShareRounding)
      return ::testing::AssertionFailure() << "share " << use.share;
    if (i > 0 && !(route.links[i - 1].link < use.link))
      return ::testing::AssertionFailure() << "order";
    balance[topology.link(use.link).from] += use.share;
    balance[topology.link(use.link).to] -= use.share;
  }
  balance[source] -= 1;
  balance[destination] += 1;
  for (const auto& [device, rest] : balance) {
    if (std::abs(rest) > kShareRounding) {
      return ::testing::AssertionFailure() << topology.device(device).name << " keeps " << rest;
    }
  }
  return ::testing::AssertionSuccess();
}

TopologyRequest any_fabric() {
  TopologyRequest request = superpod(*rc::gen::inRange(2, 20), *rc::gen::inRange(1, 4), 1);
  request.node.interconnect =
      *rc::gen::element(IntraNode::kNvSwitch, IntraNode::kNvlinkMesh, IntraNode::kPcie);
  request.node.gpus = *rc::gen::element(1, 2, 4, 8);
  request.node.nics = *rc::gen::element(1, 2, 4, 8);
  request.fabric.rails = *rc::gen::element(1, request.node.nics);
  request.fabric.rail_only = *rc::gen::arbitrary<bool>();
  request.fabric.switch_ports = *rc::gen::element(8, 16, 32, 64);
  request.fabric.oversubscription = {*rc::gen::element(1.0, 2.0, 3.0)};
  request.fabric.routing = *rc::gen::element(Routing::kEcmp, Routing::kSpray);
  return request;
}

RC_GTEST_PROP(Router, RoutesConserveFlowAndRepeat, ()) {
  const TopologyRequest request = any_fabric();
  const Result<Topology> topology = build_topology(request);
  if (!topology) RC_DISCARD("does not fit");
  Router::Options options;
  options.routing = *rc::gen::element(Routing::kEcmp, Routing::kSpray);
  options.pxn = *rc::gen::arbitrary<bool>();
  options.seed = *rc::gen::arbitrary<std::uint64_t>();
  const Router router{*topology, options};
  const Router copy = router;
  const Router again{*topology, options};
  const int gpus = topology->num_gpus();
  for (int i = 0; i < 20; ++i) {
    const int a = *rc::gen::inRange(0, gpus);
    const int b = *rc::gen::inRange(0, gpus);
    if (a == b) continue;
    const FlowRoute route = router.route(topology->gpu(a), topology->gpu(b), 7);
    const auto valid = carries_one_unit(*topology, route, topology->gpu(a), topology->gpu(b));
    if (!valid) RC_FAIL(valid.message());
    RC_ASSERT(copy.route(topology->gpu(a), topology->gpu(b), 7).links == route.links);
    RC_ASSERT(again.route(topology->gpu(a), topology->gpu(b), 7).links == route.links);
  }
}

TEST(Router, LatencyAndHopsAddUpAlongTheWay) {
  const Topology topology = built(superpod(64, 2));
  const Router router{topology, {}};
  // Same rail and unit: PCIe 2 x 150 ns a side, NIC 500 ns a side, 2 cables of 100 ns, one switch
  // 200 ns.
  const FlowRoute near = router.route(topology.gpu(3), topology.gpu(8 + 3), 0);
  EXPECT_EQ(near.hops, 6);
  EXPECT_EQ(near.latency, SimDuration{std::chrono::nanoseconds(4 * 150 + 2 * 500 + 2 * 100 + 200)});
  // Same rail, other unit: two cables and two switches more.
  const FlowRoute far = router.route(topology.gpu(3), topology.gpu(40 * 8 + 3), 0);
  EXPECT_EQ(far.hops, 8);
  EXPECT_EQ(far.latency, near.latency + SimDuration{std::chrono::nanoseconds(2 * 100 + 2 * 200)});
}

TEST(Router, CrossRailFlowsChangeRailOverNvlinkFirst) {
  const Topology topology = built(superpod(4, 2));
  const auto tiers = [&](bool pxn) {
    Router::Options options;
    options.pxn = pxn;
    const FlowRoute route =
        Router{topology, options}.route(topology.gpu(0), topology.gpu(8 + 5), 0);
    std::map<LinkTier, int> count;
    for (const LinkShare& use : route.links) ++count[topology.link(use.link).tier];
    return count;
  };
  EXPECT_EQ(tiers(true)[LinkTier::kNvlink], 2);
  EXPECT_EQ(tiers(true)[LinkTier::kInterSwitch], 0);
  EXPECT_EQ(tiers(false)[LinkTier::kNvlink], 0);
  EXPECT_EQ(tiers(false)[LinkTier::kInterSwitch], 2);
}

TEST(Router, RailOnlyFabricsAreCrossedWithoutNvlinkToo) {
  TopologyRequest request = superpod(4, 1);
  request.fabric.rail_only = true;
  request.node.interconnect = IntraNode::kPcie;
  const Topology topology = built(request);
  const FlowRoute route = Router{topology, {}}.route(topology.gpu(0), topology.gpu(8 + 5), 0);
  EXPECT_TRUE(carries_one_unit(topology, route, topology.gpu(0), topology.gpu(13)));
}

TEST(Router, SeveralNicsShareAFlowEvenly) {
  TopologyRequest request = superpod(2, 2, 1);
  request.node.nics = 32;
  const Topology topology = built(request);
  const FlowRoute route = Router{topology, {}}.route(topology.gpu(2), topology.gpu(8 + 2), 0);
  int nics = 0;
  for (const LinkShare& use : route.links) {
    const Link& link = topology.link(use.link);
    if (topology.device(link.from).kind != DeviceKind::kNic || link.tier != LinkTier::kHostLink)
      continue;
    EXPECT_DOUBLE_EQ(use.share, 0.25);
    ++nics;
  }
  EXPECT_EQ(nics, 4);
}

// Every equal-cost cable carries exactly the same share: 1/(k/2) between leaf and spine, 1/(k^2/4)
// at the cores.
TEST(Router, SprayingIsExactlySymmetric) {
  const Topology topology = built(plain_hosts(128, 3, 8));
  Router::Options options;
  options.routing = Routing::kSpray;
  const FlowRoute route = Router{topology, options}.route(topology.gpu(0), topology.gpu(127), 0);
  std::map<int, int> count;
  for (const LinkShare& use : route.links) {
    const Link& link = topology.link(use.link);
    if (link.tier != LinkTier::kInterSwitch) continue;
    EXPECT_EQ(use.share, link.tier_index == 1 ? 1.0 / 4 : 1.0 / 16);
    ++count[link.tier_index];
  }
  EXPECT_EQ(count[1], 8);
  EXPECT_EQ(count[2], 32);
  EXPECT_EQ(route.hops, 6 + 4);
}

TEST(Router, SprayedRoutesOfALargeFabricStaySmall) {
  TopologyRequest request = superpod(2048, 3);
  request.fabric.routing = Routing::kSpray;
  const Topology topology = built(request);
  Router::Options options;
  options.routing = Routing::kSpray;
  const Router router{topology, options};
  const FlowRoute route = router.route(topology.gpu(0), topology.gpu(16383 - 7), 0);
  EXPECT_TRUE(carries_one_unit(topology, route, topology.gpu(0), topology.gpu(16383 - 7)));
  EXPECT_LE(route.links.size(), 600U);  // 32 + 256 + 256 + 32, and the ends
}

// The mean of ECMP routes over labels tends to the sprayed route: n labels leave about sqrt(p (1 -
// p) / n).
RC_GTEST_PROP(Router, SprayingIsTheMeanOfEcmpOverLabels, ()) {
  TopologyRequest request = plain_hosts(16, 3, 4);
  if (*rc::gen::arbitrary<bool>()) request = plain_hosts(32, 2, 8);
  const Topology topology = built(request);
  Router::Options options;
  options.seed = *rc::gen::arbitrary<std::uint64_t>();
  const Router hashed{topology, options};
  options.routing = Routing::kSpray;
  const Router sprayed{topology, options};
  const int last = topology.num_gpus() - 1;
  std::map<LinkId, double> mean;
  constexpr int kLabels = 4000;
  for (std::uint64_t label = 0; label < kLabels; ++label) {
    for (const LinkShare& use : hashed.route(topology.gpu(0), topology.gpu(last), label).links) {
      mean[use.link] += use.share / kLabels;
    }
  }
  const FlowRoute route = sprayed.route(topology.gpu(0), topology.gpu(last), 0);
  RC_ASSERT(mean.size() == route.links.size());
  constexpr double kSixSigma = 6 * 0.5 / 63.2;  // sqrt(p (1 - p)) <= 0.5, sqrt(4000) = 63.2
  for (const LinkShare& use : route.links)
    RC_ASSERT(std::abs(mean[use.link] - use.share) < kSixSigma);
}

}  // namespace
}  // namespace foretrain
