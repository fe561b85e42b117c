#include "sim/run/machine_build.h"

#include <fmt/format.h>

#include "sim/execution/machine.h"
#include "topologies/build_topology.h"

namespace foretrain {
namespace {

Diagnostic fault_problem(const Fault& fault, std::string message, std::string hint) {
  return {Severity::kError, fault.location, "cluster.faults", std::move(message), std::move(hint)};
}

/// Links between two named devices, both directions.
std::vector<LinkId> links_between(const Topology& topology, const std::string& name) {
  std::vector<LinkId> found;
  const auto links = topology.links();
  for (std::size_t l = 0; l < links.size(); ++l) {
    const std::string& from = topology.device(links[l].from).name;
    const std::string& to = topology.device(links[l].to).name;
    if (from + "/" + to == name || to + "/" + from == name) {
      found.push_back(LinkId{static_cast<std::int32_t>(l)});
    }
  }
  return found;
}

Diagnostics apply_faults(const Scenario& scenario, Machine& machine) {
  Diagnostics problems;
  for (const Fault& fault : scenario.cluster.faults) {
    if (fault.gpu) {
      if (*fault.gpu < 0 || *fault.gpu >= machine.topology->num_gpus()) {
        problems.push_back(fault_problem(
            fault, fmt::format("there is no GPU {}", *fault.gpu),
            fmt::format("GPUs are numbered 0 to {}", machine.topology->num_gpus() - 1)));
        continue;
      }
      machine.gpu_speed.resize(static_cast<std::size_t>(machine.topology->num_gpus()), 1.0);
      machine.gpu_speed[static_cast<std::size_t>(*fault.gpu)] = fault.factor;
      continue;
    }
    const std::vector<LinkId> links = links_between(*machine.topology, fault.link);
    if (links.empty()) {
      problems.push_back(
          fault_problem(fault, fmt::format("there is no link '{}'", fault.link),
                        "name two devices, as `foretrain topo --dot` prints them: leaf3/spine1"));
      continue;
    }
    machine.link_speed.resize(machine.topology->links().size(), 1.0);
    for (const LinkId link : links) machine.link_speed[link.position()] = fault.factor;
  }
  return problems;
}

}  // namespace

NcclMachine nccl_machine(const NodeSpec& node) {
  NcclMachine machine;
  machine.compute_capability = node.gpu.compute_capability;
  machine.gpus_per_node = node.gpus;
  machine.nvswitch = node.interconnect == NodeInterconnect::kNvSwitch;
  machine.nvlink = node.interconnect != NodeInterconnect::kPcie;
  machine.nvlink_links = node.gpu.nvlink_links;
  machine.nics_per_node = node.nics;
  machine.nic_gbytes_per_s = node.nic.bandwidth.bytes_per_second() / 1e9;
  machine.pcie_generation = node.pcie_generation;
  machine.cpu = node.cpu;
  machine.multicast = machine.nvswitch && node.gpu.compute_capability >= 90;
  return machine;
}

Result<Machine> build_machine(const Scenario& scenario, const std::string& data_dir) {
  const std::string catalog = data_dir + "/catalog";
  Result<TopologyRequest> request = topology_request(scenario.cluster, catalog);
  if (!request) return tl::make_unexpected(request.error());
  Result<Topology> topology = build_topology(*request);
  if (!topology) {
    Diagnostics problems = topology.error();
    for (Diagnostic& problem : problems) {
      if (problem.location.file.empty()) problem.location.file = scenario.file;
    }
    return tl::make_unexpected(problems);
  }
  Result<NcclTables> tables = load_nccl_tables(catalog);
  if (!tables) return tl::make_unexpected(tables.error());
  Machine machine;
  machine.topology = std::make_unique<Topology>(std::move(*topology));
  machine.nccl_tables = std::move(*tables);
  redraw_routes(machine, scenario, scenario.seed);
  const Diagnostics problems = apply_faults(scenario, machine);
  if (!problems.empty()) return tl::make_unexpected(problems);
  return machine;
}

void redraw_routes(Machine& machine, const Scenario& scenario, std::uint64_t seed) {
  Router::Options options;
  options.routing = scenario.cluster.fabric.routing;
  options.seed = seed;
  machine.router = std::make_unique<Router>(*machine.topology, options);
  machine.collectives = std::make_unique<CollectivePlanner>(*machine.topology, *machine.router,
                                                            nccl_machine(scenario.cluster.node),
                                                            scenario.nccl, machine.nccl_tables);
}

Result<std::unique_ptr<ComputeModel>> build_compute_model(const Scenario& scenario,
                                                          const std::string& data_dir) {
  if (scenario.profile.empty()) {
    return make_catalog_model(data_dir + "/catalog", scenario.cluster.node.gpu);
  }
  return load_compute_model(scenario.profile, scenario.cluster.node.gpu);
}

}  // namespace foretrain
