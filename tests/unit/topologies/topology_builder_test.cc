#include "topologies/topology_builder.h"

#include <gtest/gtest.h>

#include <set>

#include "test_fabrics.h"

namespace foretrain {
namespace {

CableSpec cable() {
  CableSpec spec;
  spec.bandwidth = gigabytes_per_second(1);
  return spec;
}

TEST(TopologyBuilder, IdsAreDenseAndInOrderOfCreation) {
  const Topology topology = built(superpod(3, 2));
  for (std::size_t l = 0; l < topology.links().size();
       l += 2) {  // a cable is two links, one after the other
    const Link& there = topology.links()[l];
    const Link& back = topology.links()[l + 1];
    EXPECT_EQ(there.from, back.to);
    EXPECT_EQ(there.to, back.from);
  }
  for (std::size_t d = 0; d < topology.devices().size(); ++d) {
    const DeviceId id{static_cast<std::int32_t>(d)};
    LinkId last;
    for (const LinkId link : topology.links_from(id)) {
      EXPECT_EQ(topology.link(link).from, id);
      EXPECT_LT(last, link);
      last = link;
    }
  }
}

TEST(TopologyBuilder, GpusAndNicsAreNumberedByNode) {
  const Topology topology = built(superpod(3, 2));
  std::set<std::string> names;
  for (const Device& device : topology.devices())
    EXPECT_TRUE(names.insert(device.name).second) << device.name;
  for (int i = 0; i < topology.num_gpus(); ++i) {
    EXPECT_EQ(topology.device(topology.gpu(i)).node, NodeId{i / 8});
    EXPECT_EQ(topology.device(topology.gpu(i)).local_index, i % 8);
  }
  for (int n = 0; n < 3; ++n) {
    const auto nics = topology.nics(NodeId{n});
    ASSERT_EQ(nics.size(), 8U);
    EXPECT_EQ(topology.device(nics[5]).name, "node" + std::to_string(n) + "/nic5");
  }
}

TEST(TopologyBuilderDeathTest, RefusesWhatNoGraphMayHave) {
  const auto dangling = [] {
    TopologyBuilder builder{FabricSpec{}};
    builder.add_device({});
    builder.add_cable(DeviceId{0}, DeviceId{1}, cable());
  };
  EXPECT_DEATH(dangling(), "joins two devices that exist");
  const auto unwired = [] {
    TopologyBuilder builder{FabricSpec{}};
    builder.add_device({});
    builder.add_device({});
    builder.finish_node();
    (void)builder.build();
  };
  EXPECT_DEATH(unwired(), "every device has a link");
  const auto unlike = [] {
    TopologyBuilder builder{FabricSpec{}};
    builder.add_device({});
    builder.finish_node();
    builder.add_device({});
    builder.add_device({});
    builder.finish_node();
  };
  EXPECT_DEATH(unlike(), "all nodes are alike");
}

}  // namespace
}  // namespace foretrain
