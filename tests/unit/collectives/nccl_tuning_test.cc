// NCCL's table of latencies and bandwidths by hand, and graphs by shape.
#include <gtest/gtest.h>

#include <string>

#include "sim/collectives/double_tree.h"
#include "sim/collectives/nccl_graphs.h"
#include "sim/collectives/nccl_tuning.h"
#include "tests/unit/collectives/machines.h"

namespace foretrain {
namespace {

struct Want {
  CollectiveAlgorithm algorithm;
  CollectiveProtocol protocol;
  double latency_us, gbytes_per_s;
};
using enum CollectiveAlgorithm;
using enum CollectiveProtocol;

void expect_cells(const char* machine_name, int minor, CollectiveKind kind, NcclGroup group,
                  const std::vector<Want>& wanted) {
  const NcclMachine machine = machine_named(machine_name);
  NcclSettings settings;
  settings.version_minor = minor;
  const NcclGraphs graphs = nccl_graphs(machine, settings, shipped_tables(), group);
  const auto cells = tuning_cells(machine, settings, shipped_tables(), graphs, group, kind);
  for (const Want& want : wanted) {
    bool found = false;
    for (const TuningCell& cell : cells) {
      if (cell.algorithm != want.algorithm || cell.protocol != want.protocol) continue;
      found = true;
      constexpr double kPrinted = 0.051;  // NCCL prints one decimal
      EXPECT_NEAR(cell.latency_us, want.latency_us, kPrinted)
          << to_string(cell.algorithm) << to_string(cell.protocol);
      EXPECT_NEAR(cell.gbytes_per_s, want.gbytes_per_s, kPrinted)
          << to_string(cell.algorithm) << to_string(cell.protocol);
    }
    EXPECT_TRUE(found) << to_string(want.algorithm) << " " << to_string(want.protocol);
  }
}

// Ring LL on 8 A100: 6.6 + 14 x 0.6 = 15.0 us; min(87.7, 240 / 2) x 8 / 14 = 50.1 GB/s. Others
// alike.
TEST(NcclTuning, TableOfEightA100) {
  expect_cells("dgx-a100", 28, CollectiveKind::kAllReduce, {8, 1, 8},
               {{kRing, kLl, 15.0, 50.1},
                {kRing, kLl128, 40.6, 126.2},
                {kRing, kSimple, 56.0, 137.1},
                {kTree, kLl, 15.2, 29.1},
                {kTree, kLl128, 31.5, 85.9},
                {kTree, kSimple, 64.4, 110.4}});
}

TEST(NcclTuning, TableOfEightH100) {
  const std::vector<Want> rings{{kRing, kLl, 15.0, 80.6},      {kRing, kLl128, 40.6, 189.3},
                                {kRing, kSimple, 56.0, 205.7}, {kTree, kLl, 15.2, 43.6},
                                {kTree, kLl128, 31.5, 128.8},  {kTree, kSimple, 64.4, 165.6}};
  expect_cells("dgx-h100", 27, CollectiveKind::kAllReduce, {8, 1, 8}, rings);
  expect_cells("dgx-h100", 27, CollectiveKind::kAllReduce, {8, 1, 8},
               {{kNvls, kSimple, 25, 266.7}});
  expect_cells("dgx-h100", 28, CollectiveKind::kAllReduce, {8, 1, 8},
               {{kNvls, kSimple, 25, 272.0}});
  expect_cells("dgx-h100", 28, CollectiveKind::kAllGather, {8, 1, 8},
               {{kRing, kLl, 10.8, 161.1},
                {kRing, kLl128, 27.3, 378.5},
                {kRing, kSimple, 32.2, 411.4},
                {kNvls, kSimple, 25, 208.2}});
}

TEST(NcclTuning, NvlsTreeByRelease) {
  expect_cells("dgx-h100", 28, CollectiveKind::kAllReduce, {16, 2, 8},
               {{kNvlsTree, kSimple, 53.0, 246.2}});
  expect_cells("dgx-h100", 30, CollectiveKind::kAllReduce, {16, 2, 8},
               {{kNvlsTree, kSimple, 66.8, 246.2}});
  expect_cells("dgx-h100", 30, CollectiveKind::kAllReduce, {128, 16, 8},
               {{kNvlsTree, kSimple, 192.2, 183.4}});
}

struct Shape {
  const char* machine;
  int minor;
  NcclGroup group;
  int channels;
  double ring_intra, tree_intra, tree_inter;
  int ring, nvls;
  double nvls_intra, nvls_inter;
};

TEST(NcclGraphs, SpeedsOfCommonMachines) {
  const Shape shapes[] = {
      {"dgx-a100", 28, {8, 1, 8}, 24, 20, 20, 20, 12, 0, 0, 0},
      {"dgx-a100", 28, {16, 2, 8}, 16, 24, 30, 24, 8, 0, 0, 0},
      {"dgx-h100", 28, {8, 1, 8}, 24, 30, 30, 30, 12, 8, 40, 60},
      {"dgx-h100", 28, {32, 4, 8}, 16, 48, 48, 48, 8, 8, 40, 48},
      {"dgx-h100", 19, {32, 4, 8}, 16, 45, 48, 48, 8, 8, 40, 48},
      {"dgx-b200", 28, {8, 1, 8}, 32, 45, 40, 40, 16, 8, 80, 90},
      {"dgx-b200", 30, {8, 1, 8}, 32, 45, 45, 45, 16, 8, 80, 90},
      {"dgx-b200", 26, {16, 2, 8}, 32, 48, 48, 48, 8, 8, 48, 48},
      {"dgx-b200", 28, {16, 2, 8}, 16, 48, 96, 48, 8, 8, 48, 48},
      {"dgx-1v", 28, {16, 2, 8}, 8, 12, 20, 12, 4, 0, 0, 0},
      {"h100-1", 28, {4, 4, 1}, 4, 24, 48, 24, 2, 0, 0, 0},
      {"a100-1-100g", 28, {4, 4, 1}, 2, 12, 24, 12, 1, 0, 0, 0},
      {"gb200-tray@nvl72", 28, {72, 1, 72}, 32, 45, 40, 40, 16, 32, 20, 40},
      {"gb200-tray@nvl72", 28, {144, 2, 72}, 16, 24, 48, 24, 8, 32, 6, 6},
  };
  for (const Shape& shape : shapes) {
    NcclSettings settings;
    settings.version_minor = shape.minor;
    const NcclGraphs graphs =
        nccl_graphs(machine_named(shape.machine), settings, shipped_tables(), shape.group);
    const std::string name = std::string{shape.machine} + " x " + std::to_string(shape.group.nodes);
    EXPECT_EQ(graphs.channels, shape.channels) << name;
    EXPECT_EQ(graphs.ring.channels, shape.ring) << name;
    EXPECT_DOUBLE_EQ(graphs.ring.bw_intra, shape.ring_intra) << name;
    EXPECT_DOUBLE_EQ(graphs.tree.bw_intra, shape.tree_intra) << name;
    EXPECT_DOUBLE_EQ(graphs.tree.bw_inter, shape.tree_inter) << name;
    EXPECT_EQ(graphs.nvls.channels, shape.nvls) << name;
    EXPECT_DOUBLE_EQ(graphs.nvls.bw_intra, shape.nvls_intra) << name;
    EXPECT_DOUBLE_EQ(graphs.nvls.bw_inter, shape.nvls_inter) << name;
  }
}

// Both trees span all nodes, and no node has children in both.
TEST(DoubleTree, NoNodeIsInsideBoth) {
  for (int nodes = 2; nodes <= 70; ++nodes) {
    std::vector<int> children[2] = {std::vector<int>(static_cast<std::size_t>(nodes), 0),
                                    std::vector<int>(static_cast<std::size_t>(nodes), 0)};
    for (int tree = 0; tree < 2; ++tree) {
      int roots = 0;
      for (int id = 0; id < nodes; ++id) {
        const int parent = double_tree_parent(id, nodes, tree);
        if (parent < 0) {
          ++roots;
        } else {
          ++children[tree][static_cast<std::size_t>(parent)];
        }
        int at = id, hops = 0;
        while (double_tree_parent(at, nodes, tree) >= 0 && hops <= nodes)
          at = double_tree_parent(at, nodes, tree), ++hops;
        EXPECT_LE(hops, 8) << nodes << " nodes, node " << id;  // log2(70) + 1, rounded up
      }
      EXPECT_EQ(roots, 1);
    }
    for (int id = 0; id < nodes; ++id) {
      const auto at = static_cast<std::size_t>(id);
      EXPECT_LE(children[0][at], 2);
      // Roots have one child; they may be inside the other tree with an odd number of nodes.
      const bool root =
          double_tree_parent(id, nodes, 0) < 0 || double_tree_parent(id, nodes, 1) < 0;
      if (!root) {
        EXPECT_FALSE(children[0][at] > 0 && children[1][at] > 0) << nodes << " " << id;
      }
    }
  }
}

}  // namespace
}  // namespace foretrain
