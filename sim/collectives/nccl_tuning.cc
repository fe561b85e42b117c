#include "sim/collectives/nccl_tuning.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "sim/collectives/nccl_lists.h"

namespace foretrain {
namespace {

using Algorithm = CollectiveAlgorithm;
using Protocol = CollectiveProtocol;

bool is_gather(CollectiveKind kind) {
  return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
}

/// Builds the table of one communicator and collective.
class CellBuilder {
 public:
  CellBuilder(const NcclMachine& machine, const NcclSettings& settings, const NcclTables& tables,
              const NcclGraphs& graphs, const NcclGroup& group, CollectiveKind kind)
      : machine_(machine),
        settings_(settings),
        tables_(tables),
        graphs_(graphs),
        group_(group),
        kind_(kind),
        minor_(settings.version_minor),
        row_(architecture_row(machine.compute_capability)),
        column_(group.nodes == 1   ? 0U
                : group.nodes == 2 ? 1U
                                   : 2U) {}

  [[nodiscard]] std::vector<TuningCell> build() const {
    std::vector<TuningCell> cells;
    const NcclLists lists{settings_, kind_};
    for (const Algorithm algorithm : {Algorithm::kTree, Algorithm::kRing, Algorithm::kNvls,
                                      Algorithm::kNvlsTree, Algorithm::kPat}) {
      if (!is_possible(algorithm) || !lists.allows(algorithm)) continue;
      const bool simple_only = algorithm != Algorithm::kTree && algorithm != Algorithm::kRing;
      for (const Protocol protocol : {Protocol::kLl, Protocol::kLl128, Protocol::kSimple}) {
        if (simple_only && protocol != Protocol::kSimple) continue;
        if (!lists.allows(protocol)) continue;
        if (protocol == Protocol::kLl128 && !lists.names_ll128() && !ll128_is_safe()) continue;
        const double rate = bandwidth(algorithm, protocol);
        if (rate > 0) cells.push_back({algorithm, protocol, latency(algorithm, protocol), rate});
      }
    }
    return cells;
  }

 private:
  [[nodiscard]] bool is_possible(Algorithm algorithm) const {
    const bool all_reduce = kind_ == CollectiveKind::kAllReduce;
    switch (algorithm) {
      case Algorithm::kRing: return true;
      case Algorithm::kTree: return all_reduce;
      case Algorithm::kNvls:
        if (graphs_.nvls.channels < least_heads() || group_.nodes > 1) return false;
        return all_reduce ||
               (is_gather(kind_) && minor_ >= 19 && group_.local_ranks <= (minor_ <= 19 ? 8 : 32));
      case Algorithm::kNvlsTree:
        return all_reduce && group_.nodes > 1 && graphs_.nvls.channels >= least_heads();
      case Algorithm::kPat:
        return is_gather(kind_) && group_.local_ranks == 1 && minor_ >= 23 && group_.nodes > 1 &&
               nccl_integer(settings_, "NCCL_PAT_ENABLE").value_or(2) != 0;
      default: return false;
    }
  }
  [[nodiscard]] int least_heads() const { return minor_ >= 28 ? 2 : 1; }
  /// Ordered 128-byte stores reach the peer only over NVLink and a NIC close to the GPU.
  [[nodiscard]] bool ll128_is_safe() const {
    const int cc = machine_.compute_capability;
    if (cc < 70 || graphs_.ring.intra > NcclPath::kNvlink) return false;
    if (minor_ <= 26 && cc != 70 && cc != 80 && cc != 90 &&
        !(minor_ >= 25 && (cc == 100 || cc == 120)))
      return false;
    if (group_.nodes == 1) return true;
    return graphs_.ring.inter <= (cc >= 90 ? NcclPath::kViaPeer : NcclPath::kPcieSwitch);
  }

