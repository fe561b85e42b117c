#include "sim/collectives/nccl_tables.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "sim/document/csv_rows.h"

namespace foretrain {
namespace {

constexpr int kFirstRelease = 18;
constexpr int kNoLimit = std::numeric_limits<int>::max();
constexpr double kNoLimitRate = std::numeric_limits<double>::max();

/// One file being read: cells as values, problems collected.
class TableReader {
 public:
  TableReader(const std::string& path, const std::vector<std::string>& columns,
              Diagnostics& problems)
      : problems_(problems) {
    Result<CsvRows> read = CsvRows::read(path, columns);
    if (read) {
      table_ = std::move(*read);
    } else {
      problems_.insert(problems_.end(), read.error().begin(), read.error().end());
    }
  }
  [[nodiscard]] const std::vector<CsvRows::Row>& rows() const { return table_.rows(); }
  const std::string& text(const CsvRows::Row& row, const char* column) const {
    return table_.text(row, column);
  }
  double number(const CsvRows::Row& row, const char* column, double fallback = 0) {
    return table_.number(row, column, fallback, problems_);
  }
  int integer(const CsvRows::Row& row, const char* column, int fallback) {
    const double value = table_.number(row, column, fallback, problems_);
    const bool whole = value >= 0 && value <= kNoLimit &&
                       value == static_cast<double>(static_cast<long long>(value));
    if (!whole) problems_.push_back(table_.problem(row, column, "must be a whole number"));
    return whole ? static_cast<int>(value) : fallback;
  }
  std::vector<double> numbers(const CsvRows::Row& row, const char* column) {
    return table_.numbers(row, column, problems_);
  }
  NcclReleases releases(const CsvRows::Row& row) {
    return {integer(row, "since", kFirstRelease), integer(row, "until", kNoLimit)};
  }
  const std::string& choice(const CsvRows::Row& row, const char* column,
                            const std::vector<std::string>& allowed) {
    const std::string& cell = text(row, column);
    if (std::find(allowed.begin(), allowed.end(), cell) == allowed.end()) {
      const std::string nearest = nearest_name(cell, allowed);
      problems_.push_back(table_.problem(row, column, "'" + cell + "' is not known here",
                                         nearest.empty() ? "" : "did you mean '" + nearest + "'?"));
    }
    return cell;
  }

