// What NCCL's graph search finds on common machines, by rule: channels and speeds of rings, trees and NVLS.
// The rules reproduce NCCL's own plans for NVSwitch machines, DGX-1V and PCIe boxes; others are approximated.
#pragma once

#include "sim/collectives/collective.h"

namespace foretrain {

struct NcclGraph {
  int channels = 0;            // before doubling
  double intra_gbytes_per_s = 0;  // per channel
  double inter_gbytes_per_s = 0;
};

struct NcclGraphs {
  NcclGraph ring, tree, nvls;
  bool plain_tree = false;     // pattern "tree" rather than "balanced tree": 0.85 of its bandwidth
  bool nvlink = true;          // GPU to GPU over NVLink only
  int communicator_channels = 0;
  int nvls_channels = 0;
};

/// Graphs of a group with `local_ranks` GPUs on each of `nodes` nodes.
[[nodiscard]] NcclGraphs nccl_graphs(const NcclMachine& machine, const NcclSettings& settings,
                                     int local_ranks, int nodes);

}  // namespace foretrain
