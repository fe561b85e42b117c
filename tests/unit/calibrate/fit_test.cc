#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "calibrate/csv_file.h"
#include "calibrate/fit_gemm.h"
#include "calibrate/fit_profile.h"
#include "calibrate/held_out.h"
#include "calibrate/kernel_tables.h"
#include "calibrate/smooth_grid.h"
#include "tests/unit/temporary_folder.h"

namespace foretrain {
namespace {

const std::string kRoot = FORETRAIN_SOURCE_DIR;

class KernelTables : public ::testing::Test {
 protected:
  std::string written(const std::string& text) const { return folder_.write("table.csv", text); }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(KernelTables, ReadsTheRowsOfOneGpu) {
  const auto samples = read_gemm_table(
      written(
          "gpu,x,gemm_dtype,m,n,k,latency_ms\nh100_sxm,1,bfloat16,2,3,4,0.5\nh100,1,fp8,1,1,1,9\n"),
      "h100_sxm");
  ASSERT_TRUE(samples) << to_string(samples.error());
  ASSERT_EQ(samples->size(), 1u);
  EXPECT_EQ(samples->front().n, 3);
  EXPECT_DOUBLE_EQ(samples->front().seconds, 0.5e-3);
}

TEST_F(KernelTables, WrongCellsNameTheirLine) {
  const auto wrong = read_gemm_table(
      written("gpu,gemm_dtype,m,n,k,latency_ms\na,bfloat16,2,3,4,0.5\na,bfloat16,2,x,4,0.5\n"),
      "a");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().front().location.line, 3);
  EXPECT_EQ(wrong.error().front().path, "n");
  EXPECT_FALSE(read_gemm_table(written("gpu,m\na,1\n"), "a"));
  EXPECT_FALSE(read_gemm_table(written("gpu,gemm_dtype,m,n,k,latency_ms\n"), "a"));
  EXPECT_FALSE(read_gemm_table("/nonexistent.csv.gz", "a"));
}

// A constant stays that constant everywhere, also far from every point.
TEST(SmoothGrid, KeepsAConstant) {
  const GridTable table =
      smooth_onto_grid({{{1, 1}, 0.25}, {{1024, 4}, 0.25}}, {{1, 32, 1024, 1e6}, {1, 4}}, 0.15);
  for (const double value : table.values()) EXPECT_NEAR(value, 0.25, 1e-12);
}

// An isolated point keeps its own value: its neighbours are ten bandwidths away.
TEST(SmoothGrid, KeepsIsolatedPoints) {
  const GridTable table = smooth_onto_grid({{{1}, -1}, {{8}, 2}}, {{1, 8}}, 0.3);
  EXPECT_NEAR(table.values()[0], -1, 1e-9);
  EXPECT_NEAR(table.values()[1], 2, 1e-9);
}

TEST(HeldOut, SummaryIsTheNearestRank) {
  const HeldOutError error = summarise_errors({0.5, 0.1, 0.3, 0.2, 0.4});
  EXPECT_EQ(error.points, 5);
  EXPECT_EQ(error.median, 0.3);
  EXPECT_EQ(error.p90, 0.5);
  EXPECT_EQ(summarise_errors({}).points, 0);
}

TEST(HeldOut, LeavesOutEverySeventhLine) {
  const HeldOutLines lines({{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}});
  EXPECT_TRUE(lines.contains(0, 4));
  EXPECT_TRUE(lines.contains(0, 11));
  EXPECT_FALSE(lines.contains(0, 5));
  EXPECT_FALSE(lines.contains(0, 12));
}

/// A machine whose times follow the mechanism exactly: the fit must find it, or one as good.
TEST(FitGemm, RecoversAMachineThatFollowsTheMechanism) {
  GemmMachine truth;
  truth.sm_count = 132;
  truth.peak_flops_per_s = 989e12;
  truth.memory_bytes_per_s = 3.35e12;
  truth.memory_efficiency = 0.7;
  truth.fixed_seconds = 4e-6;
  truth.fill_k = 300;
  truth.split_seconds = 3e-6;
  truth.tiles = {{128, 256, 0.7}, {256, 128, 0.7}, {128, 128, 0.6}, {64, 64, 0.3}};
  std::vector<GemmSample> samples;
  for (double m = 64; m <= 16384; m *= 2) {
    for (double n = 64; n <= 16384; n *= 2) {
      for (double k = 64; k <= 16384; k *= 2) {
        GemmOp op;
        op.m = std::llround(m), op.n = std::llround(n), op.k = std::llround(k);
        samples.push_back({DataType::kBf16, m, n, k, gemm_mechanism_seconds(truth, op)});
      }
    }
  }
  const GemmTable table = fit_gemm(samples, truth);
  EXPECT_LT(table.held_out_large.median, 0.05);
  EXPECT_LT(table.held_out_large.p90, 0.12);
  for (const GemmSample& sample : samples) {
    GemmOp op;
    op.m = std::llround(sample.m), op.n = std::llround(sample.n), op.k = std::llround(sample.k);
    EXPECT_NEAR(gemm_table_seconds(table, truth, op) / sample.seconds, 1, 0.02);
  }
}

/// Errors of the shipped profile at the points that it was made from.
TEST(FitProfile, ShippedTablesReproduceTheirSamples) {
  const auto samples = read_gemm_table(kRoot + "/calibrate/reference/gemm.csv.gz", "a100_sxm");
  ASSERT_TRUE(samples);
  const Result<Profile> profile = load_profile(kRoot + "/scenarios/profiles/a100-80.json");
  ASSERT_TRUE(profile);
  GemmMachine rates;
  rates.sm_count = profile->gpu.sm_count;
  rates.peak_flops_per_s = profile->gpu.peak_flops_per_s.at("bf16");
  rates.memory_bytes_per_s = profile->gpu.memory_bytes_per_s;
  std::vector<double> errors;
  for (const GemmSample& sample : *samples) {
    GemmOp op;
    op.m = std::llround(sample.m), op.n = std::llround(sample.n), op.k = std::llround(sample.k);
    errors.push_back(
        std::abs(gemm_table_seconds(profile->gemm.front(), rates, op) / sample.seconds - 1));
  }
  const HeldOutError error = summarise_errors(std::move(errors));
  EXPECT_LT(error.median, 0.02);
  EXPECT_LT(error.p90, 0.10);
}

// The committed tables and the committed constants give the committed profile, byte for byte.
TEST(FitProfile, MakingAProfileAgainGivesTheSameBytes) {
  TableFitRequest request;
  request.gemm_path = kRoot + "/calibrate/reference/gemm.csv.gz";
  request.attention_path = kRoot + "/calibrate/reference/context_attention.csv.gz";
  request.table_gpu = "a100_sxm";
  request.catalog_gpu = "a100-80";
  request.catalog_dir = kRoot + "/scenarios/catalog";
  request.source_date = "2026-12-01";
  const Result<Profile> made = fit_profile(request);
  ASSERT_TRUE(made) << to_string(made.error());
  std::ifstream file(kRoot + "/scenarios/profiles/a100-80.json", std::ios::binary);
  const std::string shipped{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
  EXPECT_TRUE(write_profile(*made) == shipped) << "run calibrate/make_profiles.sh";
}

// The other shipped profiles hold the constants that the catalog holds now.
TEST(FitProfile, ShippedConstantsAreThoseOfTheCatalog) {
  const auto table = EfficiencyTable::load(kRoot + "/scenarios/catalog/efficiency.yaml");
  ASSERT_TRUE(table) << to_string(table.error());
  for (const char* name : {"a100-80", "h100-sxm", "h200-sxm", "b200", "gb200", "l40s"}) {
    const auto profile = load_profile(kRoot + "/scenarios/profiles/" + name + ".json");
    ASSERT_TRUE(profile) << to_string(profile.error());
    const auto constants = table->all_of(profile->gpu.architecture);
    ASSERT_EQ(constants.size(), profile->constants.size()) << name;
    for (const auto& [key, constant] : constants) {
      EXPECT_EQ(profile->constants.at(key).value, constant.value) << name << " " << key;
    }
  }
}

}  // namespace
}  // namespace foretrain
