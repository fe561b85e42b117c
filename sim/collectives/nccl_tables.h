// NCCL's constants by release and what was measured, as read from catalog/nccl. Plain data.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/diagnostics.h"

namespace foretrain {

/// Releases 2.since to 2.until.
struct NcclReleases {
  int since = 0;
  int until = 0;
  [[nodiscard]] bool holds(int minor) const { return since <= minor && minor <= until; }
};

/// A row of tuning.csv: three values of one constant.
struct NcclTuningRow {
  std::string table, row;
  NcclReleases releases;
  std::array<double, 3> values{};
};

/// A row of speeds.csv: constants of the graph search.
struct NcclSpeedRow {
  std::string table, row;
  NcclReleases releases;
  int cc_min = 0;
  int cc_max = 0;
  std::vector<double> values;
};

/// A row of graphs.csv: what NCCL finds on a machine for which the general rule does not do. Empty
/// bounds of the shape match all. bw in GB/s per channel.
struct NcclGraphRow {
  NcclReleases releases;
  int cc_min = 0, cc_max = 0;
  std::string link;                // nvswitch | mesh | pcie | single
  int gpus_min = 0, gpus_max = 0;  // of a node, in the group
  int nics_min = 0, nics_max = 0;  // of a node
  double nic_min = 0, nic_max = 0;
  int nodes_min = 0, nodes_max = 0;
  std::string cpu;
  std::string graph;  // ring | tree | nvls
  int channels = 0;
  double bw_intra = 0, bw_inter = 0;
  std::string type_intra, type_inter;
  bool same_channels = false;
  bool plain_tree = false;  // pattern "tree", not "balanced tree"
};

/// A row of efficiency.csv: what an algorithm and protocol reach. See there for the meaning of each
/// column.
struct NcclEfficiencyRow {
  std::string architecture, interconnect, algorithm, protocol, collective;
  int gpus_min = 0, gpus_max = 0;
  double nvlink = 0;  // shares of link bandwidth, 0: no limit
  double pcie = 0;
  double network = 0;
  double channel_gbytes_per_s = 0;
  double launch_us = 0;
  double hop_us = 0;
  double network_hop_us = 0;
};

/// A row of chunks.csv.
struct NcclChunkRow {
  std::string algorithm, protocol, collective;  // the latter empty: all
  double chunk_bytes = 0;                       // of one channel, data
  int slices = 1;
};

struct NcclTables {
  std::vector<NcclTuningRow> tuning;
  std::vector<NcclSpeedRow> speeds;
  std::vector<NcclGraphRow> graphs;
  std::vector<NcclEfficiencyRow> efficiency;
  std::vector<NcclChunkRow> chunks;
  std::array<std::vector<double>, 3> tree_correction;  // by protocol
};

/// The row of tuning.csv that holds for release 2.`minor`; null if there is none.
[[nodiscard]] const NcclTuningRow* find_tuning_row(const NcclTables& tables, int minor,
                                                   std::string_view table, std::string_view row);

/// Reads catalog/nccl; `catalog_dir` is the directory that holds it.
[[nodiscard]] Result<NcclTables> load_nccl_tables(const std::string& catalog_dir);

}  // namespace foretrain
