#include "sim/document/csv_rows.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/temporary_folder.h"

namespace foretrain {
namespace {

using Cells = std::vector<std::string>;

TEST(CsvLine, SplitsAtCommasOutsideQuotes) {
  EXPECT_EQ(split_csv_line("a,b,,c"), (Cells{"a", "b", "", "c"}));
  EXPECT_EQ(split_csv_line(""), Cells{""});
  EXPECT_EQ(split_csv_line("\"a,b\",\"say \"\"x\"\"\",\"\"\r"), (Cells{"a,b", "say \"x\"", ""}));
}

TEST(CsvRows, SaysWhichLineHasTooFewCells) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("rows.csv", "# comment\nname,size\nx,1\n\ny\n");
  const auto rows = CsvRows::read(path, {"name", "weight"});
  ASSERT_FALSE(rows.has_value());
  ASSERT_EQ(rows.error().size(), 2U);
  EXPECT_EQ(rows.error()[0].location.line, 5);
  EXPECT_EQ(rows.error()[0].message, "has 1 cells, not 2");
  EXPECT_EQ(rows.error()[1].path, "weight");
}

TEST(CsvRows, ReadsNumbersOrSaysWhyNot) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("numbers.csv", "value\n1.5\n\"\"\nnan\n");
  const auto rows = CsvRows::read(path, {"value"});
  ASSERT_TRUE(rows.has_value());
  ASSERT_EQ(rows->rows().size(), 3U);
  Diagnostics problems;
  EXPECT_EQ(rows->number(rows->rows()[0], "value", 7, problems), 1.5);
  EXPECT_EQ(rows->number(rows->rows()[1], "value", 7, problems), 7);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(rows->number(rows->rows()[2], "value", 7, problems), 7);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].location.line, 4);
}

}  // namespace
}  // namespace foretrain
