// The vocabulary of compute operators: what a GPU is asked to do, without any time in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "sim/core/units.h"

namespace foretrain {

enum class DataType { kFp32, kTf32, kFp16, kBf16, kFp8, kFp8Block, kFp4 };
/// Bytes of one element (FP4: 0.5).
[[nodiscard]] double element_bytes(DataType type);
/// "bf16", "fp8_block", … as profiles, queries and scenarios spell it.
[[nodiscard]] std::string to_string(DataType type);
[[nodiscard]] std::optional<DataType> parse_data_type(const std::string& text);

/// Which fused attention kernel runs. kAuto: what training frameworks use on the architecture
/// (attention_auto in efficiency.yaml); kProfiled: the kernel that the profile's table holds, where
/// it holds one (causal forward), else as kAuto.
enum class AttentionImplementation { kAuto, kProfiled, kFlash1, kFlash2, kFlash3, kCudnn };
/// "auto", "profiled", "flash1", "flash2", "flash3", "cudnn".
[[nodiscard]] std::string to_string(AttentionImplementation implementation);
[[nodiscard]] std::optional<AttentionImplementation> parse_attention_implementation(
    const std::string& text);

/// C[m,n] = A[m,k] * B[k,n]; `batch` independent ones (grouped or batched GEMM).
/// accumulate: C is fp32 and is read and added to (wgrad into the main gradient).
struct GemmOp {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batch = 1;
  DataType type = DataType::kBf16;
  bool accumulate = false;
};

/// Fused (flash) attention core of one GPU. `sequence` keys and queries per sequence (queries may
/// be a share of it under context parallelism); window 0 = full.
struct AttentionOp {
  std::int64_t batch = 1;
  std::int64_t query_length = 0;
  std::int64_t key_length = 0;
  std::int64_t heads = 0;     // query heads on this GPU
  std::int64_t kv_heads = 0;  // key-value heads on this GPU
  std::int64_t head_dim = 0;
  std::int64_t value_head_dim = 0;  // 0: as head_dim
  std::int64_t window = 0;
  bool causal = true;
  bool backward = false;
  DataType type = DataType::kBf16;
  AttentionImplementation implementation = AttentionImplementation::kAuto;
};

/// Query-key pairs of one head and sequence under the mask: causal s(s+1)/2, with a window w <= s
/// s w - w(w-1)/2. Fewer queries than keys are a balanced share (zig-zag context parallelism) of
/// the causal pairs of `key_length`.
[[nodiscard]] double attention_pairs(const AttentionOp& op);

/// Unfused attention core (QK^T batched GEMM, softmax, PV) is built of GemmOp and MemoryOp.

/// A memory-bound kernel: bytes read and written, `launches` kernels.
struct MemoryOp {
  double bytes_read = 0;
  double bytes_written = 0;
  int launches = 1;
};

using Operator = std::variant<GemmOp, AttentionOp, MemoryOp>;

/// Multiply-adds counted twice; attention counts the pairs of the mask (causal s(s+1)/2), backward
/// 2.5 times the forward (flash). MemoryOp counts none.
[[nodiscard]] FlopCount flops(const Operator& op);

}  // namespace foretrain
