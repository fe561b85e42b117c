#include "sim/compute/gemm_tiles.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sim/core/contracts.h"

namespace foretrain {
namespace {

struct TileTime {
  double seconds = std::numeric_limits<double>::infinity();
  GemmWaves waves;
};

double tiles_along(std::int64_t size, int tile) {
  return std::ceil(static_cast<double>(size) / tile);
}

constexpr std::array<double, 5> kSplits = {1, 2, 4, 8, 16};
constexpr double kSmallestK = 32;  // elements that the tensor cores take in at once

TileTime fastest_tile(const GemmMachine& machine, const GemmOp& op) {
  TileTime best;
  const double sm_rate = machine.peak_flops_per_s / machine.sm_count;
  const double k = static_cast<double>(op.k);
  const double partial_bytes =
      8.0 * static_cast<double>(op.m) * static_cast<double>(op.n) * static_cast<double>(op.batch);
  for (const GemmTile& tile : machine.tiles) {
    const double tiles =
        tiles_along(op.m, tile.m) * tiles_along(op.n, tile.n) * static_cast<double>(op.batch);
    const double per_k = 2.0 * tile.m * tile.n / (tile.efficiency * sm_rate);
    for (const double split : kSplits) {
      TileTime time;
      time.waves = {tiles * split, std::ceil(tiles * split / machine.sm_count)};
      time.seconds = time.waves.waves * per_k * (std::max(k / split, kSmallestK) + machine.fill_k);
      if (split > 1) {
        time.seconds += machine.split_seconds + split * partial_bytes / machine.memory_bytes_per_s;
      }
      if (time.seconds < best.seconds) best = time;
      if (tiles * split >= machine.sm_count) break;  // every SM has work: no reason to split
    }
  }
  return best;
}

}  // namespace

double peak_flops_per_s(const GpuSpec& gpu, DataType type) {
  const double fp32 = gpu.peak_fp32.value();
  const double tf32 = std::max(gpu.peak_tf32.value(), fp32);
  const double fp16 = std::max(gpu.peak_fp16.value(), tf32);
  const double bf16 = gpu.peak_bf16.value() > 0 ? gpu.peak_bf16.value() : fp32;
  const double fp8 = gpu.peak_fp8.value() > 0 ? gpu.peak_fp8.value() : bf16;
  switch (type) {
    case DataType::kFp32: return fp32;
    case DataType::kTf32: return tf32;
    case DataType::kFp16: return fp16;
    case DataType::kBf16: return bf16;
    case DataType::kFp8:
    case DataType::kFp8Block: return fp8;
    case DataType::kFp4: return gpu.peak_fp4.value() > 0 ? gpu.peak_fp4.value() : fp8;
  }
  return fp32;
}

bool has_units_for(const GpuSpec& gpu, DataType type) {
  switch (type) {
    case DataType::kFp32: return true;
    case DataType::kTf32: return gpu.peak_tf32.value() > 0;
    case DataType::kFp16: return gpu.peak_fp16.value() > 0;
    case DataType::kBf16: return gpu.peak_bf16.value() > 0;
    case DataType::kFp8:
    case DataType::kFp8Block: return gpu.peak_fp8.value() > 0;
    case DataType::kFp4: return gpu.peak_fp4.value() > 0;
  }
  return true;
}

bool runs_flash3(const GpuSpec& gpu) { return gpu.compute_capability / 10 == 9; }

double gemm_bytes(const GemmOp& op) {
  const double m = static_cast<double>(op.m);
  const double n = static_cast<double>(op.n);
  const double k = static_cast<double>(op.k);
  const double operand = element_bytes(op.type);
  const double result = op.accumulate ? 8.0 : std::max(operand, 2.0);
  return static_cast<double>(op.batch) * (operand * (m * k + k * n) + result * m * n);
}

double gemm_mechanism_seconds(const GemmMachine& machine, const GemmOp& op) {
  FORETRAIN_EXPECTS(op.m >= 1 && op.n >= 1 && op.k >= 1 && op.batch >= 1,
                    "a GEMM needs positive sizes");
  const double memory = gemm_bytes(op) / (machine.memory_efficiency * machine.memory_bytes_per_s);
  const double cast = machine.cast_seconds_per_element * static_cast<double>(op.m) *
                      static_cast<double>(op.k) * static_cast<double>(op.batch);
  return machine.fixed_seconds + cast + std::max(fastest_tile(machine, op).seconds, memory);
}

GemmWaves gemm_waves(const GemmMachine& machine, const GemmOp& op) {
  return fastest_tile(machine, op).waves;
}

}  // namespace foretrain
