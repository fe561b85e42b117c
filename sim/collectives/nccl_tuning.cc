#include "sim/collectives/nccl_tuning.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>

namespace foretrain {
namespace {

using Algorithm = CollectiveAlgorithm;
using Protocol = CollectiveProtocol;

class Tuner {
 public:
  Tuner(const NcclMachine& machine, const NcclSettings& settings, const NcclTables& tables,
        const NcclGraphs& graphs, CollectiveKind kind, double bytes, int ranks, int nodes)
      : machine_(machine), settings_(settings), tables_(tables), graphs_(graphs), kind_(kind),
        bytes_(bytes), n_(ranks), nodes_(nodes), local_(std::max(1, ranks / nodes)),
        column_(nodes == 1 ? 0 : (nodes == 2 ? 1 : 2)), minor_(settings.version_minor),
        row_(architecture_row(machine.compute_capability)) {}

  std::vector<TuningCell> cells() const {
    std::vector<TuningCell> cells;
    const Algorithm order[] = {Algorithm::kTree, Algorithm::kRing, Algorithm::kNvls,
                               Algorithm::kNvlsTree, Algorithm::kPat};
    for (const Algorithm algorithm : order) {
      if (!is_rated(algorithm) || !is_allowed("NCCL_ALGO", std::string{to_string(algorithm)})) continue;
      for (const Protocol protocol : {Protocol::kLl, Protocol::kLl128, Protocol::kSimple}) {
        const bool simple_only = algorithm != Algorithm::kTree && algorithm != Algorithm::kRing;
        if (simple_only && protocol != Protocol::kSimple) continue;
        if (!is_allowed("NCCL_PROTO", std::string{to_string(protocol)})) continue;
        if (protocol == Protocol::kLl128 && !ll128_is_safe()) continue;
        add_cell(cells, algorithm, protocol);
      }
    }
    return cells;
  }

 private:
  [[nodiscard]] bool is_gather() const {
    return kind_ == CollectiveKind::kAllGather || kind_ == CollectiveKind::kReduceScatter;
  }
  [[nodiscard]] bool is_rated(Algorithm algorithm) const {
    const bool all_reduce = kind_ == CollectiveKind::kAllReduce;
    switch (algorithm) {
      case Algorithm::kRing: return true;
      case Algorithm::kTree: return all_reduce;
      case Algorithm::kNvls: return (all_reduce || is_gather()) && nodes_ == 1 && graphs_.nvls.channels >= 2;
      case Algorithm::kNvlsTree: return all_reduce && nodes_ > 1 && graphs_.nvls.channels >= 2;
      case Algorithm::kPat: return is_gather() && local_ == 1 && nodes_ > 1 && minor_ >= 23;
      default: return false;
    }
  }
  [[nodiscard]] bool ll128_is_safe() const {
    return graphs_.nvlink && machine_.compute_capability >= 70;
  }
  /// NCCL's list grammar: names separated by commas, `^` first excludes, `function:list` since 2.24.
  [[nodiscard]] bool is_allowed(const char* variable, const std::string& name) const {
    const auto found = settings_.environment.find(variable);
    if (found == settings_.environment.end() || found->second.empty()) {
      return variable != std::string{"NCCL_ALGO"} || name != "NVLS" || nvls_enabled();
    }
    std::string list = found->second;
    if (const std::size_t colon = list.find(':'); colon != std::string::npos) list = list.substr(colon + 1);
    const bool excludes = list.starts_with('^');
    if (excludes) list = list.substr(1);
    std::istringstream words{list};
    std::string word;
    bool listed = false;
    while (std::getline(words, word, ',')) {
      listed = listed || (word.size() == name.size() &&
                          std::equal(word.begin(), word.end(), name.begin(), [](char a, char b) {
                            return std::tolower(static_cast<unsigned char>(a)) ==
                                   std::tolower(static_cast<unsigned char>(b));
                          }));
    }
    return excludes ? !listed : listed;
  }
  [[nodiscard]] bool nvls_enabled() const {
    const auto found = settings_.environment.find("NCCL_NVLS_ENABLE");
    return found == settings_.environment.end() || found->second != "0";
  }
  [[nodiscard]] double table(const char* name, const std::string& key, std::size_t column) const {
    return tables_.value(name, key, minor_, column);
  }
  [[nodiscard]] double hop(Algorithm algorithm, Protocol protocol, const char* link) const {
    return table("hop_latency_us", std::string{to_string(algorithm)} + "/" + link,
                 static_cast<std::size_t>(protocol));
  }
  [[nodiscard]] double base(Algorithm algorithm, Protocol protocol) const {
    return table("base_latency_us", std::string{to_string(algorithm)}, static_cast<std::size_t>(protocol));
  }
  [[nodiscard]] int steps() const {
    if (kind_ == CollectiveKind::kAllReduce) return 2 * (n_ - 1);
    return is_gather() ? n_ - 1 : n_;
  }

