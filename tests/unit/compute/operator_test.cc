#include "sim/compute/operator.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace foretrain {
namespace {

AttentionOp attention(std::int64_t sequence, std::int64_t heads) {
  AttentionOp op;
  op.query_length = op.key_length = sequence;
  op.heads = op.kv_heads = heads;
  op.head_dim = 128;
  return op;
}

/// Pairs counted one by one: query i sees keys max(0, i - window + 1) to i.
double counted_pairs(std::int64_t sequence, std::int64_t window) {
  double pairs = 0;
  for (std::int64_t i = 0; i < sequence; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      if (window == 0 || i - j < window) pairs += 1;
    }
  }
  return pairs;
}

// Llama-3 70B with tensor parallelism 8: 8 heads of 128 over 8192 tokens, causal:
// 4 * 8 * 128 * 8192 * 8193 / 2, and 2.5 times that backward.
TEST(Operator, AttentionFlopsOfLlama70bPerGpu) {
  AttentionOp op = attention(8192, 8);
  EXPECT_EQ(flops(op).value(), 137'455'730'688.0);
  op.backward = true;
  EXPECT_EQ(flops(op).value(), 343'639'326'720.0);
}

// DeepSeek-V3's MLA core: 128 heads, keys of 192, values of 128, 4096 tokens:
// forward 2 a (192 + 128) A_p, backward 2 a (3 * 192 + 2 * 128) A_p, A_p = 4096 * 4097 / 2.
TEST(Operator, AttentionFlopsOfLatentAttention) {
  AttentionOp op = attention(4096, 128);
  op.head_dim = 192;
  op.value_head_dim = 128;
  EXPECT_EQ(flops(op).value(), 687'362'539'520.0);
  op.backward = true;
  EXPECT_EQ(flops(op).value(), 1'787'142'602'752.0);
}

// s w - w (w - 1) / 2 with s = 8192, w = 4096.
TEST(Operator, PairsWithinAWindow) {
  AttentionOp op = attention(8192, 1);
  op.window = 4096;
  EXPECT_EQ(attention_pairs(op), 25'167'872.0);
}

TEST(Operator, BalancedContextParallelismSharesThePairs) {
  AttentionOp op = attention(32768, 32);
  const double all = attention_pairs(op);
  op.query_length = 8192;
  EXPECT_EQ(attention_pairs(op), all / 4);
}

TEST(Operator, GemmCountsMultiplyAndAdd) {
  GemmOp op;
  op.m = 2048, op.n = 4608, op.k = 12288, op.batch = 3;
  EXPECT_EQ(flops(op).value(), 3 * 2.0 * 2048 * 4608 * 12288);
  EXPECT_EQ(flops(MemoryOp{1e9, 1e9, 1}).value(), 0);
}

TEST(Operator, ElementBytes) {
  EXPECT_EQ(element_bytes(DataType::kBf16), 2);
  EXPECT_EQ(element_bytes(DataType::kFp8Block), 1);
  EXPECT_EQ(element_bytes(DataType::kFp4), 0.5);
}

RC_GTEST_PROP(OperatorProperties, PairsAgreeWithCounting, ()) {
  const auto sequence = *rc::gen::inRange<std::int64_t>(1, 80);
  const auto window = *rc::gen::inRange<std::int64_t>(0, 100);
  AttentionOp op = attention(sequence, 1);
  op.window = window;
  RC_ASSERT(attention_pairs(op) == counted_pairs(sequence, window));
}

RC_GTEST_PROP(OperatorProperties, NamesOfTypesReadBack, ()) {
  const auto type =
      *rc::gen::element(DataType::kFp32, DataType::kTf32, DataType::kFp16, DataType::kBf16,
                        DataType::kFp8, DataType::kFp8Block, DataType::kFp4);
  RC_ASSERT(parse_data_type(to_string(type)) == type);
}

}  // namespace
}  // namespace foretrain
