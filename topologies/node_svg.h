// The inside of a node in words and as a picture.
#pragma once

#include <string>

#include "topologies/topology.h"

namespace foretrain {

struct NodeLabel {
  std::string short_text;  // "8 GPU, 8 NIC"
  std::string long_text;   // "8 GPUs, 8 NICs, NVSwitch 450 GB/s a GPU"
};
[[nodiscard]] NodeLabel node_label(const Topology& topology);

/// Node 0: NVLink above, GPUs and NICs in pairs, PCIe switches and sockets below.
[[nodiscard]] std::string node_svg(const Topology& topology);

}  // namespace foretrain
