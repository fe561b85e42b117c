#include "topologies/fat_tree.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <set>

#include "test_fabrics.h"
#include "topologies/topology_metrics.h"

namespace foretrain {
namespace {

int switches(const TopologyMetrics& metrics, const std::string& tier) {
  for (const TierCount& count : metrics.switch_tiers) {
    if (count.name == tier) return count.count;
  }
  return 0;
}
int cables(const TopologyMetrics& metrics, const std::string& tier) {
  for (const TierCount& count : metrics.cable_tiers) {
    if (count.name == tier) return count.count;
  }
  return 0;
}

// Al-Fares, Loukissas, Vahdat, SIGCOMM 2008: k^3/4 hosts, 5k^2/4 switches, 3k^3/4 links, diameter
// 6, bisection k^3/8 links, mean [2(k/2-1) + 4(k^2/4-k/2) + 6(N-k^2/4)] / (N-1).
TEST(FatTree, HasTheCountsOfAlFaresAtEveryRadix) {
  for (int k = 4; k <= 24; k += 2) {
    const int hosts = k * k * k / 4;
    const TopologyRequest request = plain_hosts(hosts, 3, k);
    const TopologyMetrics m = compute_metrics(built(request));
    EXPECT_EQ(m.gpus, hosts);
    EXPECT_EQ(m.switches, 5 * k * k / 4) << k;
    EXPECT_EQ(switches(m, "leaf"), k * k / 2);
    EXPECT_EQ(switches(m, "spine"), k * k / 2);
    EXPECT_EQ(switches(m, "core"), k * k / 4);
    EXPECT_EQ(m.cables, 3 * k * k * k / 4);
    for (const char* tier : {"host-leaf", "leaf-spine", "spine-core"})
      EXPECT_EQ(cables(m, tier), hosts);
    EXPECT_EQ(m.diameter_hops, 6);
    const double n = hosts;
    const double mean =
        (2 * (k / 2.0 - 1) + 4 * (k * k / 4.0 - k / 2.0) + 6 * (n - k * k / 4.0)) / (n - 1);
    EXPECT_DOUBLE_EQ(m.mean_hops, mean);
    EXPECT_DOUBLE_EQ(m.bisection.bytes_per_second(), k * k * k / 8 * 50e9);
    EXPECT_DOUBLE_EQ(m.bisection_per_gpu.bytes_per_second(), 50e9);
    // One host more does not fit.
    EXPECT_NE(error_of(plain_hosts(hosts + 1, 3, k)), "");
  }
}

// Printed values of the same table.
TEST(FatTree, MeanHopsMatchTheTabulatedValues) {
  const std::vector<std::pair<int, double>> table{
      {4, 5.4667}, {8, 5.7165}, {16, 5.8631}, {24, 5.9109}};
  constexpr double kFourDecimals = 0.5e-4;
  for (const auto& [k, mean] : table) {
    EXPECT_NEAR(compute_metrics(built(plain_hosts(k * k * k / 4, 3, k))).mean_hops, mean,
                kFourDecimals);
  }
}

// Full leaf-spine: k^2/2 hosts, k leaves, k/2 spines, k^2 links.
TEST(FatTree, TwoTiersHaveTheCountsOfAFullLeafSpine) {
  for (const int k : {4, 8, 16, 32, 64}) {
    const TopologyMetrics m = compute_metrics(built(plain_hosts(k * k / 2, 2, k)));
    EXPECT_EQ(switches(m, "leaf"), k);
    EXPECT_EQ(switches(m, "spine"), k / 2);
    EXPECT_EQ(m.cables, k * k);
    EXPECT_EQ(m.diameter_hops, 4);
    EXPECT_NE(error_of(plain_hosts(k * k / 2 + 1, 2, k)), "");
  }
}

TEST(FatTree, OneTierIsASingleSwitch) {
  const TopologyMetrics m = compute_metrics(built(superpod(8, 1, 1)));
  EXPECT_EQ(m.switches, 1);
  EXPECT_EQ(m.cables, 64);
  EXPECT_EQ(m.diameter_hops, 2);
  EXPECT_DOUBLE_EQ(m.mean_hops, 2.0);
  EXPECT_NE(error_of(superpod(9, 1, 1)), "");
}

// Bisection per GPU = b / max(1, o) with whole leaves in each half; links L (d + u).
TEST(FatTree, OversubscriptionDividesTheBisection) {
  for (const double o : {1.0, 2.0, 3.0, 4.0, 7.0}) {
    const PortSplit split = split_ports(64, o);
    EXPECT_LE(split.down + split.up, 64);
    EXPECT_DOUBLE_EQ(split.down, o * split.up);
    TopologyRequest request = plain_hosts(8 * split.down, 2, 64);
    request.fabric.oversubscription = {o};
    const TopologyMetrics m = compute_metrics(built(request));
    EXPECT_EQ(switches(m, "leaf"), 8);
    EXPECT_EQ(m.cables, 8 * (split.down + split.up));
    EXPECT_NEAR(m.bisection_per_gpu.bytes_per_second(), 50e9 / o, 1.0) << o;
  }
}

TEST(FatTree, OversubscriptionHoldsAtTheUpperBoundary) {
  TopologyRequest request = plain_hosts(16 * 28 * 4, 3, 32);
  request.fabric.oversubscription = {1.0, 7.0};  // 28 down and 4 up at each spine
  const Topology topology = built(request);
  const TopologyMetrics m = compute_metrics(topology);
  EXPECT_EQ(cables(m, "leaf-spine"), 16 * 28 * 4);
  EXPECT_EQ(cables(m, "spine-core"), 16 * 4 * 4);
  EXPECT_NEAR(m.bisection_per_gpu.bytes_per_second(), 50e9 / 7, 1.0);
}

// Ports named by the deployed fabrics: HPN aggregation 120 down 8 up; undersubscribed leaves have
// more up.
TEST(FatTree, PortSplitsOfDeployedFabrics) {
  EXPECT_EQ(split_ports(128, 15).down, 120);
  EXPECT_EQ(split_ports(128, 15).up, 8);
  EXPECT_GT(split_ports(64, 1 / 1.125).up, 32);
  // MegaScale: host ports of half the cable's speed.
  EXPECT_EQ(split_ports(96, 1, 0.5).down, 64);
  EXPECT_EQ(split_ports(96, 1, 0.5).up, 32);
}

// NVIDIA DGX SuperPOD B200 reference architecture, component counts: scalable units of 32 nodes.
TEST(FatTree, RailOptimizedMatchesTheSuperPodTable) {
  struct Row {
    int units, leaves, spines, cores;
  };
  const std::vector<Row> table{{2, 16, 8, 0},      {4, 32, 16, 0},      {8, 64, 32, 0},
                               {16, 128, 128, 64}, {32, 256, 256, 128}, {64, 512, 512, 256}};
  for (const Row& row : table) {
    const int nodes = 32 * row.units;
    const TopologyMetrics m = compute_metrics(built(superpod(nodes, row.cores > 0 ? 3 : 2)));
    EXPECT_EQ(switches(m, "leaf"), row.leaves);
    EXPECT_EQ(switches(m, "spine"), row.spines);
    EXPECT_EQ(switches(m, "core"), row.cores);
    EXPECT_EQ(cables(m, "host-leaf"), 8 * nodes);
    EXPECT_EQ(cables(m, "leaf-spine"), 8 * nodes);
    EXPECT_EQ(cables(m, "spine-core"), row.cores > 0 ? 8 * nodes : 0);
    EXPECT_DOUBLE_EQ(m.bisection_per_gpu.bytes_per_second(), 50e9);
  }
}

// The same reference architecture gives up one node for the fabric manager and keeps the switches.
TEST(FatTree, MissingNodesKeepTheSwitchesOfTheUnit) {
  const TopologyMetrics m = compute_metrics(built(superpod(127, 2)));
  EXPECT_EQ(switches(m, "leaf"), 32);
  EXPECT_EQ(switches(m, "spine"), 16);
  EXPECT_EQ(cables(m, "host-leaf"), 1016);
  EXPECT_EQ(cables(m, "leaf-spine"), 1024);
}

TEST(FatTree, NicsOfARailShareALeaf) {
  const Topology topology = built(superpod(64, 2));
  for (const Link& link : topology.links()) {
    const Device& nic = topology.device(link.from);
    if (nic.kind != DeviceKind::kNic || link.tier != LinkTier::kHostLink) continue;
    EXPECT_EQ(topology.device(link.to).rail, nic.local_index);
    EXPECT_EQ(topology.device(link.to).unit, nic.node.index() / 32);
  }
}

// Wang et al., arXiv:2307.12169: per rail 1 switch up to k nodes, 3n/k for two tiers, 5n/k for
// three.
TEST(FatTree, RailOnlyHasOneClosPerRail) {
  struct Row {
    int nodes, tiers, ports, switches_per_rail;
  };
  for (const Row& row :
       std::vector<Row>{{64, 1, 64, 1}, {2048, 2, 64, 96}, {256, 2, 64, 12}, {128, 3, 8, 80}}) {
    TopologyRequest request = superpod(row.nodes, row.tiers);
    request.fabric.rail_only = true;
    request.fabric.switch_ports = row.ports;
    const Topology topology = built(request);
    EXPECT_EQ(compute_metrics(topology).switches, 8 * row.switches_per_rail);
    for (const Link& link : topology.links()) {
      if (link.tier != LinkTier::kInterSwitch) continue;
      EXPECT_EQ(topology.device(link.from).rail, topology.device(link.to).rail);
    }
  }
}

TEST(FatTree, IdealIsOneSwitchAtNicSpeed) {
  TopologyRequest request = superpod(128, 2);
  request.fabric.kind = FabricKind::kIdeal;
  request.fabric.link_bandwidth = gigabytes_per_second(1);  // not asked
  const TopologyMetrics m = compute_metrics(built(request));
  EXPECT_EQ(m.switches, 1);
  EXPECT_DOUBLE_EQ(m.bisection.bytes_per_second(), 512 * 50e9);
}

TEST(FatTree, MergesParallelCablesOnlyWhereRoutesSpray) {
  TopologyRequest request = superpod(64, 2);
  const Topology hashed = built(request);
  request.fabric.routing = Routing::kSpray;
  const Topology sprayed = built(request);
  EXPECT_EQ(compute_metrics(hashed).cables, compute_metrics(sprayed).cables);
  EXPECT_EQ(compute_metrics(hashed).bisection, compute_metrics(sprayed).bisection);
  std::set<std::pair<DeviceId, DeviceId>> ends;
  for (const Link& link : sprayed.links()) {
    EXPECT_TRUE(ends.insert({link.from, link.to}).second);
    if (link.tier == LinkTier::kInterSwitch) {
      EXPECT_EQ(link.cables, 4);
      EXPECT_DOUBLE_EQ(link.bandwidth.bytes_per_second(), 200e9);
    }
  }
  for (const Link& link : hashed.links()) EXPECT_EQ(link.cables, 1);
}

TEST(FatTree, ErrorsNameWhatWouldHold) {
  EXPECT_NE(error_of(superpod(300, 2)).find("tiers: 3 holds 8192 nodes"), std::string::npos);
  EXPECT_NE(error_of(superpod(4, 2, 3)).find("possible: 1, 2, 4, 8"), std::string::npos);
  EXPECT_NE(error_of(superpod(4, 1, 8)).find("rail_only"), std::string::npos);
  TopologyRequest rack = superpod(2, 2, 1);
  rack.node.gpus = rack.node.nics = 72;
  EXPECT_NE(error_of(rack).find("rails: 3"), std::string::npos);
  rack.fabric.rails = 72;
  EXPECT_NE(error_of(rack).find("rails: 36 would fit"), std::string::npos);
  TopologyRequest lonely = superpod(2, 2, 1);
  lonely.node.nics = 0;
  EXPECT_NE(error_of(lonely), "");
  lonely.nodes = 1;
  EXPECT_EQ(error_of(lonely), "");
  TopologyRequest negative = superpod(4, 2);
  negative.fabric.oversubscription = {0};
  EXPECT_NE(error_of(negative), "");
}

RC_GTEST_PROP(FatTree, EveryPlanFitsItsPortsAndReachesEveryNode, ()) {
  TopologyRequest request = superpod(1, *rc::gen::inRange(2, 4), 1);
  request.node.nics = *rc::gen::element(1, 2, 4, 8);
  request.fabric.rails = *rc::gen::element(1, request.node.nics);
  request.fabric.switch_ports = *rc::gen::inRange(8, 41);
  request.fabric.oversubscription = {*rc::gen::element(0.8, 1.0, 1.5, 2.0, 3.0),
                                     *rc::gen::element(1.0, 2.0, 4.0)};
  request.nodes = *rc::gen::inRange(2, 100);
  const Result<Topology> topology = build_topology(request);
  if (!topology) RC_DISCARD("does not fit");
  std::vector<int> ports(topology->devices().size(), 0);
  for (const Link& link : topology->links()) {
    if (in_fabric(link)) ports[link.from.position()] += link.cables;
  }
  for (std::size_t d = 0; d < ports.size(); ++d) {
    const Device& device = topology->devices()[d];
    if (device.kind == DeviceKind::kSwitch) RC_ASSERT(ports[d] <= request.fabric.switch_ports);
    if (device.kind == DeviceKind::kNic) RC_ASSERT(ports[d] == 1);
  }
}

}  // namespace
}  // namespace foretrain
