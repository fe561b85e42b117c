#include "topologies/intra_node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "test_fabrics.h"
#include "topologies/router.h"

namespace foretrain {
namespace {

TopologyRequest one_node(IntraNode interconnect, int gpus, int nics = 0) {
  TopologyRequest request = superpod(1, 2, 1);
  request.node.interconnect = interconnect;
  request.node.gpus = gpus;
  request.node.nics = nics;
  return request;
}

/// Names of the devices on a route, in order of travel.
std::vector<std::string> walk(const Topology& topology, const FlowRoute& route, DeviceId from) {
  std::vector<std::string> names;
  DeviceId at = from;
  for (std::size_t i = 0; i < route.links.size(); ++i) {
    for (const LinkShare& use : route.links) {
      if (topology.link(use.link).from == at) {
        at = topology.link(use.link).to;
        break;
      }
    }
    names.push_back(topology.device(at).name);
  }
  return names;
}

TEST(IntraNode, GpusShareNicsOrHaveSeveral) {
  EXPECT_EQ(nics_of_gpu(5, 8, 8), (std::vector<int>{5}));
  EXPECT_EQ(nics_of_gpu(5, 8, 4), (std::vector<int>{2}));
  EXPECT_EQ(nics_of_gpu(5, 8, 1), (std::vector<int>{0}));
  EXPECT_EQ(nics_of_gpu(5, 8, 32), (std::vector<int>{20, 21, 22, 23}));
  EXPECT_TRUE(nics_of_gpu(5, 8, 0).empty());
  for (const int nics : {1, 3, 5, 8, 12, 16}) {  // every NIC serves a GPU, every GPU has a NIC
    std::map<int, int> uses;
    for (int gpu = 0; gpu < 8; ++gpu) {
      for (const int nic : nics_of_gpu(gpu, 8, nics)) ++uses[nic];
    }
    EXPECT_EQ(uses.size(), static_cast<std::size_t>(nics));
    EXPECT_EQ(uses.rbegin()->first, nics - 1);
  }
}

TEST(IntraNode, NvSwitchIsAStar) {
  const Topology topology = built(one_node(IntraNode::kNvSwitch, 8));
  const Router router{topology, {}};
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) {
      if (i == j) continue;
      const FlowRoute route = router.route(topology.gpu(i), topology.gpu(j), 0);
      EXPECT_EQ(walk(topology, route, topology.gpu(i)),
                (std::vector<std::string>{"node0/nvswitch0", "node0/gpu" + std::to_string(j)}));
      EXPECT_EQ(route.latency, SimDuration{std::chrono::nanoseconds(700)});
      for (const LinkShare& use : route.links) {
        EXPECT_DOUBLE_EQ(topology.link(use.link).bandwidth.bytes_per_second(), 450e9);
      }
    }
  }
}

// Six links a GPU, each 1/6 of its bandwidth; NVIDIA's hybrid cube mesh has 24 links in 16 pairs.
TEST(IntraNode, CubeMeshUsesSixLinksPerGpu) {
  std::vector<double> share(8, 0);
  double links = 0;
  for (const MeshLink& link : nvlink_mesh(8)) {
    share[static_cast<std::size_t>(link.first)] += link.share;
    share[static_cast<std::size_t>(link.second)] += link.share;
    links += 6 * link.share;
  }
  for (const double s : share) EXPECT_NEAR(s, 1.0, 1e-12);
  EXPECT_NEAR(links, 24, 1e-12);
}

TEST(IntraNode, CubeMeshRelaysOnceBetweenPairsWithoutALink) {
  const Topology topology = built(one_node(IntraNode::kNvlinkMesh, 8));
  const Router router{topology, {}};
  int direct = 0;
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) {
      if (i == j) continue;
      const FlowRoute route = router.route(topology.gpu(i), topology.gpu(j), 0);
      EXPECT_LE(route.hops, 2);
      direct += route.hops == 1 ? 1 : 0;
      for (const LinkShare& use : route.links)
        EXPECT_EQ(topology.link(use.link).tier, LinkTier::kNvlink);
    }
  }
  EXPECT_EQ(direct, 32);  // 16 pairs, both ways
}

TEST(IntraNode, FourGpuMeshSplitsBandwidthOverPeers) {
  const Topology topology = built(one_node(IntraNode::kNvlinkMesh, 4));
  int links = 0;
  for (const Link& link : topology.links()) {
    if (link.tier != LinkTier::kNvlink) continue;
    EXPECT_DOUBLE_EQ(link.bandwidth.bytes_per_second(), 150e9);
    ++links;
  }
  EXPECT_EQ(links, 12);
}

TEST(IntraNode, PcieTreeKeepsPairsBelowTheirSwitch) {
  const Topology topology = built(one_node(IntraNode::kPcie, 8));
  const Router router{topology, {}};
  const auto names = [&](int i, int j) {
    return walk(topology, router.route(topology.gpu(i), topology.gpu(j), 0), topology.gpu(i));
  };
  EXPECT_EQ(names(0, 1), (std::vector<std::string>{"node0/pcie0", "node0/gpu1"}));
  EXPECT_EQ(names(0, 2), (std::vector<std::string>{"node0/pcie0", "node0/socket0", "node0/pcie1",
                                                   "node0/gpu2"}));
  EXPECT_EQ(names(0, 7), (std::vector<std::string>{"node0/pcie0", "node0/socket0", "node0/socket1",
                                                   "node0/pcie3", "node0/gpu7"}));
}

TEST(IntraNode, NicsSitBelowTheSwitchOfTheirGpu) {
  TopologyRequest request = superpod(2, 2, 1);
  for (const int nics : {2, 4, 8, 16}) {
    request.node.nics = nics;
    const Topology topology = built(request);
    const Router router{topology, {}};
    for (int gpu = 0; gpu < 8; ++gpu) {
      const FlowRoute route = router.route(topology.gpu(gpu), topology.gpu(8 + gpu), 0);
      for (const LinkShare& use : route.links) {
        const bool at_socket =
            topology.device(topology.link(use.link).to).kind == DeviceKind::kHostBridge;
        EXPECT_TRUE(!at_socket || nics < 4) << nics;
      }
    }
  }
}

TEST(IntraNode, ImpossibleNodesAreErrors) {
  EXPECT_NE(error_of(one_node(IntraNode::kNvlinkMesh, 6)).find("no NVLink mesh of 6"),
            std::string::npos);
  EXPECT_NE(error_of(one_node(IntraNode::kNvSwitch, 0)), "");
  TopologyRequest request = one_node(IntraNode::kNvSwitch, 8);
  request.node.nvlink_bandwidth = DataRate{};
  EXPECT_NE(error_of(request), "");
  EXPECT_EQ(error_of(one_node(IntraNode::kNvSwitch, 1)), "");
}

}  // namespace
}  // namespace foretrain
