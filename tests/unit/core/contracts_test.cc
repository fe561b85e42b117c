#include "sim/core/contracts.h"

#include <gtest/gtest.h>

namespace foretrain {
namespace {

TEST(Contracts, KeptContractIsSilentAndEvaluatedOnce) {
  int evaluated = 0;
  FORETRAIN_EXPECTS(++evaluated == 1, "counts");
  EXPECT_EQ(evaluated, 1);
}

// Always on, also in release builds; kind, message, condition and place are named.
TEST(ContractsDeathTest, ViolationNamesKindMessageConditionAndPlace) {
  const int ranks = 0;
  EXPECT_DEATH(FORETRAIN_EXPECTS(ranks > 0, "needs a rank"),
               "precondition violated: needs a rank \\(ranks > 0\\) at .*contracts_test");
  EXPECT_DEATH(FORETRAIN_ENSURES(ranks > 0, "m"), "postcondition");
  EXPECT_DEATH(FORETRAIN_ASSERT(ranks > 0, "m"), "invariant");
}

}  // namespace
}  // namespace foretrain
