#include "sim/workload/job_rules.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/workload/test_jobs.h"

namespace foretrain {
namespace {

std::string broken(const TrainingJob& job) {
  std::string paths;
  for (const Diagnostic& diagnostic : check_job_layout(job)) paths += diagnostic.path + ";";
  return paths;
}

TEST(JobRules, PublishedJobsAreLegal) {
  EXPECT_EQ(broken(test::job_a()), "");
  EXPECT_EQ(broken(test::job_b()), "");
  EXPECT_EQ(broken(test::job_d()), "");
  EXPECT_EQ(broken(test::job_e()), "");
}

TEST(JobRules, EachRuleNamesItsField) {
  TrainingJob job = test::job_a();
  job.parallel.tensor = 3;
  EXPECT_NE(broken(job).find("job.parallel.tensor"), std::string::npos);
  job = test::job_a();
  job.global_batch = 1000;
  EXPECT_EQ(broken(job), "job.batch.global;");
  job = test::job_a();
  job.parallel.virtual_stages = 5;
  EXPECT_EQ(broken(job), "job.parallel.virtual_stages;");
  job.schedule = PipelineSchedule::kInterleaved;
  EXPECT_EQ(broken(job), "");
  job.global_batch = 32 * 6;  // six micro-batches on four stages
  EXPECT_EQ(broken(job), "job.batch.global;");
  job = test::job_a();
  job.sharding = Sharding::kParameters;
  EXPECT_EQ(broken(job), "job.optimizer.shard;");
  job = test::job_a();
  job.parallel.data = 0;
  EXPECT_EQ(broken(job), "job.parallel.data;");
}

TEST(JobRules, ModelsWithoutProgramsAreNamed) {
  EXPECT_TRUE(check_model_support(test::llama_3_8b()).empty());
  ModelSpec model = test::llama_3_8b();
  model.moe = MoeSpec{};
  model.mla = MlaSpec{};
  EXPECT_EQ(check_model_support(model).size(), 2u);
}

}  // namespace
}  // namespace foretrain
