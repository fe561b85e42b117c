// All-to-all of large groups, counted by switch, against a route for every pair.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "tests/unit/collectives/machines.h"
#include "topologies/build_topology.h"

namespace foretrain {
namespace {

struct FabricCase {
  const char* name;
  int nodes, rails, tiers, ports;
  double oversubscription;
};

constexpr FabricCase kCases[] = {
    {"leaf-spine", 64, 1, 2, 64, 1},
    {"leaf-spine 7:1", 64, 1, 2, 64, 7},
    {"rails", 64, 8, 2, 64, 1},
    {"rails 7:1", 64, 8, 2, 64, 7},
    {"three tiers", 40, 1, 3, 16, 1},
    {"three tiers 3:1", 40, 1, 3, 16, 3},
    {"rails on three tiers", 64, 8, 3, 16, 1},
};

Topology make_fabric(const FabricCase& of, Routing routing) {
  TopologyRequest request;
  request.nodes = of.nodes;
  request.node.nvlink_bandwidth = gigabytes_per_second(450);
  request.node.pcie_bandwidth = gigabytes_per_second(57);
  request.node.nic_bandwidth = gigabytes_per_second(50);
  request.fabric.tiers = of.tiers;
  request.fabric.rails = of.rails;
  request.fabric.switch_ports = of.ports;
  request.fabric.oversubscription = {of.oversubscription};
  request.fabric.link_bandwidth = gigabytes_per_second(50);
  request.fabric.routing = routing;
  auto built = build_topology(request);
  if (!built) {
    std::fprintf(stderr, "%s: %s", of.name, to_string(built.error()).c_str());
    std::abort();
  }
  return std::move(*built);
}

/// Shares by link, from GPU `at` of every node to GPU `at` of every other that has one: S / n per
/// rank of the source's node.
std::vector<double> every_pair(const Topology& topology, const Router& router,
                               const ProcessGroup& group, std::uint64_t draw) {
  std::vector<std::vector<DeviceId>> nodes(static_cast<std::size_t>(topology.num_nodes()));
  for (const DeviceId gpu : group.gpus) nodes[topology.device(gpu).node.position()].push_back(gpu);
  std::vector<double> shares(topology.links().size(), 0.0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::size_t j = 0; j < nodes.size(); ++j) {
      if (i == j || nodes[i].empty()) continue;
      const double weight =
          static_cast<double>(nodes[i].size()) / static_cast<double>(group.gpus.size());
      for (std::size_t at = 0; at < nodes[j].size(); ++at) {
        const DeviceId from = nodes[i][at % nodes[i].size()];
        const std::uint64_t label = ((draw * nodes.size() + i) * nodes.size() + j) * 8 + at;
        for (const LinkShare& use : router.route(from, nodes[j][at], label).links)
          shares[use.link.position()] += weight * use.share;
      }
    }
  }
  return shares;
}

struct Comparison {
  std::vector<double> ours, theirs;  // host links and links between switches
  double our_total = 0, their_total = 0;
  double our_worst = 0, their_worst = 0;  // between switches, per cable
};

Comparison compare(const Topology& topology, Routing routing, const ProcessGroup& group,
                   std::uint64_t draw = 1) {
  const Router router{topology, {routing, 1, true}};
  const CollectivePlanner planner{
      topology, router, machine_named("dgx-h100"), {}, shipped_tables()};
  const auto lowered = planner.lower(CollectiveKind::kAllToAll, gibibytes(1), group, draw);
  std::vector<double> ours(topology.links().size(), 0.0);
  for (const LinkShare& use : lowered.usage) ours[use.link.position()] = use.share;
  const std::vector<double> theirs = every_pair(topology, router, group, draw);
  Comparison result;
  for (std::size_t l = 0; l < ours.size(); ++l) {
    const Link& link = topology.links()[l];
    if (link.tier != LinkTier::kHostLink && link.tier != LinkTier::kInterSwitch) continue;
    result.ours.push_back(ours[l]);
    result.theirs.push_back(theirs[l]);
    if (link.tier != LinkTier::kInterSwitch) continue;
    result.our_total += ours[l];
    result.their_total += theirs[l];
    result.our_worst = std::max(result.our_worst, ours[l] / link.cables);
    result.their_worst = std::max(result.their_worst, theirs[l] / link.cables);
  }
  return result;
}

ProcessGroup whole(const Topology& topology) {
  ProcessGroup group;
  for (int gpu = 0; gpu < topology.num_gpus(); ++gpu) group.gpus.push_back(topology.gpu(gpu));
  return group;
}

constexpr double kRounding = 1e-9;

TEST(FabricLoad, SprayedIsTheSumOverAllPairs) {
  for (const FabricCase& of : kCases) {
    const Topology topology = make_fabric(of, Routing::kSpray);
    const Comparison links = compare(topology, Routing::kSpray, whole(topology));
    for (std::size_t l = 0; l < links.ours.size(); ++l)
      ASSERT_NEAR(links.ours[l], links.theirs[l], kRounding * (1 + links.theirs[l])) << of.name;
  }
}

// Nodes of 8 and of 5 ranks.
TEST(FabricLoad, UnevenNodesKeepTheirBytes) {
  const Topology topology = make_fabric(kCases[0], Routing::kSpray);
  ProcessGroup group;
  for (int gpu = 0; gpu < topology.num_gpus(); ++gpu) {
    if (gpu / 8 % 3 != 0 || gpu % 8 < 5) group.gpus.push_back(topology.gpu(gpu));
  }
  const Comparison links = compare(topology, Routing::kSpray, group);
  for (std::size_t l = 0; l < links.ours.size(); ++l)
    ASSERT_NEAR(links.ours[l], links.theirs[l], kRounding * (1 + links.theirs[l]));
}

// Hashes differ from draw to draw. Totals do not, nor does the worst link on average.
TEST(FabricLoad, HashedHasTheSameTotalAndOnAverageTheSameWorstLink) {
  constexpr std::uint64_t kDraws = 8;
  // Standard error of the difference of two means of 8 draws: 2 to 3 % of the worst link.
  constexpr double kOverDraws = 0.06;
  for (const FabricCase& of : kCases) {
    const Topology topology = make_fabric(of, Routing::kEcmp);
    double ours = 0, theirs = 0;
    for (std::uint64_t draw = 1; draw <= kDraws; ++draw) {
      const Comparison links = compare(topology, Routing::kEcmp, whole(topology), draw);
      EXPECT_NEAR(links.our_total, links.their_total, kRounding * links.their_total) << of.name;
      ours += links.our_worst / kDraws;
      theirs += links.their_worst / kDraws;
    }
    EXPECT_NEAR(ours, theirs, kOverDraws * theirs) << of.name;
  }
}

}  // namespace
}  // namespace foretrain
