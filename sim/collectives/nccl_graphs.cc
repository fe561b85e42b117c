#include "sim/collectives/nccl_graphs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "sim/core/contracts.h"

namespace foretrain {
namespace {

/// Sums of speeds that fill a link exactly must count as fitting.
constexpr double kRounding = 1e-6;

int power_of_two_at_least(int value) {
  int power = 1;
  while (power < value) power *= 2;
  return power;
}

/// One search: constants of the release and of the machine, then graphs by rule.
class GraphRules {
 public:
  GraphRules(const NcclMachine& machine, const NcclSettings& settings, const NcclTables& tables,
             const NcclGroup& group)
      : machine_(machine), settings_(settings), tables_(tables), group_(group) {
    minor_ = settings.version_minor;
    cc_ = machine.compute_capability;
    most_channels_ = minor_ >= 25 ? 64 : 32;
    const std::string generation = std::to_string(std::clamp(machine.pcie_generation, 3, 6));
    pcie_ = constant("pcie", generation, 12);
    socket_ = constant("socket", machine.cpu + "-" + generation, 10);
    if (machine.nvlink) nvlink_ = machine.nvlink_links * constant("nvlink", "", 20);
    const int gpus = std::max(1, machine.gpus_per_node);
    nics_ = std::max(1, machine.nics_per_node * std::min(group.local_ranks, gpus) / gpus);
    link_ = group.local_ranks == 1            ? "single"
            : !machine.nvlink || nvlink_ <= 0 ? "pcie"
            : machine.nvswitch                ? "nvswitch"
                                              : "mesh";
    const char* lists = group.nodes > 1 ? "inter" : "intra";
    for (const NcclSpeedRow& row : tables.speeds) {
      if (row.table == lists && holds(row)) speeds_ = row.values;
    }
    FORETRAIN_EXPECTS(!speeds_.empty(), "the tables hold speeds for every GPU and release");
  }

  NcclGraphs build() {
    const NcclGraph first = first_ring();
    graphs_.ring = first;
    duplicate(graphs_.ring, most_channels_ / 2);
    graphs_.tree = tree(first);
    graphs_.plain_tree = plain_tree();
    graphs_.nvls = nvls();
    apply_rows();
    count_channels();
    return graphs_;
  }

 private:
  [[nodiscard]] bool holds(const NcclSpeedRow& row) const {
    return row.releases.holds(minor_) && row.cc_min <= cc_ && cc_ <= row.cc_max;
  }
  [[nodiscard]] double constant(const std::string& table, const std::string& name,
                                double fallback) const {
    for (const NcclSpeedRow& row : tables_.speeds) {
      if (row.table == table && row.row == name && holds(row) && !row.values.empty())
        return row.values.front();
    }
    return fallback;
  }
  [[nodiscard]] double speed_within(double limit) const {
    for (const double speed : speeds_) {
      if (speed <= limit * (1 + kRounding)) return speed;
    }
    return speeds_.back();
  }

  // ---- ring ----

  [[nodiscard]] NcclGraph first_ring() const {
    NcclGraph ring;
    ring.same_channels = true;
    if (group_.nodes > 1) return ring_between_nodes();
    if (group_.local_ranks == 1) {
      ring.channels = most_channels_ / 2;
      ring.bw_intra = ring.bw_inter = speeds_.front();
      ring.intra = NcclPath::kLocal;
      return ring;
    }
    if (link_ == "pcie") {
      ring.intra = NcclPath::kHost;
      ring.channels = 1;
      ring.bw_intra = ring.bw_inter = speed_within(std::min(pcie_, socket_limit()));
      return ring;
    }
    // The largest product of channels and speed that the GPU's links hold; the faster of equals.
    for (const double speed : speeds_) {
      if (ring.channels > 0 && speed < 0.49 * ring.bw_intra) break;
      const int fit = std::min(most_channels_ / 2, static_cast<int>(nvlink_ / speed + kRounding));
      if (fit * speed > ring.channels * ring.bw_intra * (1 + kRounding)) {
        ring.channels = fit;
        ring.bw_intra = ring.bw_inter = speed;
      }
    }
    ring.same_channels = group_.local_ranks <= 8;
    return ring;
  }

