#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/workload/step_program.h"
#include "tests/unit/workload/test_jobs.h"

namespace foretrain {
namespace {

const ProgramStep& step(const Program& program, const std::string& name) {
  const auto at = std::find_if(program.steps.begin(), program.steps.end(),
                               [&](const ProgramStep& s) { return s.name == name; });
  EXPECT_NE(at, program.steps.end()) << name;
  return *at;
}

double moved(const ProgramStep& of) {
  const auto& op = std::get<MemoryOp>(std::get<Operator>(of.op));
  return op.bytes_read + op.bytes_written;
}

TEST(HeadProgram, HeadGemmUsesThePaddedVocabulary) {
  const ForwardBackward head = head_program(test::job_a());
  const auto& gemm = std::get<GemmOp>(std::get<Operator>(step(head.forward, "head").op));
  EXPECT_EQ(gemm.m, 8192);
  EXPECT_EQ(gemm.n, 16128);
  EXPECT_EQ(gemm.k, 8192);
}

// Three all-reduces of 4 T = 8,192 B without fusion; two (4 T and 8 T) with it.
TEST(HeadProgram, CrossEntropyReducesOverTheVocabularyShards) {
  TrainingJob job = test::job_b();
  const auto reduces = [&] {
    std::vector<std::int64_t> sizes;
    for (const ProgramStep& s : head_program(job).forward.steps) {
      const auto* op = std::get_if<CollectiveOp>(&s.op);
      if (op != nullptr && op->kind == CollectiveKind::kAllReduce)
        sizes.push_back(op->size.count());
    }
    return sizes;
  };
  EXPECT_EQ(reduces(), (std::vector<std::int64_t>{8192, 16384}));
  job.options.fused_kernels = false;
  EXPECT_EQ(reduces(), (std::vector<std::int64_t>{8192, 8192, 8192}));
}

TEST(EmbeddingProgram, ReducesItsOutputOverTheTensorGroup) {
  TrainingJob job = test::job_b();
  const auto scattered =
      std::get<CollectiveOp>(step(embedding_program(job).forward, "embedding output").op);
  EXPECT_EQ(scattered.kind, CollectiveKind::kReduceScatter);
  EXPECT_EQ(scattered.size.count(), 50'331'648);
  job.parallel.sequence_parallel = false;
  const auto reduced =
      std::get<CollectiveOp>(step(embedding_program(job).forward, "embedding output").op);
  EXPECT_EQ(reduced.kind, CollectiveKind::kAllReduce);
}

// 30 bytes per owned parameter: 2.129572e9 on stage 0 of Llama 3 70B, t8 p4 D32.
TEST(OptimizerProgram, AdamMovesThirtyBytesPerParameterOfTheShard) {
  const std::int64_t local = 2'271'543'296;
  const Program program = optimizer_program(test::job_a(), local, local / 32);
  EXPECT_NEAR(moved(step(program, "adam")), 2.129572e9, 1e3);
  EXPECT_DOUBLE_EQ(moved(step(program, "zero gradients")), 4.0 * static_cast<double>(local));
}

TEST(OptimizerProgram, BytesPerParameterByRecipe) {
  const auto bytes = [](const TrainingJob& job) {
    return moved(step(optimizer_program(job, 1000, 1000), "adam")) / 1000;
  };
  TrainingJob job = test::job_a();
  job.options.gradient_bytes = 2;
  EXPECT_DOUBLE_EQ(bytes(job), 28);
  TrainingJob sharded = test::job_d(Framework::kFsdp2);
  EXPECT_DOUBLE_EQ(bytes(sharded), 28);
  sharded.options.optimizer_fused = false;
  EXPECT_DOUBLE_EQ(bytes(sharded), 80);
}

}  // namespace
}  // namespace foretrain
