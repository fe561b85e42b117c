// Counts calls of the global operator new in the test executable that links allocation_counter.cc.
#pragma once

#include <cstdint>

namespace foretrain::testing {

[[nodiscard]] std::int64_t num_allocations();

}  // namespace foretrain::testing
