#include <gtest/gtest.h>

#include <string>

#include "sim/memory/memory_model.h"

namespace foretrain {
namespace {

// The defaults of the struct serve tests and tools without data files: they must be the file's.
TEST(MemoryAssumptions, FileAgreesWithTheDefaults) {
  const auto loaded =
      load_memory_assumptions(std::string{FORETRAIN_SOURCE_DIR} + "/scenarios/catalog");
  ASSERT_TRUE(loaded.has_value()) << to_string(loaded.error());
  const MemoryAssumptions defaults;
  EXPECT_EQ(loaded->cuda_context, defaults.cuda_context);
  EXPECT_EQ(loaded->fragmentation, defaults.fragmentation);
  EXPECT_EQ(loaded->fragmentation_recompute, defaults.fragmentation_recompute);
  EXPECT_EQ(loaded->nccl_per_communicator, defaults.nccl_per_communicator);
  EXPECT_EQ(loaded->compiled_kept, defaults.compiled_kept);
  EXPECT_EQ(loaded->zero3_live_parameters, defaults.zero3_live_parameters);
}

TEST(MemoryAssumptions, MissingFileIsADiagnostic) {
  EXPECT_FALSE(load_memory_assumptions("no/such/folder").has_value());
}

}  // namespace
}  // namespace foretrain
