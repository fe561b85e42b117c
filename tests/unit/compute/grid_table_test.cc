#include "sim/compute/grid_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>

namespace foretrain {
namespace {

// log2(x) + 10 log2(y) is linear in the logarithms: the table must return it everywhere.
GridTable linear_table() {
  const std::vector<double> x = {1, 4, 8, 64};
  const std::vector<double> y = {2, 16, 32};
  std::vector<double> values;
  for (const double a : x) {
    for (const double b : y) values.push_back(std::log2(a) + 10 * std::log2(b));
  }
  return GridTable{{x, y}, values};
}

TEST(GridTable, ReturnsItsPoints) {
  const GridTable table = linear_table();
  EXPECT_EQ(table.at(std::array{8.0, 16.0}), 3 + 40);
  EXPECT_EQ(table.at(std::array{64.0, 32.0}), 6 + 50);
}

TEST(GridTable, TakesTheEdgeOutside) {
  const GridTable table = linear_table();
  EXPECT_EQ(table.at(std::array{1e6, 1.0}), 6 + 10);
  EXPECT_FALSE(table.covers(std::array{1e6, 2.0}));
  EXPECT_TRUE(table.covers(std::array{63.0, 2.0}));
}

RC_GTEST_PROP(GridTableProperties, IsExactForWhatIsLinearInLogarithms, ()) {
  const double x = *rc::gen::inRange(1, 64);
  const double y = *rc::gen::inRange(2, 32);
  const double expected = std::log2(x) + 10 * std::log2(y);
  RC_ASSERT(std::abs(linear_table().at(std::array{x, y}) - expected) < 1e-9);
}

}  // namespace
}  // namespace foretrain
