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
  std::vector<MemoryItem> items;  // in a fixed order, fragmentation last
  Bytes peak;                     // sum of the items
  Bytes limit;                    // the GPU's memory
  int pipeline_rank = 0;          // the fullest one
  std::string phase;  // where the peak is: "first backward", "last stage loss", "optimizer" …
  [[nodiscard]] Bytes fragmentation() const { return items.empty() ? Bytes{} : items.back().size; }
  /// What tensors and libraries need at the peak. An allocator that runs out gives back what it has
  /// cached and tries again, so a job stops when this exceeds the GPU, not when the peak does.
  [[nodiscard]] Bytes allocated() const { return peak - fragmentation(); }
  [[nodiscard]] bool fits() const { return allocated() <= limit; }
  /// Fits, but only with less fragmentation than is usual.
  [[nodiscard]] bool is_tight() const { return fits() && peak > limit; }
};

}  // namespace foretrain
