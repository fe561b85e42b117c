// What a tiled matrix multiplication takes on a machine of streaming multiprocessors: the mechanism
// between measured points, and the whole model where nothing is measured.
#pragma once

#include <vector>

#include "sim/compute/operator.h"
#include "sim/hardware/device_spec.h"

namespace foretrain {

/// One kernel variant: an SM computes a block of m x n of C at `efficiency` of its peak.
struct GemmTile {
  int m = 0;
  int n = 0;
  double efficiency = 1;  // (0, 1]
};

/// Constants of the mechanism for one GPU and data type.
struct GemmMachine {
  int sm_count = 0;
  double peak_flops_per_s = 0;          // dense
  double memory_bytes_per_s = 0;        // datasheet bandwidth
  double memory_efficiency = 1;         // share of it that a GEMM streams at
  double fixed_seconds = 0;             // one kernel's start and end
  double fill_k = 0;                    // a tile's prologue and epilogue, in elements of k
  double split_seconds = 0;             // further cost of splitting k over several units (split-K)
  double cast_seconds_per_element = 0;  // of A, where a measurement holds its cast to fp8
  std::vector<GemmTile> tiles;          // at least one; the fastest is taken, as a library would
};

/// Peak dense rate of the tensor cores (or of the FMA units for fp32) in a data type. Where the GPU
/// lacks the type: the next wider one that it has, since the work is then done in that.
[[nodiscard]] double peak_flops_per_s(const GpuSpec& gpu, DataType type);
/// Whether the GPU has units for the type; fp32 runs anywhere.
[[nodiscard]] bool has_units_for(const GpuSpec& gpu, DataType type);
/// FlashAttention-3 is written for Hopper.
[[nodiscard]] bool runs_flash3(const GpuSpec& gpu);

/// Bytes that C[m,n] = A[m,k] B[k,n] reads and writes once; C is bf16 (fp32 for fp32 operands), and
/// read and written in fp32 if it accumulates.
[[nodiscard]] double gemm_bytes(const GemmOp& op);

/// Duration of a GEMM without any measured correction.
///
///   T = fixed + cast m k batch + max( min over tiles and splits z of
///                      waves * 2 m_t n_t (k / z + fill_k) / (eff_t * peak / SMs) + split(z),
///                    bytes / (memory_efficiency * bandwidth) )
///   waves = ceil( z * batch * ceil(m / m_t) * ceil(n / n_t) / SMs )
///   split(1) = 0, else split_seconds + 8 z batch m n / bandwidth (fp32 partial sums, written,
///   read)
///
/// @pre m, n, k, batch >= 1 (contract).
[[nodiscard]] double gemm_mechanism_seconds(const GemmMachine& machine, const GemmOp& op);

/// Tiles and waves of the variant that gemm_mechanism_seconds takes.
struct GemmWaves {
  double tiles = 0;
  double waves = 0;
};
[[nodiscard]] GemmWaves gemm_waves(const GemmMachine& machine, const GemmOp& op);

}  // namespace foretrain
