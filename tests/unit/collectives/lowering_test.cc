// Usage of links: closed forms, conservation, bounds and monotony.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/collectives/collective_cost.h"
#include "tests/unit/collectives/machines.h"

namespace foretrain {
namespace {

constexpr Bytes kLarge = gibibytes(8);
constexpr double kRounding = 1e-9;

NcclSettings rings() {
  NcclSettings settings;
  settings.environment = {{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "Simple"}};
  return settings;
}
NcclSettings with(const char* algorithm, const char* protocol = "Simple") {
  NcclSettings settings;
  settings.environment = {{"NCCL_ALGO", algorithm}, {"NCCL_PROTO", protocol}};
  return settings;
}

// A call of petabytes is no smaller than one of gigabytes.
TEST(Lowering, ChannelsNeverFallAsCallsGrow) {
  const Cluster cluster{machine_named("dgx-h100"), 2, rings()};
  int before = 0;
  for (int power = 10; power < 63; ++power) {
    const auto lowered = cluster.planner->lower(CollectiveKind::kAllReduce,
                                                Bytes{std::int64_t{1} << power}, cluster.all(), 1);
    EXPECT_GE(lowered.choice.channels, before) << power;
    before = lowered.choice.channels;
  }
  EXPECT_GT(before, 1);
}

// Alpha-beta bytes: a rank sends 2 (n-1)/n S, (n-1)/n S, or S.
TEST(Lowering, RingsMoveTheBytesOfTheClosedForms) {
  const Cluster cluster{machine_named("dgx-h100"), 1, rings()};
  for (const CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
        CollectiveKind::kBroadcast, CollectiveKind::kReduce}) {
    const auto lowered = cluster.planner->lower(kind, kLarge, cluster.all(), 1);
    EXPECT_EQ(lowered.choice.algorithm, CollectiveAlgorithm::kRing);
    const double expected =
        kind == CollectiveKind::kAllReduce                                             ? 14.0 / 8
        : kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter ? 7.0 / 8
                                                                                       : 1.0;
    for (const DeviceId gpu : cluster.all().gpus) {
      EXPECT_NEAR(cluster.at_device(lowered, gpu).out, expected, kRounding);
      EXPECT_NEAR(cluster.at_device(lowered, gpu).in, expected, kRounding);
    }
  }
}

// Between nodes each NIC carries its share: 2 (n-1)/n S / 8, in and out; inside, rings leave out
// one hop in eight.
TEST(Lowering, RingsBetweenNodesUseAllNics) {
  const NcclMachine machine = machine_named("dgx-h100");
  for (const int nodes : {2, 3, 4, 16}) {
    const Cluster cluster{machine, nodes, rings()};
    const auto lowered =
        cluster.planner->lower(CollectiveKind::kAllReduce, kLarge, cluster.all(), 1);
    const double n = 8.0 * nodes;
    for (int node = 0; node < nodes; ++node) {
      for (const DeviceId nic : cluster.topology->nics(NodeId{node})) {
        const auto traffic = cluster.at_device(lowered, nic);
        // A NIC passes on what it gets: half of it to the fabric, half to the GPU.
        EXPECT_NEAR(traffic.out, 2 * 2 * (n - 1) / n / 8, kRounding) << nodes;
        EXPECT_NEAR(traffic.in, traffic.out, kRounding) << nodes;
      }
    }
  }
}

// A group of one GPU per node stays on that GPU's NIC.
TEST(Lowering, OneGpuPerNodeUsesItsOwnNic) {
  const Cluster cluster{machine_named("dgx-h100"), 4, rings(), 8};
  const auto lowered =
      cluster.planner->lower(CollectiveKind::kReduceScatter, kLarge, cluster.some(1, 3), 1);
  for (int nic = 0; nic < 8; ++nic) {
    const DeviceId device = cluster.topology->nics(NodeId{2})[static_cast<std::size_t>(nic)];
    EXPECT_NEAR(cluster.at_device(lowered, device).out, nic == 3 ? 2 * 0.75 : 0.0, kRounding);
  }
  for (const LinkShare& use : lowered.usage) {
    EXPECT_NE(cluster.topology->link(use.link).tier, LinkTier::kNvlink);
  }
}

// 2 nodes: each tree carries half of S one way over the one edge and back: S per node and
// direction.
TEST(Lowering, TreesBetweenTwoNodesMoveTheSizeOnce) {
  const Cluster cluster{machine_named("dgx-a100"), 2, with("Tree")};
  const auto lowered = cluster.planner->lower(CollectiveKind::kAllReduce, kLarge, cluster.all(), 1);
  ASSERT_EQ(lowered.choice.algorithm, CollectiveAlgorithm::kTree);
  double out = 0;
  for (const LinkShare& use : lowered.usage) {
    const Link& link = cluster.topology->link(use.link);
    const Device& from = cluster.topology->device(link.from);
    if (link.tier == LinkTier::kHostLink && from.kind == DeviceKind::kNic && from.node == NodeId{0})
      out += use.share;
  }
  EXPECT_NEAR(out, 1.0, kRounding);
}

TEST(Lowering, MulticastMovesSizeAndOneSlice) {
  const Cluster cluster{machine_named("dgx-h100"), 1};
  const auto lowered = cluster.planner->lower(CollectiveKind::kAllReduce, kLarge, cluster.all(), 1);
  ASSERT_EQ(lowered.choice.algorithm, CollectiveAlgorithm::kNvls);
  for (const DeviceId gpu : cluster.all().gpus) {
    EXPECT_NEAR(cluster.at_device(lowered, gpu).out, 1 + 1.0 / 8, kRounding);
    EXPECT_NEAR(cluster.at_device(lowered, gpu).in, 1 + 1.0 / 8, kRounding);
  }
}

// LL sends twice the bytes, LL128 sixteen for fifteen.
TEST(Lowering, ProtocolsAddTheirFlags) {
  for (const auto& [protocol, overhead] : {std::pair{"LL", 2.0}, std::pair{"LL128", 16.0 / 15}}) {
    const Cluster cluster{machine_named("dgx-h100"), 1, with("Ring", protocol)};
    const auto lowered =
        cluster.planner->lower(CollectiveKind::kAllReduce, kLarge, cluster.all(), 1);
    EXPECT_NEAR(cluster.at_device(lowered, cluster.all().gpus[0]).out, 1.75 * overhead, kRounding);
  }
}

// 8 GPUs on 2 nodes: 7/16 S to peers of the node, 8/16 S to the other, 7/8 of that by way of a
// neighbour.
TEST(Lowering, AllToAllRelaysToTheRail) {
  const Cluster cluster{machine_named("dgx-h100"), 2};
  const auto lowered = cluster.planner->lower(CollectiveKind::kAllToAll, kLarge, cluster.all(), 1);
  double nvlink = 0, network = 0;
  for (const LinkShare& use : lowered.usage) {
    const Link& link = cluster.topology->link(use.link);
    if (link.from == cluster.topology->gpu(5) && link.tier == LinkTier::kNvlink)
      nvlink += use.share;
    if (link.tier == LinkTier::kHostLink && link.from == cluster.topology->nics(NodeId{0})[5])
      network += use.share;
  }
  EXPECT_NEAR(nvlink, 7.0 / 16 + 8.0 / 16 * 7 / 8, kRounding);
  EXPECT_NEAR(network, 0.5, kRounding);
}

TEST(Lowering, OneGpuHasNoWork) {
  const Cluster cluster{machine_named("dgx-h100"), 1};
  const auto lowered =
      cluster.planner->lower(CollectiveKind::kAllReduce, kLarge, cluster.some(1), 1);
  EXPECT_TRUE(lowered.usage.empty());
  EXPECT_EQ(lowered.work_bytes, 0);
  EXPECT_EQ(lowered.latency, SimDuration{});
}

TEST(Lowering, BoxesWithoutNvlinkUsePcie) {
  const Cluster cluster{machine_named("pcie-8"), 1};
  const auto lowered = cluster.planner->lower(CollectiveKind::kAllReduce, kLarge, cluster.all(), 1);
  ASSERT_FALSE(lowered.usage.empty());
  for (const LinkShare& use : lowered.usage)
    EXPECT_EQ(cluster.topology->link(use.link).tier, LinkTier::kPcie);
}

// Six links a GPU, each used once each way: the rings of DGX-1V fill the mesh evenly.
TEST(Lowering, MeshRingsShareAllLinks) {
  const Cluster cluster{machine_named("dgx-1v"), 1, rings()};
  const auto lowered = cluster.planner->lower(CollectiveKind::kAllReduce, kLarge, cluster.all(), 1);
  double slowest = 0, bytes = 0;
  for (const LinkShare& use : lowered.usage) {
    const Link& link = cluster.topology->link(use.link);
    EXPECT_EQ(link.tier, LinkTier::kNvlink);
    slowest = std::max(slowest, use.share / link.bandwidth.bytes_per_second());
    bytes += use.share;
  }
  EXPECT_NEAR(bytes, 8 * 1.75, kRounding);
  // At least five of six links' worth of bandwidth: 150 GB/s a GPU.
  EXPECT_LT(slowest, 1.75 / (150e9 * 5 / 6));
}

// Whatever the call: what GPUs send they receive, shares are positive and sorted, and bus bandwidth
// stays below what the GPU's links carry.
RC_GTEST_PROP(Lowering, ConservesBytesAndKeepsBounds, ()) {
  static const Cluster clusters[] = {{machine_named("dgx-a100"), 4},
                                     {machine_named("dgx-h100"), 1},
                                     {machine_named("dgx-h100"), 6},
                                     {machine_named("dgx-b200"), 2}};
  const Cluster& cluster = clusters[*rc::gen::inRange(0, 4)];
  const auto kind = static_cast<CollectiveKind>(*rc::gen::inRange(0, 7));
  const int local = *rc::gen::inRange(1, 9);
  const Bytes size{std::int64_t{1} << *rc::gen::inRange(3, 34)};
  const ProcessGroup group = cluster.some(local, *rc::gen::inRange(0, 9 - local));
  if (group.gpus.size() < 2) return;
  const auto lowered = cluster.planner->lower(kind, size, group, 7);
  RC_ASSERT(!lowered.usage.empty());
  double network_out = 0, network_in = 0;
  for (std::size_t i = 0; i < lowered.usage.size(); ++i) {
    RC_ASSERT(lowered.usage[i].share > 0);
    if (i > 0) RC_ASSERT(lowered.usage[i - 1].link < lowered.usage[i].link);
    const Link& link = cluster.topology->link(lowered.usage[i].link);
    if (link.tier != LinkTier::kHostLink) continue;
    (cluster.topology->device(link.from).kind == DeviceKind::kNic ? network_out : network_in) +=
        lowered.usage[i].share;
  }
  RC_ASSERT(std::fabs(network_out - network_in) < 1e-9);
  double out = 0, in = 0;
  for (const DeviceId gpu : group.gpus) {
    out += cluster.at_device(lowered, gpu).out;
    in += cluster.at_device(lowered, gpu).in;
  }
  RC_ASSERT(std::fabs(out - in) < 1e-9 * std::max(1.0, out));
  const int nodes = cluster.topology->num_nodes();
  const double seconds = cluster.seconds(lowered);
  const int ranks = static_cast<int>(group.gpus.size());
  const double bus = size.as_double() * bus_factor(kind, ranks) / seconds;
  const NcclMachine& machine = cluster.machine;
  const double nvlink = machine.nvlink_links * (machine.compute_capability >= 100 ? 50e9 : 25e9);
  // Multicast halves what a GPU has to send; a tree between two nodes sends S, not 2 (n-1)/n S.
  const double nics =
      machine.nic_gbytes_per_s * 1e9 * local * (kind == CollectiveKind::kAllReduce ? 2 : 1);
  const double across =
      kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kSendRecv ? nics * nodes : nics;
  RC_ASSERT(bus <= (nodes == 1 ? 2 * nvlink : across));
}

// A larger call never takes less time (choices of NCCL may step by a few percent where they
// switch).
RC_GTEST_PROP(Lowering, TimeGrowsWithSizeWithinOneAlgorithm, ()) {
  static const Cluster clusters[] = {{machine_named("dgx-a100"), 2},
                                     {machine_named("dgx-h100"), 1},
                                     {machine_named("dgx-b200"), 2}};
  const Cluster& cluster = clusters[*rc::gen::inRange(0, 3)];
  const auto kind = static_cast<CollectiveKind>(*rc::gen::inRange(0, 7));
  const auto bytes = *rc::gen::inRange<std::int64_t>(64, std::int64_t{1} << 30);
  const auto small = cluster.planner->lower(kind, Bytes{bytes}, cluster.all(), 1);
  const auto large = cluster.planner->lower(kind, Bytes{2 * bytes}, cluster.all(), 1);
  const bool same = small.choice.algorithm == large.choice.algorithm &&
                    small.choice.protocol == large.choice.protocol;
  RC_ASSERT(!same || cluster.seconds(small) <= cluster.seconds(large) * (1 + kRounding));
}

TEST(Lowering, LabelsChangePathsOnly) {
  const Cluster cluster{machine_named("dgx-h100"), 16};
  const auto one = cluster.planner->lower(CollectiveKind::kAllReduce, kLarge, cluster.all(), 1);
  const auto two = cluster.planner->lower(CollectiveKind::kAllReduce, kLarge, cluster.all(), 2);
  EXPECT_EQ(one.choice.estimated_us, two.choice.estimated_us);
  EXPECT_NE(one.usage, two.usage);
  EXPECT_EQ(one.usage,
            cluster.planner->lower(CollectiveKind::kAllReduce, kLarge, cluster.all(), 1).usage);
}

}  // namespace
}  // namespace foretrain
