#include "sim/collectives/nccl_graphs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>

namespace foretrain {
namespace {

// Speed candidates of NCCL's search, GB/s, and its per-link constants. @source nccl src/graph/search.cc, topo.h.
constexpr double kIntraOld[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
constexpr double kInterOld[] = {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2};
constexpr double kIntraHopper[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr double kInterHopper[] = {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2};
constexpr double kIntraBlackwell[] = {90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18};
constexpr double kInterBlackwell[] = {96, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2};

std::span<const double> intra_speeds(int cc) {
  if (cc >= 100) return kIntraBlackwell;
  if (cc >= 90) return kIntraHopper;
  return kIntraOld;
}
std::span<const double> inter_speeds(int cc) {
  if (cc >= 100) return kInterBlackwell;
  if (cc >= 90) return kInterHopper;
  return kInterOld;
}
double link_gbytes_per_s(int cc) {
  if (cc >= 100) return 40.1;
  if (cc >= 90) return 20.6;
  if (cc == 86 || cc == 89) return 12.0;
  return 20.0;
}

double largest_below(std::span<const double> speeds, double limit) {
  for (const double speed : speeds) {
    if (speed <= limit * (1 + 1e-9)) return speed;
  }
  return limit;
}

/// Speed and count with the largest product that a link of `total` carries; the faster of equals.
NcclGraph fill_link(std::span<const double> speeds, double total, int most) {
  NcclGraph best;
  double best_product = 0;
  for (const double speed : speeds) {
    if (speed > total) continue;
    if (best.intra_gbytes_per_s > 0 && speed < 0.49 * best.intra_gbytes_per_s) break;
    const int channels = std::min(most, static_cast<int>(total / speed + 1e-9));
    if (channels * speed > best_product * (1 + 1e-9)) {
      best = {channels, speed, speed};
      best_product = channels * speed;
    }
  }
  return best;
}

void duplicate(NcclGraph& graph, int cc, int most) {
  const double speed = graph.intra_gbytes_per_s;
  if (speed < 25 || (cc > 80 && speed < 50 && graph.channels > 4)) return;
  const int doubled = std::min(most, graph.channels * 2);
  if (doubled <= graph.channels) return;
  const double divisor = std::ceil(static_cast<double>(doubled) / graph.channels);
  graph.channels = doubled;
  graph.intra_gbytes_per_s /= divisor;
  graph.inter_gbytes_per_s /= divisor;
}

double pcie_gbytes_per_s(int generation) { return 12.0 * std::pow(2.0, std::max(0, generation - 3)); }

NcclGraph nvls_graph(const NcclMachine& machine, int local, int nodes, int adapters, double adapter_speed) {
  NcclGraph graph;
  if (!machine.nvswitch || !machine.multicast || machine.compute_capability < 90 || local < 2) return graph;
  const double total = machine.nvlink_links * link_gbytes_per_s(machine.compute_capability);
  const int heads = std::min({local, 32, nodes > 1 ? std::max(1, adapters) : local});
  // A head's link carries twice the speed, every other head's slice once.
  const double speed = largest_below(intra_speeds(machine.compute_capability), total / (heads + 1));
  graph.channels = heads;
  graph.intra_gbytes_per_s = nodes > 1 ? std::min(speed, adapter_speed) : speed;
  graph.inter_gbytes_per_s = nodes > 1 ? adapter_speed : speed;
  return graph;
}

void one_node(const NcclMachine& machine, int local, NcclGraphs& graphs, int most, int minor) {
  const int cc = machine.compute_capability;
  if (!machine.nvlink) {
    // PCIe boxes: one or two channels, as fast as the link between the sockets lets them.
    const double socket = machine.cpu == "amd" ? 16 : 22;
    const double speed = largest_below(intra_speeds(cc), std::min(pcie_gbytes_per_s(machine.pcie_generation), socket));
    graphs.ring = {1, speed, speed};
    graphs.tree = graphs.ring;
    graphs.nvlink = false;
    return;
  }
  const double total = machine.nvlink_links * link_gbytes_per_s(cc);
  graphs.ring = fill_link(intra_speeds(cc), local == 1 ? 5000 : total, most / 2);
  duplicate(graphs.ring, cc, most / 2);
  graphs.tree = graphs.ring;
  if (cc >= 100 && minor < 29) graphs.tree.intra_gbytes_per_s = std::min(graphs.tree.intra_gbytes_per_s, 40.0);
  graphs.tree.inter_gbytes_per_s = graphs.tree.intra_gbytes_per_s;
}

void many_nodes(const NcclMachine& machine, int adapters, double speed, NcclGraphs& graphs, int most) {
  const int cc = machine.compute_capability;
  graphs.nvlink = machine.nvlink;
  const int channels = std::max(1, adapters);
  graphs.ring = {channels, speed, speed};
  duplicate(graphs.ring, cc, most / 2);
  graphs.tree = graphs.ring;
  // The tree's GPU-to-GPU speed is raised while it stays below twice the adapter's.
  if (machine.nvlink) {
    const double total = machine.nvlink_links * link_gbytes_per_s(cc);
    const double room = std::min(2 * graphs.tree.inter_gbytes_per_s, total / graphs.tree.channels);
    const double raised = largest_below(inter_speeds(cc), room);
    if (cc >= 100 || cc < 90) graphs.tree.intra_gbytes_per_s = std::max(graphs.tree.intra_gbytes_per_s, raised);
  }
  if (cc == 80 && speed == 24) graphs.tree.intra_gbytes_per_s = 30;
  graphs.plain_tree = machine.nics_per_node >= machine.gpus_per_node && cc >= 90;
}

}  // namespace

NcclGraphs nccl_graphs(const NcclMachine& machine, const NcclSettings& settings, int local_ranks,
                       int nodes) {
  NcclGraphs graphs;
  const int minor = settings.version_minor;
  const int most = minor >= 25 ? 64 : 32;
  const int cc = machine.compute_capability;
  const int adapters =
      std::max(1, machine.nics_per_node * local_ranks / std::max(1, machine.gpus_per_node));
  const double adapter_speed = largest_below(
      inter_speeds(cc), std::min(machine.nic_gbytes_per_s, pcie_gbytes_per_s(machine.pcie_generation)));
  if (nodes == 1) {
    one_node(machine, local_ranks, graphs, most, minor);
  } else {
    many_nodes(machine, adapters, adapter_speed, graphs, most);
  }
  graphs.nvls = nvls_graph(machine, local_ranks, nodes, adapters, adapter_speed);
  int channels = std::min(most, 2 * graphs.ring.channels);
  if (cc >= 90 && nodes > 1 && graphs.ring.intra_gbytes_per_s > 45 && channels < 16) channels *= 2;
  if (graphs.nvls.channels > 0) {
    graphs.nvls_channels = cc < 100 ? 16 : (minor < 27 ? 32 : (nodes == 1 ? 24 : 32));
    if (minor >= 20 && minor <= 27) channels = std::max(channels, graphs.nvls_channels);
  }
  const auto bound = [&](const char* name, int fallback) {
    const auto found = settings.environment.find(name);
    return found == settings.environment.end() ? fallback : std::atoi(found->second.c_str());
  };
  channels = std::min(channels, std::max(1, bound("NCCL_MAX_NCHANNELS", bound("NCCL_MAX_CTAS", most))));
  channels = std::max(channels, std::min(most, bound("NCCL_MIN_NCHANNELS", bound("NCCL_MIN_CTAS", 1))));
  graphs.communicator_channels = channels;
  return graphs;
}

}  // namespace foretrain
