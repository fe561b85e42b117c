// The answer of the CUDA runtime.
#include <cuda_runtime_api.h>

#include "kernels/device_query.h"

namespace foretrain {
namespace {

bool is_driver_problem(cudaError_t code) {
  return code == cudaErrorInsufficientDriver || code == cudaErrorStubLibrary ||
         code == cudaErrorSystemDriverMismatch || code == cudaErrorInitializationError;
}

DeviceDescription describe(const cudaDeviceProp& properties) {
  DeviceDescription device;
  device.name = properties.name;
  device.compute_major = properties.major;
  device.compute_minor = properties.minor;
  device.multiprocessors = properties.multiProcessorCount;
  device.memory = Bytes{static_cast<std::int64_t>(properties.totalGlobalMem)};
  device.l2_cache = Bytes{static_cast<std::int64_t>(properties.l2CacheSize)};
  return device;
}

}  // namespace

DeviceReport query_devices() {
  DeviceReport report;
  // Both versions are for the report only; 0 stays for "unknown".
  static_cast<void>(cudaRuntimeGetVersion(&report.runtime_version));
  static_cast<void>(cudaDriverGetVersion(&report.driver_version));
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess || count == 0) {
    report.availability =
        is_driver_problem(code) ? DeviceAvailability::kNoDriver : DeviceAvailability::kNoDevice;
    report.reason = code == cudaSuccess ? "no CUDA device" : cudaGetErrorString(code);
    return report;
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, i) == cudaSuccess) {
      report.devices.push_back(describe(properties));
    }
  }
  report.availability =
      report.devices.empty() ? DeviceAvailability::kNoDevice : DeviceAvailability::kAvailable;
  if (report.devices.empty()) report.reason = "no device could be queried";
  return report;
}

}  // namespace foretrain
