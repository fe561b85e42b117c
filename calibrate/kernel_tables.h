// Measured kernel tables as CSV (plain or gzip): the rows of one GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/compute/operator.h"
#include "sim/core/diagnostics.h"

namespace foretrain {

/// One measured GEMM C[m,n] = A[m,k] B[k,n].
struct GemmSample {
  DataType type = DataType::kBf16;
  double m = 0, n = 0, k = 0;
  double seconds = 0;
};

/// One measured causal attention forward.
struct AttentionSample {
  DataType type = DataType::kBf16;
  AttentionOp op;
  double seconds = 0;
};

/// Rows of `gpu` in a table with the columns gpu, gemm_dtype, m, n, k, latency_ms (others are
/// ignored). Wrong cells and a GPU without rows are diagnostics with their line.
[[nodiscard]] Result<std::vector<GemmSample>> read_gemm_table(const std::string& path,
                                                              const std::string& gpu);
/// The same with gpu, attn_dtype, kernel_source, batch_size, isl, num_heads, num_key_value_heads,
/// head_dim, window_size, step, latency_ms. Rows with cached tokens (step > 0) and of kernels other
/// than "torch_flow" are left out.
[[nodiscard]] Result<std::vector<AttentionSample>> read_attention_table(const std::string& path,
                                                                        const std::string& gpu);

}  // namespace foretrain