  // ---- latency ----

  [[nodiscard]] double net_latency(Algorithm algorithm, Protocol protocol) const {
    return hop(local_ == 1 && minor_ >= 23 ? Algorithm::kTree : algorithm, protocol, "net");
  }
  [[nodiscard]] double latency(Algorithm algorithm, Protocol protocol) const {
    const double intra = hop(algorithm, protocol, graphs_.nvlink ? "nvlink" : "pci");
    const double levels = std::floor(std::log2(static_cast<double>(nodes_)));
    switch (algorithm) {
      case Algorithm::kTree:
        return base(algorithm, protocol) +
               2 * ((local_ - 1) * intra + levels * hop(algorithm, protocol, "net"));
      case Algorithm::kRing: return ring_latency(protocol, intra);
      case Algorithm::kNvls: return intra;
      case Algorithm::kNvlsTree: return intra + 2 * levels * hop(algorithm, protocol, "net");
      case Algorithm::kPat: return base(algorithm, protocol) + levels * hop(algorithm, protocol, "net") / 3.5 + 2.8 * n_;
      default: return 0;
    }
  }
  [[nodiscard]] double ring_latency(Protocol protocol, double intra) const {
    const double start = base(Algorithm::kRing, protocol);
    if (kind_ == CollectiveKind::kBroadcast || kind_ == CollectiveKind::kReduce) {
      return start + (nodes_ > 1 ? hop(Algorithm::kRing, protocol, "net") : intra);
    }
    double overhead = nodes_ > 1 ? (machine_.cpu == "amd" ? 2.0 : 1.0) : 0.0;
    if (protocol == Protocol::kSimple) overhead *= 3;
    const int inter = nodes_ == 1 ? 0 : (kind_ == CollectiveKind::kAllReduce ? 2 : 1) * (nodes_ - 1);
    double result = start + (steps() - inter) * std::max(intra, overhead) +
                    inter * net_latency(Algorithm::kRing, protocol);
    const double per_rank = std::floor(bytes_ / (static_cast<double>(graphs_.communicator_channels) * n_));
    const bool plateau = protocol == Protocol::kSimple && nodes_ > 1 &&
                         kind_ == CollectiveKind::kAllReduce && per_rank >= 64;
    if (plateau) result *= machine_.compute_capability < 80 ? 1.9 : 1.4;
    return result;
  }

  // ---- bandwidth ----

