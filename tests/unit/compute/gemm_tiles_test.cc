#include "sim/compute/gemm_tiles.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace foretrain {
namespace {

/// 100 SMs of 1 TFLOP/s each, one tile of 128 x 128, no overheads, memory never in the way.
GemmMachine plain_machine() {
  GemmMachine machine;
  machine.sm_count = 100;
  machine.peak_flops_per_s = 100e12;
  machine.memory_bytes_per_s = 1e18;
  machine.tiles = {{128, 128, 1.0}};
  machine.split_seconds = 1;  // never worth it
  return machine;
}

GemmOp gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmOp op;
  op.m = m, op.n = n, op.k = k;
  return op;
}

// One wave of 100 tiles of 2 * 128 * 128 * 4096 FLOP at 1 TFLOP/s an SM.
TEST(GemmTiles, OneFullWaveTakesOneTile) {
  const double tile = 2.0 * 128 * 128 * 4096 / 1e12;
  EXPECT_DOUBLE_EQ(gemm_mechanism_seconds(plain_machine(), gemm(1280, 1280, 4096)), tile);
  const GemmWaves waves = gemm_waves(plain_machine(), gemm(1280, 1280, 4096));
  EXPECT_EQ(waves.tiles, 100);
  EXPECT_EQ(waves.waves, 1);
}

// 101 tiles need a second wave: the time doubles although the work grows by 1 %.
TEST(GemmTiles, OneTileMoreThanTheSmsDoublesTheTime) {
  const GemmMachine machine = plain_machine();
  const double full = gemm_mechanism_seconds(machine, gemm(100 * 128, 128, 4096));
  const double one_more = gemm_mechanism_seconds(machine, gemm(101 * 128, 128, 4096));
  EXPECT_DOUBLE_EQ(one_more, 2 * full);
}

// A row more than the tile costs a whole tile row.
TEST(GemmTiles, PartTilesCostWholeTiles) {
  const GemmMachine machine = plain_machine();
  EXPECT_EQ(gemm_waves(machine, gemm(1281, 1280, 64)).tiles, 110);
}

// 10 tiles of k = 16384 on 100 SMs: split by 8, 80 units in one wave take an eighth of the time.
TEST(GemmTiles, SplittingKUsesIdleSms) {
  GemmMachine machine = plain_machine();
  machine.split_seconds = 0;
  machine.memory_bytes_per_s = 1e30;  // partial sums cost nothing
  const double whole = 2.0 * 128 * 128 * 16384 / 1e12;
  EXPECT_NEAR(gemm_mechanism_seconds(machine, gemm(1280, 128, 16384)), whole / 8, 1e-9 * whole);
}

// C = A B with m = n = 4096, k = 1: reads 2 * 4096 bf16 and writes 4096^2 bf16.
TEST(GemmTiles, ThinProductsAreBoundByMemory) {
  GemmMachine machine = plain_machine();
  machine.memory_bytes_per_s = 1e12;
  machine.memory_efficiency = 0.5;
  const double bytes = 2.0 * (4096 + 4096) + 2.0 * 4096 * 4096;
  EXPECT_DOUBLE_EQ(gemm_bytes(gemm(4096, 4096, 1)), bytes);
  EXPECT_DOUBLE_EQ(gemm_mechanism_seconds(machine, gemm(4096, 4096, 1)), bytes / 0.5e12);
}

// A weight gradient reads and writes C in fp32: 8 bytes an element instead of 2.
TEST(GemmTiles, AccumulationMovesEightBytesAnElement) {
  GemmOp op = gemm(100, 200, 300);
  const double plain = gemm_bytes(op);
  op.accumulate = true;
  EXPECT_DOUBLE_EQ(gemm_bytes(op) - plain, 6.0 * 100 * 200);
}

TEST(GemmTiles, PeakFallsBackToAWiderType) {
  GpuSpec a100;
  a100.peak_fp32 = teraflops(19.5);
  a100.peak_tf32 = teraflops(156);
  a100.peak_bf16 = a100.peak_fp16 = teraflops(312);
  EXPECT_EQ(peak_flops_per_s(a100, DataType::kFp8), 312e12);
  EXPECT_EQ(peak_flops_per_s(a100, DataType::kFp4), 312e12);
  EXPECT_EQ(peak_flops_per_s(a100, DataType::kFp32), 19.5e12);
}

RC_GTEST_PROP(GemmTilesProperties, NeverFasterThanPeakAndNeverShrinksWithK, ()) {
  const auto size = rc::gen::inRange<std::int64_t>(1, 20'000);
  const GemmOp op = gemm(*size, *size, *size);
  GemmMachine machine = plain_machine();
  machine.fixed_seconds = 2e-6;
  machine.fill_k = 100;
  const double seconds = gemm_mechanism_seconds(machine, op);
  RC_ASSERT(seconds * machine.peak_flops_per_s >= flops(op).value());
  const double longer = gemm_mechanism_seconds(machine, gemm(op.m, op.n, op.k + 1));
  RC_ASSERT(longer >= seconds);
}

}  // namespace
}  // namespace foretrain
