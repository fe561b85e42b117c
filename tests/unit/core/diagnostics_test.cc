#include "sim/core/diagnostics.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

namespace foretrain {
namespace {

TEST(Diagnostics, FormatNamesPlacePathMessageAndHint) {
  const Diagnostic diagnostic{Severity::kError,
                              {"a.yaml", 4, 12},
                              "job.parallel.tensor",
                              "3 does not divide 64 heads",
                              "try 2 or 4"};
  EXPECT_EQ(to_string(diagnostic),
            "a.yaml:4:12: error: job.parallel.tensor: 3 does not divide 64 heads\n"
            "  hint: try 2 or 4");
}

TEST(Diagnostics, FormatLeavesOutWhatIsAbsent) {
  EXPECT_EQ(to_string(Diagnostic{Severity::kWarning, {"a.yaml", 0, 0}, "", "is empty", ""}),
            "a.yaml: warning: is empty");
  EXPECT_EQ(to_string(Diagnostic{Severity::kNote, {}, "", "no place", ""}), "note: no place");
}

TEST(Diagnostics, ListIsSortedByPlaceAndStable) {
  const Diagnostics list{
      {Severity::kError, {"b.yaml", 1, 1}, "", "fifth", ""},
      {Severity::kError, {"a.yaml", 10, 1}, "", "fourth", ""},
      {Severity::kError, {"a.yaml", 2, 7}, "", "second", ""},
      {Severity::kNote, {"a.yaml", 2, 7}, "", "third", ""},
      {Severity::kError, {"a.yaml", 2, 3}, "", "first", ""},
  };
  EXPECT_EQ(to_string(list),
            "a.yaml:2:3: error: first\n"
            "a.yaml:2:7: error: second\n"
            "a.yaml:2:7: note: third\n"
            "a.yaml:10:1: error: fourth\n"
            "b.yaml:1:1: error: fifth\n");
}

TEST(Diagnostics, OnlyErrorsCountAsErrors) {
  EXPECT_FALSE(has_errors({}));
  EXPECT_FALSE(
      has_errors({{Severity::kWarning, {}, "", "w", ""}, {Severity::kNote, {}, "", "n", ""}}));
  EXPECT_TRUE(
      has_errors({{Severity::kWarning, {}, "", "w", ""}, {Severity::kError, {}, "", "e", ""}}));
}

TEST(Diagnostics, FailMakesOneError) {
  const Result<int> result = fail(SourceLocation{"a.yaml", 1, 2}, "x", "is wrong", "do it right");
  ASSERT_FALSE(result);
  ASSERT_EQ(result.error().size(), 1U);
  EXPECT_EQ(to_string(result.error()), "a.yaml:1:2: error: x: is wrong\n  hint: do it right\n");
}

TEST(NearestName, FindsTypingErrors) {
  const std::vector<std::string> names{"tensor", "pipeline", "context", "expert", "data"};
  EXPECT_EQ(nearest_name("tensr", names), "tensor");
  EXPECT_EQ(nearest_name("TENSOR", names), "tensor");
  EXPECT_EQ(nearest_name("pipelin", names), "pipeline");
  EXPECT_EQ(nearest_name("date", names), "data");
}

TEST(NearestName, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("zebra", {"tensor", "data"}), "");
  EXPECT_EQ(nearest_name("", {"a"}), "");
  EXPECT_EQ(nearest_name("x", {}), "");
  EXPECT_EQ(nearest_name(std::string(100'000, 'a'), {"a"}), "");
}

TEST(NearestName, FirstOfEquallyNearWins) {
  EXPECT_EQ(nearest_name("h101", {"h100", "h102"}), "h100");
  EXPECT_EQ(nearest_name("h101", {"h102", "h100"}), "h102");
}

// One edit of a name of at least three letters is always near enough, and an exact name is found.
RC_GTEST_PROP(NearestName, SurvivesOneEdit, ()) {
  const auto letters = *rc::gen::container<std::string>(rc::gen::inRange('a', 'z'));
  RC_PRE(letters.size() >= 3U);
  const auto at = *rc::gen::inRange<std::size_t>(0, letters.size());
  std::string damaged = letters;
  damaged.erase(at, 1);
  RC_ASSERT(nearest_name(letters, {letters}) == letters);
  RC_ASSERT(nearest_name(damaged, {letters}) == letters);
}

}  // namespace
}  // namespace foretrain
