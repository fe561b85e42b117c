#include <gtest/gtest.h>

#include <set>

#include "sim/results/json_writer.h"
#include "sim/results/text_report.h"

namespace foretrain {
namespace {

RunReport report_with_step(double seconds) {
  RunReport report;
  report.scenario = "x";
  report.step_time_s = seconds;
  report.breakdown[TimeKind::kGemm] = seconds;
  return report;
}

TEST(JsonWriter, HasTheKeysOfTheContract) {
  const MetricLookup lookup{report_with_step(2.5)};
  for (const char* path : {"schema_version",
                           "scenario",
                           "manifest.version",
                           "outcome",
                           "step.time_s",
                           "step.breakdown_s.compute_attention",
                           "step.breakdown_s.compute_gemm",
                           "step.breakdown_s.compute_other",
                           "step.breakdown_s.exposed_tensor",
                           "step.breakdown_s.exposed_context",
                           "step.breakdown_s.exposed_expert",
                           "step.breakdown_s.exposed_pipeline",
                           "step.breakdown_s.exposed_data",
                           "step.breakdown_s.bubble",
                           "step.breakdown_s.optimizer",
                           "step.breakdown_s.host",
                           "throughput.tokens_per_s",
                           "throughput.tokens_per_s_per_gpu",
                           "throughput.model_flops_per_s_per_gpu",
                           "throughput.mfu",
                           "throughput.hfu",
                           "memory.peak_bytes",
                           "memory.fits",
                           "memory.limit_bytes",
                           "parallel.world_size"}) {
    EXPECT_TRUE(lookup.find(path).has_value()) << path;
  }
  EXPECT_EQ(lookup.find("step.time_s")->number, 2.5);
  EXPECT_EQ(lookup.find("outcome")->text, "completed");
  EXPECT_FALSE(lookup.find("step.no_such").has_value());
  EXPECT_FALSE(lookup.find("").has_value());
  EXPECT_FALSE(lookup.find("step").has_value());
}

TEST(TextReport, HasNoEscapeCodesWithoutColor) {
  const std::string text = to_text(report_with_step(2.5), {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("Step time"), std::string::npos);
}

TEST(TextReport, GroupsThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-1234), "-1,234");
}

}  // namespace
}  // namespace foretrain
