// What NCCL's graph search finds on common machines, by rule: channels and speeds of rings, trees
// and NVLS.
#pragma once

#include "sim/collectives/collective.h"

namespace foretrain {

/// Kind of path between the ends of a channel's hop, closest first.
enum class NcclPath { kLocal, kNvlink, kPcieSwitch, kViaPeer, kHost };

struct NcclGraph {
  int channels = 0;     // before doubling; 0: the algorithm is not possible
  double bw_intra = 0;  // GB/s per channel, GPU to GPU
  double bw_inter = 0;  // GB/s per channel, GPU to NIC
  NcclPath intra = NcclPath::kNvlink;
  NcclPath inter = NcclPath::kPcieSwitch;
  bool same_channels = false;
};

/// A group as NCCL's planner sees it: `local_ranks` GPUs on the fullest of `nodes` nodes, `ranks`
/// in all.
struct NcclGroup {
  int ranks = 1;
  int nodes = 1;
  int local_ranks = 1;
};

struct NcclGraphs {
  NcclGraph ring, tree, nvls;
  bool plain_tree = false;  // pattern "tree", not "balanced tree"
  int channels = 0;         // of the communicator
  int call_channels = 0;    // that a call chooses from (differs in 2.20 and 2.21)
  int nvls_channels = 0;
  int p2p_channels = 0;
  int p2p_channels_per_peer = 0;
};

/// An integer variable of the scenario, if it is set and a number.
[[nodiscard]] std::optional<int> nccl_integer(const NcclSettings& settings, const char* name);

/// Graphs of a group: the row of graphs.csv that matches, else the general rule (README.md).
[[nodiscard]] NcclGraphs nccl_graphs(const NcclMachine& machine, const NcclSettings& settings,
                                     const NcclTables& tables, const NcclGroup& group);

}  // namespace foretrain
