// The machine of a scenario, built: graph, routes, NCCL planner, compute model.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/collectives/collective.h"
#include "sim/compute/compute_model.h"
#include "sim/core/diagnostics.h"
#include "sim/scenario/scenario.h"
#include "topologies/router.h"
#include "topologies/topology.h"

namespace foretrain {

struct Machine {
  std::unique_ptr<Topology> topology;  // on the heap: router and planner point to it
  std::unique_ptr<Router> router;
  std::unique_ptr<CollectivePlanner> collectives;
  NcclTables nccl_tables;
  std::vector<double> gpu_speed;   // empty unless the scenario has slow GPUs
  std::vector<double> link_speed;  // empty unless the scenario has slow links
};

/// Builds what a cluster is made of; faults that name no GPU or link are diagnostics.
[[nodiscard]] Result<Machine> build_machine(const Scenario& scenario, const std::string& data_dir);
/// Routes and planner again, with another draw of the switches' hash.
void redraw_routes(Machine& machine, const Scenario& scenario, std::uint64_t seed);
/// The scenario's profile, or catalog rates.
[[nodiscard]] Result<std::unique_ptr<ComputeModel>> build_compute_model(
    const Scenario& scenario, const std::string& data_dir);
/// What NCCL's planner needs to know of a node.
[[nodiscard]] NcclMachine nccl_machine(const NodeSpec& node);

}  // namespace foretrain
