#include "sim/compute/kernel_queries.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace foretrain {
namespace {

/// One second for every TFLOP, or for every TB moved; sigma 10 %.
class ProportionalModel : public ComputeModel {
 public:
  ProportionalModel() {
    gpu_.name = "ampere-like";
    gpu_.compute_capability = 80;
    gpu_.peak_bf16 = gpu_.peak_fp16 = FlopRate{312e12};
  }
  TimeEstimate time(const Operator& op) const override {
    const MemoryOp* memory = std::get_if<MemoryOp>(&op);
    const double work =
        memory != nullptr ? memory->bytes_read + memory->bytes_written : flops(op).value();
    return {work * 1e-12, 0.1, false};
  }
  double launch_seconds() const override { return 0; }
  double kernel_gap_seconds() const override { return 0; }
  double gemm_slowdown(int) const override { return 1; }
  const GpuSpec& gpu() const override { return gpu_; }
  std::string provenance() const override { return "test"; }

 private:
  GpuSpec gpu_;
};

AnsweredFile answered(const std::string& text) {
  const Result<AnsweredFile> file = answer_query_text(ProportionalModel{}, text, "q.csv");
  EXPECT_TRUE(file);
  return file.value_or(AnsweredFile{});
}

// 2 * 100 * 200 * 300 = 12e6 FLOP; the interval is exp(+-1.64485 * 0.1).
TEST(KernelQueries, AnswersStandBesideTheirRows) {
  const AnsweredFile file = answered("id,op,dtype,m,n,k\na,gemm,bf16,100,200,300\n");
  EXPECT_EQ(file.failed, 0);
  EXPECT_EQ(
      file.text,
      "id,op,dtype,m,n,k,time_s,flops_per_s,interval_low_s,interval_high_s,extrapolated,error\n"
      "a,gemm,bf16,100,200,300,1.2e-05,1e+12,1.018e-05,1.41454e-05,false,\n");
}

TEST(KernelQueries, RowsThatCannotBeAnsweredSayWhyAndKeepTheirPlace) {
  const AnsweredFile file = answered(
      "op,m,n,k,bytes_read\ngemm,0,1,1,\ngemm,1,1\nnothing\nmemory,,,,1e12\ngemm,1,2,3,4,5,6\n");
  EXPECT_EQ(file.rows, 5);
  EXPECT_EQ(file.failed, 4);
  EXPECT_NE(file.text.find("gemm,0,1,1,,,,,,,m '0' is not a number"), std::string::npos);
  EXPECT_NE(file.text.find("gemm,1,1,,,,,,,,k is missing"), std::string::npos);
  EXPECT_NE(file.text.find("memory,,,,1e12,1,,"), std::string::npos);
}

TEST(KernelQueries, AttentionDefaultsAreCausalForwardWithoutGrouping) {
  KernelQuery query;
  query.op = "attention";
  query.batch = "1", query.seq = "8192", query.heads = "8", query.head_dim = "128";
  const auto forward = answer_query(ProportionalModel{}, query);
  ASSERT_TRUE(forward);
  EXPECT_NEAR(forward->time_s, 0.137455730688, 1e-12);
  query.direction = "backward";
  EXPECT_NEAR(answer_query(ProportionalModel{}, query)->time_s, 0.34363932672, 1e-12);
  query.direction = "forward+backward";
  EXPECT_NEAR(answer_query(ProportionalModel{}, query)->time_s, 0.481095057408, 1e-12);
  query.direction = "sideways";
  EXPECT_FALSE(answer_query(ProportionalModel{}, query));
}

TEST(KernelQueries, WhatTheGpuHasNoUnitsForIsRefused) {
  KernelQuery gemm;
  gemm.op = "gemm";
  gemm.m = gemm.n = gemm.k = "64";
  EXPECT_TRUE(answer_query(ProportionalModel{}, gemm));
  for (const char* type : {"fp8", "fp8_block", "fp4", "tf32"}) {
    gemm.dtype = type;
    const auto refused = answer_query(ProportionalModel{}, gemm);
    ASSERT_FALSE(refused) << type;
    EXPECT_EQ(refused.error(), std::string{"ampere-like has no tensor cores for "} + type);
  }
  KernelQuery attention;
  attention.op = "attention";
  attention.batch = "1", attention.seq = "128", attention.heads = "12", attention.head_dim = "64";
  attention.kv_heads = "5";
  EXPECT_EQ(answer_query(ProportionalModel{}, attention).error(),
            "kv_heads 5 does not divide the 12 heads");
  attention.kv_heads = "4", attention.implementation = "flash3";
  EXPECT_EQ(answer_query(ProportionalModel{}, attention).error(),
            "FlashAttention-3 is written for Hopper, not ampere-like");
}

TEST(KernelQueries, AFileWithoutTheColumnOpIsRefused) {
  const auto file = answer_query_text(ProportionalModel{}, "m,n,k\n1,2,3\n", "q.csv");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().front().path, "op");
  EXPECT_FALSE(answer_query_text(ProportionalModel{}, "", "q.csv"));
}

RC_GTEST_PROP(KernelQueriesProperties, AnyTextGivesAsManyRowsAsItHas, ()) {
  const auto cells =
      *rc::gen::container<std::string>(rc::gen::element('1', ',', '"', 'x', ' ', '-'));
  const Result<AnsweredFile> file =
      answer_query_text(ProportionalModel{}, "op,m\ngemm" + cells + "\n", "q.csv");
  RC_ASSERT(static_cast<bool>(file));
  RC_ASSERT(file->rows == 1);
}

}  // namespace
}  // namespace foretrain
