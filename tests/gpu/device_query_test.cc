#include "kernels/device_query.h"

#include <gtest/gtest.h>

namespace foretrain {
namespace {

// Whatever the machine has, the answer is consistent: devices exactly if available.
TEST(DeviceQuery, AnswerIsConsistent) {
  const DeviceReport report = query_devices();
  EXPECT_EQ(report.availability == DeviceAvailability::kAvailable, !report.devices.empty());
  EXPECT_EQ(report.availability == DeviceAvailability::kAvailable, report.reason.empty());
  EXPECT_NE(to_string(report.availability), "unknown");
}

TEST(DeviceQuery, DevicesHaveMemoryAndMultiprocessors) {
  const DeviceReport report = query_devices();
  if (report.devices.empty()) {
    GTEST_SKIP() << to_string(report.availability) << ": " << report.reason;
  }
  for (const DeviceDescription& device : report.devices) {
    EXPECT_FALSE(device.name.empty());
    EXPECT_GT(device.memory, gibibytes(1));
    EXPECT_GT(device.multiprocessors, 0);
    EXPECT_GE(device.compute_major, 7);
  }
}

}  // namespace
}  // namespace foretrain
