// From catalog nodes to topologies: every node of the catalog can be built.
#include <gtest/gtest.h>

#include <string>

#include "sim/execution/machine.h"
#include "sim/hardware/catalog.h"
#include "topologies/build_topology.h"

namespace foretrain {
namespace {

std::string catalog_dir() { return std::string{FORETRAIN_SOURCE_DIR} + "/scenarios/catalog"; }

ClusterSpec cluster_of(const std::string& name, int nodes) {
  const Result<HardwareCatalog> catalog = HardwareCatalog::load(catalog_dir());
  EXPECT_TRUE(catalog.has_value());
  ClusterSpec cluster;
  cluster.nodes = nodes;
  cluster.node = *catalog->node(name);
  return cluster;
}

TEST(TopologyRequest, TakesPayloadRatesOfTheNode) {
  const Result<TopologyRequest> request =
      topology_request(cluster_of("dgx-h100", 4), catalog_dir());
  ASSERT_TRUE(request.has_value()) << to_string(request.error());
  EXPECT_EQ(request->nodes, 4);
  EXPECT_EQ(request->node.gpus, 8);
  EXPECT_EQ(request->node.interconnect, IntraNode::kNvSwitch);
  EXPECT_DOUBLE_EQ(request->node.nvlink_bandwidth.bytes_per_second(), 450e9);
  // PCIe 5.0 x16: 63.015 GB/s x 256 / 282 = 57.2 GB/s; NDR InfiniBand: 50 GB/s x 99.37 %.
  EXPECT_NEAR(request->node.pcie_bandwidth.bytes_per_second(), 57.2e9, 0.05e9);
  EXPECT_DOUBLE_EQ(request->node.nic_bandwidth.bytes_per_second(), 50e9 * 0.9937);
  EXPECT_DOUBLE_EQ(request->fabric.link_bandwidth.bytes_per_second(), 50e9);
  EXPECT_DOUBLE_EQ(request->fabric.payload_efficiency, 0.9937);
}

TEST(TopologyRequest, EveryCatalogNodeCanBeBuilt) {
  const Result<HardwareCatalog> catalog = HardwareCatalog::load(catalog_dir());
  ASSERT_TRUE(catalog.has_value());
  for (const std::string& name : catalog->node_names()) {
    for (const int nodes : {1, 2}) {
      ClusterSpec cluster = cluster_of(name, nodes);
      if (cluster.node.nics > 32) cluster.fabric.rails = 4;  // more than a leaf has host ports
      const Result<TopologyRequest> request = topology_request(cluster, catalog_dir());
      ASSERT_TRUE(request.has_value()) << name << ": " << to_string(request.error());
      const Result<Topology> topology = build_topology(*request);
      ASSERT_TRUE(topology.has_value()) << name << ": " << to_string(topology.error());
      EXPECT_EQ(topology->num_gpus(), nodes * cluster.node.gpus);
    }
  }
}

TEST(TopologyRequest, NamesWhatTheCatalogLacks) {
  ClusterSpec cluster = cluster_of("dgx-h100", 1);
  cluster.node.pcie_generation = 9;
  cluster.node.cpu = "risc-v";
  const Result<TopologyRequest> request = topology_request(cluster, catalog_dir());
  ASSERT_FALSE(request.has_value());
  const std::string text = to_string(request.error());
  EXPECT_NE(text.find("has no entry gen9"), std::string::npos) << text;
  EXPECT_NE(text.find("risc-v-gen9"), std::string::npos) << text;
  EXPECT_NE(text.find("known: gen3, gen4, gen5, gen6"), std::string::npos) << text;
  EXPECT_FALSE(topology_request(cluster, "no/such/folder").has_value());
}

}  // namespace
}  // namespace foretrain