 private:
  CsvRows table_;
  Diagnostics& problems_;
};

void read_tuning(const std::string& dir, NcclTables& tables, Diagnostics& problems) {
  TableReader reader{
      dir + "/tuning.csv", {"table", "row", "since", "until", "a", "b", "c", "source"}, problems};
  for (const auto& row : reader.rows()) {
    reader.choice(row, "table",
                  {"base", "nvlink", "pci", "net", "ll_max", "ring_ll128", "tree_ll128", "tree",
                   "nvls_tree", "nvls_efficiency", "overhead", "p2p_ll", "p2p_batch"});
    tables.tuning.push_back(
        {reader.text(row, "table"),
         reader.text(row, "row"),
         reader.releases(row),
         {reader.number(row, "a"), reader.number(row, "b"), reader.number(row, "c")}});
  }
}

void read_speeds(const std::string& dir, NcclTables& tables, Diagnostics& problems) {
  TableReader reader{dir + "/speeds.csv",
                     {"table", "row", "since", "until", "cc_min", "cc_max", "values", "source"},
                     problems};
  for (const auto& row : reader.rows()) {
    reader.choice(row, "table", {"intra", "inter", "nvlink", "pcie", "socket"});
    tables.speeds.push_back({reader.text(row, "table"), reader.text(row, "row"),
                             reader.releases(row), reader.integer(row, "cc_min", 0),
                             reader.integer(row, "cc_max", kNoLimit),
                             reader.numbers(row, "values")});
  }
}

void read_graphs(const std::string& dir, NcclTables& tables, Diagnostics& problems) {
  TableReader reader{
      dir + "/graphs.csv",
      {"since",      "until",      "cc_min",        "cc_max",     "link",     "gpus_min",
       "gpus_max",   "nics_min",   "nics_max",      "nic_min",    "nic_max",  "nodes_min",
       "nodes_max",  "cpu",        "graph",         "channels",   "bw_intra", "bw_inter",
       "type_intra", "type_inter", "same_channels", "plain_tree", "source"},
      problems};
  for (const auto& row : reader.rows()) {
    NcclGraphRow graph;
    graph.releases = reader.releases(row);
    graph.cc_min = reader.integer(row, "cc_min", 0);
    graph.cc_max = reader.integer(row, "cc_max", kNoLimit);
    graph.link = reader.choice(row, "link", {"nvswitch", "mesh", "pcie", "single"});
    graph.gpus_min = reader.integer(row, "gpus_min", 0);
    graph.gpus_max = reader.integer(row, "gpus_max", kNoLimit);
    graph.nics_min = reader.integer(row, "nics_min", 0);
    graph.nics_max = reader.integer(row, "nics_max", kNoLimit);
    graph.nic_min = reader.number(row, "nic_min", 0);
    graph.nic_max = reader.number(row, "nic_max", kNoLimitRate);
    graph.nodes_min = reader.integer(row, "nodes_min", 1);
    graph.nodes_max = reader.integer(row, "nodes_max", kNoLimit);
    graph.cpu = reader.choice(row, "cpu", {"", "intel", "amd", "arm"});
    graph.graph = reader.choice(row, "graph", {"ring", "tree", "nvls"});
    graph.channels = reader.integer(row, "channels", 1);
    graph.bw_intra = reader.number(row, "bw_intra");
    graph.bw_inter = reader.number(row, "bw_inter");
    graph.type_intra = reader.text(row, "type_intra");
    graph.type_inter = reader.text(row, "type_inter");
    graph.same_channels = reader.integer(row, "same_channels", 0) != 0;
    graph.plain_tree = reader.integer(row, "plain_tree", 0) != 0;
    tables.graphs.push_back(std::move(graph));
  }
}

/// "" stands for all.
std::vector<std::string> collective_names() {
  return {"",          "all_reduce", "all_gather", "reduce_scatter",
          "broadcast", "reduce",     "all_to_all", "send_recv"};
}

void read_efficiency(const std::string& dir, NcclTables& tables, Diagnostics& problems) {
  TableReader reader{dir + "/efficiency.csv",
                     {"architecture", "interconnect", "algorithm", "protocol", "collective",
                      "gpus_min", "gpus_max", "nvlink", "pcie", "network", "channel_gbytes_per_s",
                      "launch_us", "hop_us", "network_hop_us", "source", "date"},
                     problems};
  for (const auto& row : reader.rows()) {
    NcclEfficiencyRow e;
    e.architecture =
        reader.choice(row, "architecture", {"", "volta", "ampere", "ada", "hopper", "blackwell"});
    e.interconnect = reader.choice(row, "interconnect", {"", "nvlink", "pcie", "network"});
    e.algorithm =
        reader.choice(row, "algorithm", {"", "Tree", "Ring", "NVLS", "NVLSTree", "PAT", "P2P"});
    e.protocol = reader.choice(row, "protocol", {"", "LL", "LL128", "Simple"});
    e.collective = reader.choice(row, "collective", collective_names());
    e.gpus_min = reader.integer(row, "gpus_min", 0);
    e.gpus_max = reader.integer(row, "gpus_max", kNoLimit);
    e.nvlink = reader.number(row, "nvlink");
    e.pcie = reader.number(row, "pcie");
    e.network = reader.number(row, "network");
    e.channel_gbytes_per_s = reader.number(row, "channel_gbytes_per_s");
    e.launch_us = reader.number(row, "launch_us");
    e.hop_us = reader.number(row, "hop_us");
    e.network_hop_us = reader.number(row, "network_hop_us");
    tables.efficiency.push_back(std::move(e));
  }
}

void read_chunks(const std::string& dir, NcclTables& tables, Diagnostics& problems) {
  TableReader reader{dir + "/chunks.csv",
                     {"algorithm", "protocol", "collective", "chunk_bytes", "slices", "source"},
                     problems};
  for (const auto& row : reader.rows()) {
    NcclChunkRow chunk;
    chunk.algorithm = reader.choice(row, "algorithm", {"Tree", "Ring", "NVLS", "NVLSTree", "P2P"});
    chunk.protocol = reader.choice(row, "protocol", {"LL", "LL128", "Simple"});
    chunk.collective = reader.choice(row, "collective", collective_names());
    chunk.chunk_bytes = reader.number(row, "chunk_bytes");
    chunk.slices = reader.integer(row, "slices", 1);
    tables.chunks.push_back(std::move(chunk));
  }
}

void read_corrections(const std::string& dir, NcclTables& tables, Diagnostics& problems) {
  TableReader reader{dir + "/corrections.csv", {"protocol", "values", "source"}, problems};
  const std::vector<std::string> protocols{"LL", "LL128", "Simple"};
  for (const auto& row : reader.rows()) {
    const auto found =
        std::find(protocols.begin(), protocols.end(), reader.choice(row, "protocol", protocols));
    if (found == protocols.end()) continue;
    tables.tree_correction[static_cast<std::size_t>(found - protocols.begin())] =
        reader.numbers(row, "values");
  }
}

}  // namespace

Result<NcclTables> load_nccl_tables(const std::string& catalog_dir) {
  const std::string dir = catalog_dir + "/nccl";
  NcclTables tables;
  Diagnostics problems;
  read_tuning(dir, tables, problems);
  read_speeds(dir, tables, problems);
  read_graphs(dir, tables, problems);
  read_efficiency(dir, tables, problems);
  read_chunks(dir, tables, problems);
  read_corrections(dir, tables, problems);
  if (has_errors(problems)) return tl::make_unexpected(std::move(problems));
  return tables;
}

const NcclTuningRow* find_tuning_row(const NcclTables& tables, int minor, std::string_view table,
                                     std::string_view row) {
  for (const NcclTuningRow& candidate : tables.tuning) {
    if (candidate.table == table && candidate.row == row && candidate.releases.holds(minor))
      return &candidate;
  }
  return nullptr;
}

}  // namespace foretrain
