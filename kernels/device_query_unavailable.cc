// The answer of a build without CUDA.
#include "kernels/device_query.h"

namespace foretrain {

DeviceReport query_devices() {
  DeviceReport report;
  report.reason = "foretrain was built without CUDA (FORETRAIN_WITH_CUDA)";
  return report;
}

}  // namespace foretrain