  [[nodiscard]] const NcclTuningRow* find(const char* table, std::string_view row) const {
    return find_tuning_row(tables_, minor_, table, row);
  }
  [[nodiscard]] double value(const char* table, std::string_view row, std::size_t column) const {
    const NcclTuningRow* found = find(table, row);
    return found == nullptr ? 0.0 : found->values[column];
  }
  /// Newer GPUs counted as Hopper before they had rows of their own.
  [[nodiscard]] double by_architecture(const char* table, std::size_t column) const {
    if (find(table, row_) == nullptr && std::string_view{row_} == "blackwell")
      return value(table, "hopper", column);
    return value(table, row_, column);
  }

  // ---- latency ----

  [[nodiscard]] double hop(const char* link, Algorithm algorithm, Protocol protocol) const {
    return value(link, to_string(algorithm), static_cast<std::size_t>(protocol));
  }
  [[nodiscard]] double intra_hop(Algorithm algorithm, Protocol protocol) const {
    const NcclGraph& graph = graph_of(algorithm);
    return hop(graph.intra == NcclPath::kNvlink ? "nvlink" : "pci", algorithm, protocol);
  }
  [[nodiscard]] double network_hop(Algorithm algorithm, Protocol protocol) const {
    const bool tree_row = algorithm == Algorithm::kRing && group_.local_ranks == 1 && minor_ >= 23;
    return hop("net", tree_row ? Algorithm::kTree : algorithm, protocol);
  }
  [[nodiscard]] double latency(Algorithm algorithm, Protocol protocol) const {
    const double base = value("base", to_string(algorithm), static_cast<std::size_t>(protocol));
    const double intra = intra_hop(algorithm, protocol);
    const double network = network_hop(algorithm, protocol);
    const double levels = std::floor(std::log2(static_cast<double>(group_.nodes)));
    switch (algorithm) {
      case Algorithm::kTree:
        return base + 2 * ((group_.local_ranks - 1) * intra + levels * network);
      case Algorithm::kRing: return base + ring_latency(protocol, intra, network);
      case Algorithm::kNvls: return intra + (group_.nodes > 1 ? network : 0);
      case Algorithm::kNvlsTree:
        return intra + 2 * (minor_ == 18 ? group_.nodes - 1 : levels) * network;
      case Algorithm::kPat: return base + levels * network / 3.5 + 2.8 * group_.ranks;
      default: return base;
    }
  }
  [[nodiscard]] double ring_latency(Protocol protocol, double intra, double network) const {
    if (kind_ == CollectiveKind::kBroadcast || kind_ == CollectiveKind::kReduce) {
      const bool same = graphs_.ring.same_channels;
      const Algorithm row =
          !same && protocol == Protocol::kSimple ? Algorithm::kTree : Algorithm::kRing;
      const double step = group_.nodes > 1                          ? hop("net", row, protocol)
                          : graphs_.ring.intra == NcclPath::kNvlink ? hop("nvlink", row, protocol)
                                                                    : hop("pci", row, protocol);
      return same ? step : group_.ranks * step;
    }
    const bool all_reduce = kind_ == CollectiveKind::kAllReduce;
    double overhead = 0;
    int between = 0;
    if (group_.nodes > 1) {
      overhead = value("overhead", machine_.cpu, 0);
      if (const auto set = nccl_integer(settings_, "NCCL_NET_OVERHEAD"); set && *set >= 0)
        overhead = *set / 1000.0;
      if (protocol == Protocol::kSimple) overhead *= 3;
      between = !all_reduce    ? group_.nodes - 1
                : minor_ <= 22 ? 2 * group_.nodes
                               : 2 * (group_.nodes - 1);
    }
    const int steps = (all_reduce ? 2 : 1) * (group_.ranks - 1);
    return (steps - between) * std::max(intra, overhead) + between * network;
  }

  // ---- bandwidth ----

