// Bytes on the fullest GPU, item by item, and what would fit if it does not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/hardware/device_spec.h"

namespace foretrain {

struct MemoryItem {
  std::string name;  // weights | gradients | optimizer | activations | temporary | logits | nccl |
                     // context | fragmentation
  Bytes size;
};

struct MemoryFootprint {
  std::vector<MemoryItem> items;  // in a fixed order
  Bytes peak;                     // sum of the items
  Bytes limit;                    // the GPU's memory
  int pipeline_rank = 0;          // the fullest one
  std::string phase;  // where the peak is: "first backward", "last stage loss", "optimizer" …
  [[nodiscard]] bool fits() const { return peak <= limit; }
};

}  // namespace foretrain
