#include "tests/unit/collectives/machines.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "topologies/build_topology.h"

namespace foretrain {
namespace {

struct NamedMachine {
  const char* name;
  int cc, gpus, links, nics;
  double nic;
  int pcie;
  const char* cpu;
  bool nvswitch, nvlink;
};

constexpr NamedMachine kMachines[] = {
    {"dgx-a100", 80, 8, 12, 8, 25, 4, "amd", true, true},
    {"dgx-a100-4nic", 80, 8, 12, 4, 25, 4, "amd", true, true},
    {"dgx-h100", 90, 8, 18, 8, 50, 5, "intel", true, true},
    {"dgx-h100-4nic", 90, 8, 18, 4, 50, 5, "intel", true, true},
    {"dgx-h100-1nic", 90, 8, 18, 1, 50, 5, "intel", true, true},
    {"dgx-h100-16nic", 90, 8, 18, 16, 25, 5, "intel", true, true},
    {"hgx-h100-amd-2per", 90, 8, 18, 8, 50, 5, "amd", true, true},
    {"dgx-b200", 100, 8, 18, 8, 50, 5, "intel", true, true},
    {"dgx-1v", 70, 8, 6, 4, 12.5, 3, "intel", false, true},
    {"a3-mega-like", 90, 8, 18, 8, 25, 5, "intel", true, true},
    {"h100-1", 90, 1, 0, 1, 50, 5, "intel", false, false},
    {"h100-1-host", 90, 1, 0, 1, 40, 5, "intel", false, false},
    {"h100-1-10g", 90, 1, 0, 1, 1.25, 5, "intel", false, false},
    {"a100-1-100g", 80, 1, 0, 1, 12.5, 4, "intel", false, false},
    {"gh200-1", 90, 1, 0, 1, 50, 5, "arm", false, false},
    {"gb200-tray", 100, 4, 18, 4, 50, 5, "arm", true, true},
    {"gb200-tray@nvl72", 100, 72, 18, 72, 50, 5, "arm", true, true},
    {"a100-pcie-4", 80, 4, 0, 1, 25, 4, "intel", false, false},
    {"pcie-8", 89, 8, 0, 2, 50, 4, "intel", false, false},
};

double nvlink_gbytes_per_s(const NcclMachine& machine) {
  return machine.nvlink_links * (machine.compute_capability >= 100 ? 50.0 : 25.0);
}

TopologyRequest request_for(const NcclMachine& machine, int num_nodes, int rails) {
  constexpr double kPayload = 0.9937;
  TopologyRequest request;
  request.nodes = num_nodes;
  NodeShape& node = request.node;
  node.gpus = machine.gpus_per_node;
  node.nics = machine.nics_per_node;
  node.interconnect = machine.nvswitch ? IntraNode::kNvSwitch
                      : machine.nvlink ? IntraNode::kNvlinkMesh
                                       : IntraNode::kPcie;
  node.nvlink_bandwidth = gigabytes_per_second(nvlink_gbytes_per_s(machine));
  node.nvlink_latency = SimDuration{600'000};
  node.pcie_bandwidth = gigabytes_per_second(14.3 * (1 << (machine.pcie_generation - 3)));
  node.pcie_latency = SimDuration{150'000};
  node.socket_bandwidth = gigabytes_per_second(10);
  node.socket_latency = SimDuration{500'000};
  node.nic_bandwidth = gigabytes_per_second(machine.nic_gbytes_per_s * kPayload);
  node.nic_latency = SimDuration{500'000};
  FabricSpec& fabric = request.fabric;
  const int ports = num_nodes * machine.nics_per_node;
  fabric.tiers = ports / rails <= 64 && rails == 1 ? 1 : 2;
  fabric.rails = rails;
  fabric.switch_ports = ports > 2048 ? 256 : 64;
  fabric.link_bandwidth = gigabytes_per_second(machine.nic_gbytes_per_s);
  fabric.payload_efficiency = kPayload;
  fabric.link_latency = SimDuration{600'000};
  fabric.switch_latency = SimDuration{300'000};
  return request;
}

}  // namespace

const NcclTables& shipped_tables() {
  static const NcclTables tables = [] {
    auto loaded = load_nccl_tables(FORETRAIN_SOURCE_DIR "/scenarios/catalog");
    if (!loaded) {
      std::fputs(to_string(loaded.error()).c_str(), stderr);
      std::abort();
    }
    return std::move(*loaded);
  }();
  return tables;
}

NcclMachine machine_named(const std::string& name) {
  for (const NamedMachine& known : kMachines) {
    if (name != known.name) continue;
    NcclMachine machine;
    machine.compute_capability = known.cc;
    machine.gpus_per_node = known.gpus;
    machine.nvswitch = known.nvswitch;
    machine.nvlink = known.nvlink;
    machine.nvlink_links = known.links;
    machine.nics_per_node = known.nics;
    machine.nic_gbytes_per_s = known.nic;
    machine.pcie_generation = known.pcie;
    machine.cpu = known.cpu;
    machine.multicast = known.nvswitch && known.cc >= 90;
    return machine;
  }
  std::fprintf(stderr, "no machine %s\n", name.c_str());
  std::abort();
}

CollectiveKind kind_named(const std::string& name) {
  for (const CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
        CollectiveKind::kBroadcast, CollectiveKind::kReduce, CollectiveKind::kAllToAll,
        CollectiveKind::kSendRecv}) {
    if (to_string(kind) == name) return kind;
  }
  std::fprintf(stderr, "no collective %s\n", name.c_str());
  std::abort();
}

std::string data_file(const std::string& name) {
  return FORETRAIN_SOURCE_DIR "/tests/unit/collectives/data/" + name;
}

Cluster::Cluster(const NcclMachine& of, int num_nodes, NcclSettings settings, int rails)
    : machine(of) {
  auto built = build_topology(request_for(machine, num_nodes, rails));
  if (!built) {
    std::fputs(to_string(built.error()).c_str(), stderr);
    std::abort();
  }
  topology = std::make_unique<Topology>(std::move(*built));
  router = std::make_unique<Router>(*topology, Router::Options{});
  planner = std::make_unique<CollectivePlanner>(*topology, *router, machine, std::move(settings),
                                                shipped_tables());
}

ProcessGroup Cluster::all() const { return some(topology->gpus_per_node()); }

ProcessGroup Cluster::some(int local, int first) const {
  ProcessGroup group;
  for (int node = 0; node < topology->num_nodes(); ++node) {
    for (int i = 0; i < local; ++i)
      group.gpus.push_back(topology->gpu(node * topology->gpus_per_node() + first + i));
  }
  return group;
}

double Cluster::seconds(const LoweredCollective& lowered) const {
  double rate = lowered.rate_cap.bytes_per_second();
  for (const LinkShare& use : lowered.usage) {
    const double limit = topology->link(use.link).bandwidth.bytes_per_second() / use.share;
    if (rate <= 0 || limit < rate) rate = limit;
  }
  return to_seconds(lowered.latency) + (lowered.work_bytes > 0 ? lowered.work_bytes / rate : 0);
}

Cluster::Traffic Cluster::at_device(const LoweredCollective& lowered, DeviceId device) const {
  Traffic traffic;
  for (const LinkShare& use : lowered.usage) {
    if (topology->link(use.link).from == device) traffic.out += use.share;
    if (topology->link(use.link).to == device) traffic.in += use.share;
  }
  return traffic;
}

}  // namespace foretrain
