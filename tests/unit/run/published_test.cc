// The published runs: every one is predicted, holds its tolerance, and half are within the bar.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tests/unit/run/run_fixture.h"

namespace foretrain {
namespace {

/// Bars of the first release: median absolute error of the step time, and the largest one.
constexpr double kMedianBar = 0.12;
constexpr double kLargestBar = 0.35;

std::vector<std::string> files_in(const char* folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(data_dir() + "/" + folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

RunReport run_file(const std::string& file) {
  LoadOptions load;
  load.data_dir = data_dir();
  const Result<Scenario> scenario = load_scenario(file, load);
  EXPECT_TRUE(scenario.has_value()) << (scenario ? "" : to_string(scenario.error()));
  if (!scenario) return {};
  RunOptions options;
  options.data_dir = data_dir();
  const Result<RunReport> report = simulate(*scenario, options);
  EXPECT_TRUE(report.has_value()) << (report ? "" : to_string(report.error()));
  return report.value_or(RunReport{});
}

TEST(PublishedRuns, StepTimesHold) {
  std::vector<double> errors;
  for (const std::string& file : files_in("published")) {
    const RunReport report = run_file(file);
    ASSERT_FALSE(report.expectations.empty()) << file;
    for (const ExpectationResult& e : report.expectations) {
      EXPECT_TRUE(e.holds) << file << ": " << e.metric << " " << e.expected << ", is " << e.actual;
      if (e.metric != "step.time_s") continue;
      errors.push_back(std::abs(e.relative_error));
      EXPECT_LE(errors.back(), kLargestBar) << file;
    }
  }
  EXPECT_GE(errors.size(), 24u);
  std::sort(errors.begin(), errors.end());
  EXPECT_LE(errors[errors.size() / 2], kMedianBar);
}

TEST(Tutorial, EveryFileRunsAndHolds) {
  EXPECT_EQ(files_in("tutorial").size(), 5u);
  for (const std::string& file : files_in("tutorial")) {
    const RunReport report = run_file(file);
    EXPECT_GT(report.step_time_s, 0) << file;
    for (const ExpectationResult& e : report.expectations)
      EXPECT_TRUE(e.holds) << file << ": " << e.metric;
  }
}

/// 16,384 GPUs at default fidelity, folded.
TEST(Scale, Llama405BOn16384Gpus) {
  const RunReport report = run_file(data_dir() + "/bases/llama-3-405b-16384-h100.yaml");
  EXPECT_EQ(report.num_gpus, 16384);
  EXPECT_TRUE(report.manifest.folded);
  EXPECT_NEAR(report.breakdown.total(), report.step_time_s, 1e-9 * report.step_time_s);
}

}  // namespace
}  // namespace foretrain
