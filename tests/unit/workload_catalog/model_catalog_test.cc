// The shipped model list: our formula against every count of the file, digit by digit, and against
// the exact counts that publishers give.
#include "sim/workload/model_catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/unit/temporary_folder.h"

namespace foretrain {
namespace {

const char* const kCatalog = FORETRAIN_SOURCE_DIR "/scenarios/catalog";

/// The file read once more, by code of the test's own. Quoted cells are cut, columns keep in step.
std::vector<std::map<std::string, std::string>> raw_rows() {
  std::ifstream stream{std::string{kCatalog} + "/models.csv"};
  std::vector<std::vector<std::string>> lines;
  for (std::string line; std::getline(stream, line);) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"')
        quoted = !quoted;
      else if (c == ',' && !quoted)
        cells.emplace_back();
      else
        cells.back() += c;
    }
    lines.push_back(cells);
  }
  std::vector<std::map<std::string, std::string>> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::map<std::string, std::string> row;
    for (std::size_t c = 0; c < lines[0].size(); ++c) row[lines[0][c]] = lines[i].at(c);
    rows.push_back(row);
  }
  return rows;
}

ModelCatalog shipped() {
  auto catalog = ModelCatalog::load(kCatalog);
  EXPECT_TRUE(catalog.has_value()) << (catalog ? "" : to_string(catalog.error()));
  return catalog ? *catalog : ModelCatalog{};
}

TEST(ModelCatalog, CountsEveryShippedModelExactly) {
  const ModelCatalog catalog = shipped();
  const auto rows = raw_rows();
  ASSERT_EQ(rows.size(), 52u);
  int exact = 0;
  for (const auto& row : rows) {
    SCOPED_TRACE(row.at("name"));
    const CatalogModel* model = catalog.find(row.at("name"));
    ASSERT_NE(model, nullptr);
    const ParameterCounts counts = count_parameters(model->spec);
    EXPECT_EQ(counts.total, std::stoll(row.at("params_total")));
    EXPECT_EQ(counts.active, std::stoll(row.at("params_active")));
    EXPECT_EQ(counts.non_embedding, std::stoll(row.at("params_non_embedding")));
    EXPECT_EQ(counts.active_non_embedding, std::stoll(row.at("params_active_non_embedding")));
    EXPECT_EQ(counts.attention_per_layer, std::stoll(row.at("params_attention_per_layer")));
    EXPECT_EQ(counts.dense_layer, std::stoll(row.at("params_dense_layer")));
    EXPECT_EQ(counts.moe_layer, std::stoll(row.at("params_moe_layer")));
    if (row.at("published_exact").empty()) continue;
    ++exact;
    EXPECT_EQ(counts.total, std::stoll(row.at("published_exact")));
    EXPECT_EQ(counts.total, model->published_parameters);
  }
  EXPECT_GE(exact, 30);
}