  [[nodiscard]] NcclGraph ring_between_nodes() const {
    NcclGraph ring;
    const double nic = std::min(machine_.nic_gbytes_per_s, pcie_);
    ring.channels = std::min(nics_, most_channels_ / 2);
    ring.bw_intra = ring.bw_inter = speed_within(nic);
    ring.same_channels = ring.channels == 1;
    // Grace: the NIC is reached over C2C, which counts as close from 2.27 on.
    if (machine_.cpu == "arm" && cc_ >= 90)
      ring.inter = minor_ >= 27 ? NcclPath::kViaPeer : NcclPath::kHost;
    if (group_.local_ranks == 1) {
      ring.intra = NcclPath::kLocal;
      if (machine_.nic_gbytes_per_s < 5)
        ring.inter = NcclPath::kHost;  // a socket behind the host bridge
      return ring;
    }
    if (link_ == "pcie") {
      ring.intra = ring.inter = NcclPath::kHost;
      ring.channels = 1;
      ring.bw_intra = ring.bw_inter = speed_within(std::min(nic, socket_limit()));
      ring.same_channels = true;
      return ring;
    }
    if (nics_ * 2 < group_.local_ranks) ring.inter = NcclPath::kViaPeer;
    return ring;
  }

  /// More than one PCIe switch means two sockets (topologies/intra_node.cc).
  [[nodiscard]] double socket_limit() const { return group_.local_ranks > 2 ? socket_ : pcie_; }

  /// Fast channels become twice as many at half the speed.
  void duplicate(NcclGraph& graph, int most) const {
    if (graph.channels == 0 || graph.bw_intra < 25) return;
    if (cc_ > 80 && graph.bw_intra < 50 && graph.channels > 4) return;
    const int doubled = std::min(most, 2 * graph.channels);
    if (doubled <= graph.channels) return;
    const int divisor = (doubled + graph.channels - 1) / graph.channels;
    graph.channels = doubled;
    graph.bw_intra /= divisor;
    graph.bw_inter /= divisor;
  }

  // ---- tree ----

  /// As many channels as the ring; faster between GPUs than to the NIC where the links allow it.
  [[nodiscard]] NcclGraph tree(const NcclGraph& first) const {
    NcclGraph tree = graphs_.ring;
    if (group_.nodes == 1) {
      if (link_ == "nvswitch" || link_ == "mesh") {
        tree.bw_intra = tree.bw_inter = speed_within(nvlink_ / tree.channels);
      }
      return tree;
    }
    tree = first;
    duplicate(tree, graphs_.ring.channels);
    while (tree.bw_intra < 2 * tree.bw_inter) {
      const auto next = std::find_if(speeds_.rbegin(), speeds_.rend(), [&](double speed) {
        return speed > tree.bw_intra * (1 + kRounding);
      });
      if (next == speeds_.rend() || !tree_fits(tree.channels, *next)) break;
      tree.bw_intra = *next;
    }
    return tree;
  }
  [[nodiscard]] bool tree_fits(int channels, double speed) const {
    if (link_ == "single") return true;
    if (link_ == "pcie")
      return speed * channels <= std::min(pcie_, socket_limit()) * (1 + kRounding);
    // A chain's last GPU sends nothing on; with a NIC for each GPU the chains end on different
    // ones.
    const double sending =
        nics_ >= group_.local_ranks && channels % group_.local_ranks == 0 && channels >= nics_
            ? channels * (1.0 - 1.0 / group_.local_ranks)
            : channels;
    return speed * sending <= nvlink_ * (1 + kRounding);
  }
  /// Machines with one GPU per PCIe switch end with plain trees; pairs of GPUs keep balanced ones.
  [[nodiscard]] bool plain_tree() const {
    if (group_.local_ranks == 1) return true;
    if (cc_ < 90 || group_.nodes == 1) return false;
    const bool pairs = machine_.nics_per_node == machine_.gpus_per_node &&
                       (machine_.cpu != "intel" || machine_.nic_gbytes_per_s <= 25);
    return !pairs;
  }

  // ---- NVLS ----

