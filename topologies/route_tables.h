// What a Router looks up: paths inside a node, and where each fabric switch leads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topologies/topology.h"

namespace foretrain {

/// A cable of the fabric at a switch: the link that holds it and where it leads.
struct Exit {
  LinkId link;
  int cables = 1;
};

/// Up links of a switch, and its down links grouped by what lies below: leaves for a spine, pods
/// for a core.
class SwitchExits {
 public:
  SwitchExits() = default;
  explicit SwitchExits(const Topology& topology);
  [[nodiscard]] std::span<const Exit> up(DeviceId from) const;
  /// Down links towards a child; empty if it does not lie below.
  [[nodiscard]] std::span<const Exit> down(DeviceId from, int child) const;

 private:
  struct Group {
    int child = 0;
    std::size_t begin = 0, end = 0;
  };
  struct Ranges {
    std::size_t up_begin = 0, up_end = 0;          // in exits_
    std::size_t groups_begin = 0, groups_end = 0;  // in groups_
  };
  [[nodiscard]] const Ranges& ranges(DeviceId id) const {
    return ranges_[static_cast<std::size_t>(id.index() - first_)];
  }
  int first_ = 0;  // device id of the first fabric switch
  std::vector<Exit> exits_;
  std::vector<Group> groups_;
  std::vector<Ranges> ranges_;
};

/// A NIC and the leaf it hangs on.
struct NicPort {
  LinkId up, down;
  DeviceId leaf;
};

struct RouteTables {
  int gpus = 0;  // per node
  int nics = 0;
  std::vector<std::vector<int>> gpu_nics;  // local NICs by local GPU
  // Paths inside a node as links of node 0; index = source * count + destination.
  std::vector<std::vector<LinkId>> gpu_to_gpu, gpu_to_nic, nic_to_gpu;
  std::vector<bool> nvlink_direct;  // GPU pair joined by NVLink without a relay
  std::vector<int> nic_rail;        // by local NIC
  std::vector<NicPort> ports;       // by node, then local NIC; empty without a fabric
  SwitchExits exits;
};

[[nodiscard]] RouteTables make_route_tables(const Topology& topology);

}  // namespace foretrain