// Published parameter counts that do not come from our file (model cards and papers).
TEST(ModelCatalog, AgreesWithModelCards) {
  const ModelCatalog catalog = shipped();
  const std::map<std::string, std::int64_t> cards{
      {"gpt-2-124m", 124'439'808},     {"llama-3-8b", 8'030'261'248},
      {"llama-3-70b", 70'553'706'496}, {"mixtral-8x7b", 46'702'792'704},
      {"qwen2.5-7b", 7'615'616'512},   {"deepseek-v3", 671'026'419'200},
      {"bloom-176b", 176'247'271'424}, {"llama-3-405b", 405'853'388'800}};
  for (const auto& [name, parameters] : cards) {
    const CatalogModel* model = catalog.find(name);
    ASSERT_NE(model, nullptr) << name;
    EXPECT_EQ(count_parameters(model->spec).total, parameters) << name;
  }
  EXPECT_EQ(count_parameters(catalog.find("mixtral-8x7b")->spec).active, 12'879'925'248);
}

TEST(ModelCatalog, FindsPromisedNamesAndAliases) {
  const ModelCatalog catalog = shipped();
  for (const char* name :
       {"gpt-2-1.5b", "gpt-3-175b", "megatron-530b", "llama-2-7b", "llama-3-8b", "llama-3-70b",
        "llama-3-405b", "mixtral-8x7b", "qwen2.5-72b", "qwen3-235b-a22b", "deepseek-v3",
        "gpt-oss-120b", "megatron-22b", "megatron-175b", "megatron-1t", "bloom-176b", "opt-175b"}) {
    EXPECT_NE(catalog.find(name), nullptr) << name;
  }
  ASSERT_NE(catalog.find("llama-3.1-405b"), nullptr);
  EXPECT_EQ(catalog.find("llama-3.1-405b"), catalog.find("llama-3-405b"));
  EXPECT_EQ(catalog.find("llama-3.1-8b"), catalog.find("llama-3-8b"));
  EXPECT_EQ(catalog.find("no-such-model"), nullptr);
  EXPECT_EQ(catalog.names().size(), 52u);
  EXPECT_GT(catalog.names_and_aliases().size(), 70u);
}

// Windows that alternate: even layers 128 tokens, odd layers full (0).
TEST(ModelCatalog, RepeatsAlternatingWindowsOverTheLayers) {
  const ModelCatalog catalog = shipped();
  const auto& windows = catalog.find("gpt-oss-120b")->spec.attention_window;
  ASSERT_EQ(windows.size(), 36u);
  EXPECT_EQ(windows[0], 128);
  EXPECT_EQ(windows[1], 0);
  EXPECT_EQ(catalog.find("mistral-7b")->spec.attention_window, std::vector<std::int64_t>{4096});
  EXPECT_TRUE(catalog.find("llama-3-8b")->spec.attention_window.empty());
}

class BrokenModelList : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream stream{std::string{kCatalog} + "/models.csv"};
    std::getline(stream, header_);
    std::getline(stream, row_);
  }
  Diagnostics load(const std::string& text) {
    const test::TemporaryFolder folder;
    (void)folder.write("models.csv", text);
    auto catalog = ModelCatalog::load(folder.path());
    return catalog ? Diagnostics{} : catalog.error();
  }
  std::string header_, row_;
};

TEST_F(BrokenModelList, ReportsAllProblemsWithTheirLines) {
  std::string wrong_number = row_, wrong_word = row_;
  wrong_number.replace(wrong_number.find(",12,768,"), 8, ",twelve,768,");
  wrong_word.replace(wrong_word.find("gelu"), 4, "jelu");
  const auto problems = load(header_ + "\n" + wrong_number + "\n" + wrong_word + "\nshort,row\n");
  const std::string text = to_string(problems);
  EXPECT_NE(text.find("must be a whole number, not \"twelve\""), std::string::npos) << text;
  EXPECT_NE(text.find("unknown value \"jelu\""), std::string::npos) << text;
  EXPECT_NE(text.find("is also in line 2"), std::string::npos) << text;
  EXPECT_NE(text.find("models.csv:4:1: error: short: has 2 cells"), std::string::npos) << text;
}

TEST_F(BrokenModelList, NamesUnknownAndMissingColumns) {
  std::string header = header_;
  header.replace(header.find("kv_heads"), 8, "kv_headz");
  const std::string text = to_string(load(header + "\n" + row_ + "\n"));
  EXPECT_NE(text.find("kv_headz: unknown column"), std::string::npos) << text;
  EXPECT_NE(text.find("did you mean \"kv_heads\"?"), std::string::npos) << text;
  EXPECT_NE(text.find("kv_heads: column is missing"), std::string::npos) << text;
}

TEST(ModelCatalog, SaysWhichFileCannotBeRead) {
  const auto catalog = ModelCatalog::load("/no/such/folder");
  ASSERT_FALSE(catalog.has_value());
  EXPECT_NE(to_string(catalog.error()).find("models.csv"), std::string::npos);
}

}  // namespace
}  // namespace foretrain