  /// A head's link carries its own slice twice and each other head's once: (heads + 1) s <=
  /// bandwidth.
  [[nodiscard]] NcclGraph nvls() const {
    NcclGraph graph;
    if (!machine_.multicast || link_ != "nvswitch" || cc_ < 90) return graph;
    if (nccl_integer(settings_, "NCCL_NVLS_ENABLE").value_or(2) == 0) return graph;
    const int arity = minor_ <= 19 ? 8 : 32;
    graph.channels = std::min(
        arity, group_.nodes > 1 ? std::min(nics_, group_.local_ranks) : group_.local_ranks);
    double limit = nvlink_ / (graph.channels + 1);
    const double nic = std::min(machine_.nic_gbytes_per_s, pcie_);
    if (group_.nodes > 1) limit = std::min(limit, nic);
    graph.bw_intra = graph.bw_inter = speed_within(limit);
    if (minor_ == 18) return graph;
    while (graph.bw_inter < 2 * graph.bw_intra) {
      const auto next = std::find_if(speeds_.rbegin(), speeds_.rend(), [&](double speed) {
        return speed > graph.bw_inter * (1 + kRounding);
      });
      if (next == speeds_.rend() || (group_.nodes > 1 && *next > nic)) break;
      graph.bw_inter = *next;
    }
    return graph;
  }

  // ---- exceptions and counts ----

  [[nodiscard]] bool matches(const NcclGraphRow& row, int minor) const {
    const auto within = [](auto value, auto low, auto high) {
      return low <= value && value <= high;
    };
    return row.releases.holds(minor) && within(cc_, row.cc_min, row.cc_max) && row.link == link_ &&
           within(group_.local_ranks, row.gpus_min, row.gpus_max) &&
           within(machine_.nics_per_node, row.nics_min, row.nics_max) &&
           within(machine_.nic_gbytes_per_s, row.nic_min, row.nic_max) &&
           within(group_.nodes, row.nodes_min, row.nodes_max) &&
           (row.cpu.empty() || row.cpu == machine_.cpu);
  }
  static NcclPath path(const std::string& name) {
    if (name == "LOC") return NcclPath::kLocal;
    if (name == "NVL") return NcclPath::kNvlink;
    if (name == "PIX" || name == "PXB") return NcclPath::kPcieSwitch;
    if (name == "PXN" || name == "P2C") return NcclPath::kViaPeer;
    return NcclPath::kHost;
  }
  void apply_rows() {
    // Without crossing between NICs the search finds what releases before it could cross found.
    const bool cross = nccl_integer(settings_, "NCCL_CROSS_NIC").value_or(2) != 0;
    for (const NcclGraphRow& row : tables_.graphs) {
      const bool own = matches(row, minor_);
      const bool old = !cross && row.graph == "ring" && minor_ > 19 && row.releases.until == 19 &&
                       matches(row, 19);
      if (!own && !old) continue;
      NcclGraph& graph = row.graph == "ring"   ? graphs_.ring
                         : row.graph == "tree" ? graphs_.tree
                                               : graphs_.nvls;
      if (row.graph == "nvls" && graph.channels == 0) continue;
      graph = {row.channels,         row.bw_intra,         row.bw_inter,
               path(row.type_intra), path(row.type_inter), row.same_channels};
      if (row.graph == "tree") graphs_.plain_tree = row.plain_tree;
    }
  }