  [[nodiscard]] const NcclGraph& graph_of(Algorithm algorithm) const {
    if (algorithm == Algorithm::kTree || algorithm == Algorithm::kPat) return graphs_.tree;
    if (algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree) return graphs_.nvls;
    return graphs_.ring;
  }
  /// From bus to algorithm bandwidth.
  [[nodiscard]] double ring_ratio() const {
    const double n = group_.ranks;
    if (kind_ == CollectiveKind::kAllReduce) return n / (2 * (n - 1));
    return is_gather(kind_) ? n / (n - 1) : 1.0;
  }
  [[nodiscard]] double bandwidth(Algorithm algorithm, Protocol protocol) const {
    const NcclGraph& graph = graph_of(algorithm);
    const double bus = graph.channels * (group_.nodes <= 2 ? graph.bw_intra : graph.bw_inter);
    switch (algorithm) {
      case Algorithm::kRing: return ring_ratio() * ring_bus(protocol, graph.channels, bus);
      case Algorithm::kTree: return 0.5 * tree_bus(protocol, graph.channels, bus);
      case Algorithm::kNvls:
      case Algorithm::kNvlsTree: return nvls_bandwidth(algorithm, graph);
      case Algorithm::kPat: return bus * (minor_ == 23 ? 0.85 : 0.75);
      default: return 0;
    }
  }
  [[nodiscard]] double ll_max() const {
    if (group_.nodes == 1) return by_architecture("ll_max", 0);
    return value("ll_max", machine_.cpu == "amd" ? "ampere" : "volta", column_);
  }
  [[nodiscard]] double ring_bus(Protocol protocol, int channels, double bus) const {
    if (protocol == Protocol::kLl) {
      const bool reduces = kind_ == CollectiveKind::kAllReduce || kind_ == CollectiveKind::kReduce;
      const double factor = minor_ >= 21 ? 0.5 : group_.nodes > 1 || reduces ? 0.25 : 1.0 / 3;
      return std::min(ll_max(), bus * factor);
    }
    if (protocol == Protocol::kLl128) {
      const double factor = minor_ <= 22 && group_.local_ranks < 2 ? 0.7 : 0.92;
      return std::min(factor * bus, channels * by_architecture("ring_ll128", column_));
    }
    return bus;
  }
  [[nodiscard]] double tree_bus(Protocol protocol, int channels, double bus) const {
    double result = std::min(0.92 * bus, channels * by_architecture("tree", column_));
    if (protocol == Protocol::kLl) result = std::min(result / 3.8, ll_max());
    if (protocol == Protocol::kLl128) {
      result = std::min(result * (group_.nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                        channels * by_architecture("tree_ll128", column_));
    }
    return graphs_.plain_tree ? 0.85 * result : result;
  }
  [[nodiscard]] double nvls_bandwidth(Algorithm algorithm, const NcclGraph& graph) const {
    const bool tree = algorithm == Algorithm::kNvlsTree;
    const bool gather = is_gather(kind_);
    const double c = graph.channels;
    const double others = (group_.local_ranks - 1.0) / group_.local_ranks;
    if (minor_ >= 28) {
      const double intra = graph.bw_intra * by_architecture("nvls_efficiency", 0) * (c - 1) / c *
                           (gather ? others : 2.0);
      double speed = std::min(intra, graph.bw_inter * (tree && group_.nodes <= 2 ? 2.0 : 1.0));
      if (tree) speed = std::min(speed, by_architecture("nvls_tree", column_));
      return c * speed * (gather ? 1.0 : ring_ratio());
    }
    if (minor_ == 18) {
      const double bus = c * (group_.nodes <= 2 ? graph.bw_intra : graph.bw_inter);
      return bus * (tree ? 0.7 * group_.nodes / (2.0 * (group_.nodes - 1)) : 5.0 / 6);
    }
    double speed =
        std::min(graph.bw_intra, tree && group_.nodes > 2 ? graph.bw_inter / 2 : graph.bw_inter);
    if (minor_ == 27 && gather) speed = std::min(graph.bw_intra * others, 0.9 * graph.bw_inter);
    return c * speed * (gather && minor_ >= 23 ? 1.0 : 5.0 / 6);
  }

  const NcclMachine& machine_;
  const NcclSettings& settings_;
  const NcclTables& tables_;
  const NcclGraphs& graphs_;
  const NcclGroup group_;
  const CollectiveKind kind_;
  const int minor_;
  const char* row_;
  const std::size_t column_;
};

/// Index of NCCL's table of tree factors, if the size lies in it.
std::optional<std::size_t> correction_index(double bytes, std::size_t entries) {
  const auto lines = static_cast<std::uint64_t>(bytes) >> 6U;
  if (lines == 0) return std::nullopt;
  std::size_t index = 0;
  while ((lines >> (index + 1)) != 0) ++index;
  if (index >= entries) return std::nullopt;
  return index;
}

}  // namespace

const char* architecture_row(int compute_capability) {
  if (compute_capability >= 100) return "blackwell";
  if (compute_capability >= 90) return "hopper";
  if (compute_capability >= 80) return "ampere";
  return "volta";
}

std::vector<TuningCell> tuning_cells(const NcclMachine& machine, const NcclSettings& settings,
                                     const NcclTables& tables, const NcclGraphs& graphs,
                                     const NcclGroup& group, CollectiveKind kind) {
  return CellBuilder{machine, settings, tables, graphs, group, kind}.build();
}

double estimate_us(const TuningCell& cell, const NcclMachine& machine, const NcclSettings& settings,
                   const NcclTables& tables, const NcclGraphs& graphs, const NcclGroup& group,
                   CollectiveKind kind, double bytes) {
  double latency = cell.latency_us;
  double rate = cell.gbytes_per_s;
  const bool all_reduce = kind == CollectiveKind::kAllReduce;
  const bool corrected = cell.algorithm == Algorithm::kTree ||
                         (cell.algorithm == Algorithm::kNvlsTree && settings.version_minor >= 29 &&
                          machine.compute_capability >= 100 && machine.cpu != "arm");
  if (all_reduce && corrected) {
    const auto& factors = tables.tree_correction[static_cast<std::size_t>(cell.protocol)];
    if (const auto index = correction_index(bytes, factors.size())) rate *= factors[*index];
  }
  if (all_reduce && cell.algorithm == Algorithm::kRing && cell.protocol == Protocol::kSimple &&
      group.nodes > 1) {
    const double pieces = std::floor(bytes / (1.0 * graphs.channels * group.ranks));
    if (pieces >= 64) latency *= machine.compute_capability < 80 ? 1.9 : 1.4;
  }
  return latency + bytes / (1000 * rate);
}

CallChannels call_channels(const TuningCell& cell, const NcclSettings& settings,
                           const NcclGraphs& graphs, const NcclGroup& group, CollectiveKind kind,
                           double bytes) {
  CallChannels result;
  const bool multicast =
      cell.algorithm == Algorithm::kNvls || cell.algorithm == Algorithm::kNvlsTree;
  result.planned = multicast ? graphs.nvls_channels : graphs.call_channels;
  const int most_threads =
      std::clamp(nccl_integer(settings, "NCCL_NTHREADS").value_or(512), 64, 512);
  double threads = most_threads;
  double threshold = 64;
  if (cell.protocol == Protocol::kLl)
    threshold = cell.algorithm == Algorithm::kRing ? 8.0 * group.ranks : 8;
  if (cell.protocol == Protocol::kLl128) {
    threads = std::clamp(nccl_integer(settings, "NCCL_LL128_NTHREADS").value_or(640), 160, 640);
    threshold = 8;
  }
  if (cell.protocol == Protocol::kSimple && graphs.ring.bw_intra * graphs.ring.channels <= 12)
    threads = std::min(threads, 256.0);
  if (!multicast && cell.algorithm != Algorithm::kPat) {
    while (result.planned >= 2 && bytes < result.planned * threads * threshold) --result.planned;
  }
  // From 2.22 on a channel gets at least so much traffic.
  result.used = result.planned;
  const int minor = settings.version_minor;
  if (minor < 22) return result;
  const double least = minor == 22 ? 512 : minor <= 28 ? 16384 : 32768;
  double traffic = bytes * (kind == CollectiveKind::kAllReduce ? 2 : 1);
  if (cell.protocol == Protocol::kLl && minor >= 26) traffic *= 4;
  // Bounded before the cast: a petabyte fills more channels than an int counts.
  result.used = static_cast<int>(std::clamp<double>(std::ceil(traffic / least), 1, result.planned));
  return result;
}

}  // namespace foretrain
