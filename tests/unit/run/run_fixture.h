// Scenarios as text, run on the shipped catalog.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "sim/run/simulate.h"

namespace foretrain {

inline std::string data_dir() { return std::string{FORETRAIN_SOURCE_DIR} + "/scenarios"; }

inline Scenario scenario_of(const std::string& text) {
  LoadOptions options;
  options.data_dir = data_dir();
  Result<Scenario> scenario = parse_scenario(text, "test.yaml", options);
  EXPECT_TRUE(scenario.has_value()) << (scenario ? "" : to_string(scenario.error()));
  return scenario.value_or(Scenario{});
}

inline RunReport run_text(const std::string& text, bool fold = true) {
  const Scenario scenario = scenario_of(text);
  RunOptions options;
  options.data_dir = data_dir();
  options.fold = fold;
  const Result<RunReport> report = simulate(scenario, options);
  EXPECT_TRUE(report.has_value()) << (report ? "" : to_string(report.error()));
  return report.value_or(RunReport{});
}

}  // namespace foretrain
