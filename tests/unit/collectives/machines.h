// Machines of the tests of collectives: as NCCL sees them, and as graphs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/collectives/collective.h"
#include "topologies/router.h"
#include "topologies/topology.h"

namespace foretrain {

/// The shipped tables.
const NcclTables& shipped_tables();
/// The machines of data/choices.csv by name.
NcclMachine machine_named(const std::string& name);
CollectiveKind kind_named(const std::string& name);
std::string data_file(const std::string& name);

/// A cluster with a planner. Not movable: the planner points into it.
struct Cluster {
  Cluster(const NcclMachine& machine, int num_nodes, NcclSettings settings = {}, int rails = 1);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  [[nodiscard]] ProcessGroup all() const;
  /// `local` GPUs of every node, from GPU `first`.
  [[nodiscard]] ProcessGroup some(int local, int first = 0) const;
  /// Seconds of a collective alone.
  [[nodiscard]] double seconds(const LoweredCollective& lowered) const;
  /// Bytes that leave and reach a GPU over NVLink or PCIe, per byte of work.
  struct Traffic {
    double out = 0;
    double in = 0;
  };
  [[nodiscard]] Traffic at_device(const LoweredCollective& lowered, DeviceId device) const;

  NcclMachine machine;
  std::unique_ptr<Topology> topology;
  std::unique_ptr<Router> router;
  std::unique_ptr<CollectivePlanner> planner;
};

}  // namespace foretrain
