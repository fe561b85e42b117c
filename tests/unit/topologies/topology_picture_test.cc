// Pictures: well-formed, small at any size, the same twice, and they say what the fabric is.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test_fabrics.h"
#include "topologies/topology_metrics.h"

namespace foretrain {
namespace {

/// Checks tags and quotes: every element is closed in order.
::testing::AssertionResult well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at + 1)) {
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return ::testing::AssertionFailure() << "open tag at " << at;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string::npos) return ::testing::AssertionFailure() << tag;
    const std::string name = tag.substr(0, tag.find_first_of(" /"));
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return ::testing::AssertionFailure() << tag;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
  }
  if (!open.empty()) return ::testing::AssertionFailure() << "not closed: " << open.back();
  return ::testing::AssertionSuccess();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(TopologyPicture, IsWellFormedSmallAndRepeatable) {
  std::vector<TopologyRequest> requests{
      superpod(1, 2),    superpod(4, 2, 1),   superpod(4, 2),        superpod(128, 2),
      superpod(2048, 3), superpod(256, 2, 1), plain_hosts(16, 3, 4), plain_hosts(65536, 3, 64)};
  requests.push_back(superpod(64, 2));
  requests.back().fabric.rail_only = true;
  requests.push_back(superpod(1, 2));
  requests.back().node.interconnect = IntraNode::kNvlinkMesh;
  requests.push_back(superpod(100, 2));
  requests.back().fabric.kind = FabricKind::kIdeal;
  constexpr std::size_t kMostBytes = 200'000;
  for (const TopologyRequest& request : requests) {
    const Topology topology = built(request);
    const std::string svg = to_svg(topology);
    const std::string dot = to_dot(topology);
    EXPECT_TRUE(well_formed(svg)) << request.nodes;
    EXPECT_FALSE(has(svg, "nan") || has(svg, "inf")) << request.nodes;
    EXPECT_LT(svg.size(), kMostBytes);
    EXPECT_LT(dot.size(), kMostBytes);
    EXPECT_EQ(svg, to_svg(built(request)));
    EXPECT_EQ(dot, to_dot(built(request)));
  }
}

TEST(TopologyPicture, SmallFabricsShowEveryBox) {
  const std::string svg = to_svg(built(superpod(4, 2)));
  for (const char* name : {"leaf0", "leaf7", "spine0", "node3", "unit 0", "4 a line"})
    EXPECT_TRUE(has(svg, name)) << name;
}

TEST(TopologyPicture, LargeFabricsShowPodsWithCounts) {
  const std::string svg = to_svg(built(superpod(2048, 3)));
  for (const char* part : {"256 cores", "32 spines", "32 leaves", "128 nodes", "pod 15", "9 more",
                           "1,024 x 50 GB/s"}) {
    EXPECT_TRUE(has(svg, part)) << part;
  }
  EXPECT_FALSE(has(svg, "oversubscribed"));
}

TEST(TopologyPicture, OversubscribedBoundariesAreNamed) {
  TopologyRequest request = superpod(2048, 3);
  request.fabric.oversubscription = {1, 7};
  EXPECT_TRUE(has(to_svg(built(request)), "7:1 oversubscribed"));
}

}  // namespace
}  // namespace foretrain