  void count_channels() {
    int channels = std::min(most_channels_, 2 * graphs_.ring.channels);
    if (group_.nodes > 1 && graphs_.ring.bw_intra > 45) {
      const bool rule = minor_ <= 19   ? cc_ == 90 && 2 * channels <= most_channels_
                        : minor_ <= 24 ? cc_ == 90 && channels < 16
                                       : cc_ >= 90 && channels < 16;
      if (rule) channels *= 2;
    }
    const int least_ctas = nccl_integer(settings_, "NCCL_MIN_CTAS").value_or(1);
    const int most_ctas = nccl_integer(settings_, "NCCL_MAX_CTAS").value_or(most_channels_);
    const auto bound = [&](const char* name, const char* alias, int fallback) {
      const auto value = nccl_integer(settings_, name);
      return value ? *value : nccl_integer(settings_, alias).value_or(fallback);
    };
    const int most = std::min({bound("NCCL_MAX_NCHANNELS", "NCCL_MAX_NRINGS", most_channels_),
                               most_ctas, most_channels_});
    const int least = std::min(
        std::max(bound("NCCL_MIN_NCHANNELS", "NCCL_MIN_NRINGS", 1), least_ctas), most_channels_);
    channels = std::max(std::min(channels, std::max(1, most)), least);
    graphs_.call_channels = channels;
    if (graphs_.nvls.channels > 0) {
      graphs_.nvls_channels = std::clamp(nvls_channels(), std::max(1, least_ctas),
                                         std::max({1, least_ctas, most_ctas}));
      if (minor_ >= 20 && minor_ <= 27) channels = std::max(channels, graphs_.nvls_channels);
    }
    graphs_.channels = channels;
    if (minor_ >= 22) graphs_.call_channels = channels;
    graphs_.p2p_channels =
        std::clamp(power_of_two_at_least(channels),
                   nccl_integer(settings_, "NCCL_MIN_P2P_NCHANNELS").value_or(1),
                   std::max(1, nccl_integer(settings_, "NCCL_MAX_P2P_NCHANNELS").value_or(64)));
    graphs_.p2p_channels_per_peer = std::min(channels_per_peer(), graphs_.p2p_channels);
  }
  [[nodiscard]] int nvls_channels() const {
    if (const auto set = nccl_integer(settings_, "NCCL_NVLS_NCHANNELS"); set && *set > 0)
      return *set;
    if (cc_ < 100) return 16;
    if (minor_ <= 26) return 32;
    if (group_.nodes == 1) return 24;
    return minor_ >= 29 && group_.nodes > 2 ? 24 : 32;
  }
  [[nodiscard]] int channels_per_peer() const {
    const int total = graphs_.p2p_channels;
    if (group_.nodes == 1) {
      if (link_ == "nvswitch")
        return std::min(total, power_of_two_at_least(2 * machine_.nvlink_links));
      return link_ == "single" ? total : 2;
    }
    if (const auto set = nccl_integer(settings_, "NCCL_NCHANNELS_PER_NET_PEER"); set && *set > 0)
      return *set;
    if (minor_ <= 19) return 2;
    const int nics = std::max(1, machine_.nics_per_node / std::max(1, machine_.gpus_per_node));
    if (minor_ >= 29) {
      const double needed =
          std::ceil(nics * machine_.nic_gbytes_per_s /
                    nccl_integer(settings_, "NCCL_P2P_PER_CHANNEL_NET_BW").value_or(14));
      int per_peer = power_of_two_at_least(std::max(nics, static_cast<int>(needed)));
      while (per_peer > 1 && per_peer * ((group_.ranks + 7) / 8) > total) per_peer /= 2;
      return per_peer;
    }
    int halved = 2;
    while (halved > 1 && halved * group_.ranks > 4 * total) halved /= 2;
    const double reach = std::ceil(pcie_ / std::min(machine_.nic_gbytes_per_s, pcie_) - kRounding);
    return power_of_two_at_least(std::max(std::min(nics, static_cast<int>(reach)), halved));
  }

  const NcclMachine& machine_;
  const NcclSettings& settings_;
  const NcclTables& tables_;
  const NcclGroup group_;
  int minor_ = 28;
  int cc_ = 90;
  int most_channels_ = 64;
  int nics_ = 1;
  double pcie_ = 0, socket_ = 0, nvlink_ = 0;
  std::string link_;
  std::vector<double> speeds_;
  NcclGraphs graphs_;
};

}  // namespace

std::optional<int> nccl_integer(const NcclSettings& settings, const char* name) {
  const auto found = settings.environment.find(name);
  if (found == settings.environment.end() || found->second.empty()) return std::nullopt;
  char* end = nullptr;
  const long value = std::strtol(found->second.c_str(), &end, 0);
  if (end != found->second.c_str() + found->second.size()) return std::nullopt;
  return static_cast<int>(std::clamp(value, -1L << 30, 1L << 30));
}

NcclGraphs nccl_graphs(const NcclMachine& machine, const NcclSettings& settings,
                       const NcclTables& tables, const NcclGroup& group) {
  return GraphRules{machine, settings, tables, group}.build();
}

}  // namespace foretrain