  [[nodiscard]] double bandwidth(Algorithm algorithm, Protocol protocol) const {
    const NcclGraph& graph = algorithm == Algorithm::kTree ? graphs_.tree
                             : algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree
                                 ? graphs_.nvls
                                 : graphs_.ring;
    const double speed = nodes_ <= 2 ? graph.intra_gbytes_per_s : graph.inter_gbytes_per_s;
    const double bus = graph.channels * speed;
    const double ratio = static_cast<double>(n_) / steps();
    switch (algorithm) {
      case Algorithm::kRing: return ring_bandwidth(protocol, graph.channels, bus) * ratio;
      case Algorithm::kTree: return tree_bandwidth(protocol, graph.channels, bus) * 0.5;
      case Algorithm::kNvls: return nvls_bandwidth(graph, false) * (is_gather() ? 1.0 : (minor_ >= 28 ? ratio : 5.0 / 6));
      case Algorithm::kNvlsTree: return nvls_bandwidth(graph, true) * (minor_ >= 28 ? ratio : 5.0 / 6);
      case Algorithm::kPat: return 0.75 * bus;
      default: return 0;
    }
  }
  [[nodiscard]] double ll_max() const {
    if (nodes_ == 1) return table("ll_max", row_, 0);
    return table("ll_max", machine_.cpu == "amd" ? "ampere" : "volta", column_);
  }
  [[nodiscard]] double ring_bandwidth(Protocol protocol, int channels, double bus) const {
    if (protocol == Protocol::kLl) return std::min(ll_max(), 0.5 * bus);
    if (protocol == Protocol::kLl128) {
      return std::min(0.92 * bus, channels * table("ring_ll128_per_channel", row_, column_));
    }
    return bus;
  }
  [[nodiscard]] double tree_bandwidth(Protocol protocol, int channels, double bus) const {
    double result = std::min(0.92 * bus, channels * table("tree_per_channel", row_, column_));
    if (protocol == Protocol::kLl) result = std::min(result / 3.8, ll_max());
    if (protocol == Protocol::kLl128) {
      result = std::min(result * (nodes_ == 1 ? 7.0 / 9 : 120.0 / 128),
                        channels * table("tree_ll128_per_channel", row_, column_));
    }
    return graphs_.plain_tree && nodes_ > 1 ? result * 0.85 : result;
  }
  [[nodiscard]] double nvls_bandwidth(const NcclGraph& graph, bool tree) const {
    const double c = graph.channels;
    if (minor_ < 28) {
      double speed = std::min(graph.intra_gbytes_per_s, graph.inter_gbytes_per_s);
      if (tree && nodes_ > 2) speed = std::min(graph.intra_gbytes_per_s, graph.inter_gbytes_per_s / 2);
      return c * speed;
    }
    double intra = graph.intra_gbytes_per_s * table("nvls_efficiency", row_, column_) * (c - 1) / c;
    intra *= is_gather() ? (local_ - 1.0) / local_ : 2.0;
    double speed = std::min(intra, graph.inter_gbytes_per_s * (tree && nodes_ <= 2 ? 2.0 : 1.0));
    if (!tree && nodes_ == 1) speed = intra;
    if (tree) speed = std::min(speed, table("nvlstree_per_channel", row_, column_));
    return c * speed;
  }
  [[nodiscard]] double tree_factor(Protocol protocol) const {
    const double index = std::log2(std::max(64.0, bytes_) / 64);
    const auto at = static_cast<std::size_t>(index);
    return at >= 23 ? 1.0 : table("tree_correction", std::string{to_string(protocol)}, at);
  }

  void add_cell(std::vector<TuningCell>& cells, Algorithm algorithm, Protocol protocol) const {
    TuningCell cell;
    cell.algorithm = algorithm;
    cell.protocol = protocol;
    cell.gbytes_per_s = bandwidth(algorithm, protocol);
    if (cell.gbytes_per_s <= 0) return;
    if (algorithm == Algorithm::kTree) cell.gbytes_per_s *= tree_factor(protocol);
    cell.latency_us = latency(algorithm, protocol);
    cell.estimated_us = cell.latency_us + bytes_ / (1000 * cell.gbytes_per_s);
    cells.push_back(cell);
  }

  const NcclMachine& machine_;
  const NcclSettings& settings_;
  const NcclTables& tables_;
  const NcclGraphs& graphs_;
  CollectiveKind kind_;
  double bytes_;
  int n_, nodes_, local_;
  std::size_t column_;
  int minor_;
  std::string row_;
};

}  // namespace

const char* architecture_row(int compute_capability) {
  if (compute_capability >= 100) return "blackwell";
  if (compute_capability >= 90) return "hopper";
  if (compute_capability >= 80) return "ampere";
  return "volta";
}

std::vector<TuningCell> tuning_cells(const NcclMachine& machine, const NcclSettings& settings,
                                     const NcclTables& tables, const NcclGraphs& graphs,
                                     CollectiveKind kind, double bytes, int ranks, int nodes) {
  return Tuner{machine, settings, tables, graphs, kind, bytes, ranks, nodes}.cells();
}

}  // namespace foretrain
