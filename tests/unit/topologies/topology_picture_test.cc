#include <gtest/gtest.h>

#include "test_fabrics.h"
#include "topologies/topology_metrics.h"

namespace foretrain {
namespace {
}  // namespace
}  // namespace foretrain
