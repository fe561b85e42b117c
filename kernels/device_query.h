// Which GPUs this machine offers for measuring. The simulator itself never needs one.
#pragma once

#include <string>
#include <vector>

#include "sim/core/units.h"

namespace foretrain {

enum class DeviceAvailability {
  kAvailable,   // at least one device
  kNoDriver,    // built with CUDA, but the driver is absent or too old
  kNoDevice,    // a driver, but no device that we may use
  kNotBuiltIn,  // foretrain was built without CUDA
};

struct DeviceDescription {
  std::string name;  // as the driver reports it, e.g. "NVIDIA H200"
  int compute_major = 0;
  int compute_minor = 0;
  int multiprocessors = 0;
  Bytes memory;
  Bytes l2_cache;
};

struct DeviceReport {
  DeviceAvailability availability = DeviceAvailability::kNotBuiltIn;
  std::string reason;      // why none is available, for people; empty when kAvailable
  int driver_version = 0;  // as CUDA counts: 13000 is 13.0; 0 = unknown
  int runtime_version = 0;
  std::vector<DeviceDescription> devices;
};

/// Asks the CUDA runtime. Never fails: what is missing is the answer.
[[nodiscard]] DeviceReport query_devices();

/// "available", "no driver", "no device", "not built in".
[[nodiscard]] std::string to_string(DeviceAvailability availability);

}  // namespace foretrain
