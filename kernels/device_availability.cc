#include "kernels/device_query.h"

namespace foretrain {

std::string to_string(DeviceAvailability availability) {
  switch (availability) {
    case DeviceAvailability::kAvailable: return "available";
    case DeviceAvailability::kNoDriver: return "no driver";
    case DeviceAvailability::kNoDevice: return "no device";
    case DeviceAvailability::kNotBuiltIn: return "not built in";
  }
  return "unknown";
}

}  // namespace foretrain
