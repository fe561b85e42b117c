#include "sim/compute/operator.h"

#include <algorithm>
#include <type_traits>

namespace foretrain {
namespace {

double as_double(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

double element_bytes(DataType type) {
  switch (type) {
    case DataType::kFp32:
    case DataType::kTf32: return 4;
    case DataType::kFp16:
    case DataType::kBf16: return 2;
    case DataType::kFp8:
    case DataType::kFp8Block: return 1;
    case DataType::kFp4: return 0.5;
  }
  return 0;
}

double attention_pairs(const AttentionOp& op) {
  const double queries = as_double(op.query_length);
  const double keys = as_double(op.key_length);
  const double window = op.window > 0 ? std::min(as_double(op.window), keys) : keys;
  if (!op.causal) return queries * window;
  const double pairs = keys * window - window * (window - 1) / 2;
  return keys > 0 ? pairs * (queries / keys) : 0;
}

FlopCount flops(const Operator& op) {
  return std::visit(
      [](const auto& o) {
        using T = std::decay_t<decltype(o)>;
        if constexpr (std::is_same_v<T, GemmOp>) {
          return FlopCount{2 * as_double(o.m) * as_double(o.n) * as_double(o.k) *
                           as_double(o.batch)};
        } else if constexpr (std::is_same_v<T, AttentionOp>) {
          const double key_dim = as_double(o.head_dim);
          const double value_dim = o.value_head_dim > 0 ? as_double(o.value_head_dim) : key_dim;
          // Forward: QK^T and PV. Backward recomputes S, then dP, dV with the value width and
          // dQ, dK with the key width.
          const double per_pair =
              o.backward ? 2 * (3 * key_dim + 2 * value_dim) : 2 * (key_dim + value_dim);
          return FlopCount{per_pair * as_double(o.batch) * as_double(o.heads) * attention_pairs(o)};
        } else {
          return FlopCount{0};
        }
      },
      op);
}

std::string to_string(DataType type) {
  switch (type) {
    case DataType::kFp32: return "fp32";
    case DataType::kTf32: return "tf32";
    case DataType::kFp16: return "fp16";
    case DataType::kBf16: return "bf16";
    case DataType::kFp8: return "fp8";
    case DataType::kFp8Block: return "fp8_block";
    case DataType::kFp4: return "fp4";
  }
  return "unknown";
}

std::optional<DataType> parse_data_type(const std::string& text) {
  for (const DataType type : {DataType::kFp32, DataType::kTf32, DataType::kFp16, DataType::kBf16,
                              DataType::kFp8, DataType::kFp8Block, DataType::kFp4}) {
    if (to_string(type) == text) return type;
  }
  return std::nullopt;
}

std::string to_string(AttentionImplementation implementation) {
  switch (implementation) {
    case AttentionImplementation::kAuto: return "auto";
    case AttentionImplementation::kProfiled: return "profiled";
    case AttentionImplementation::kFlash1: return "flash1";
    case AttentionImplementation::kFlash2: return "flash2";
    case AttentionImplementation::kFlash3: return "flash3";
    case AttentionImplementation::kCudnn: return "cudnn";
  }
  return "unknown";
}

std::optional<AttentionImplementation> parse_attention_implementation(const std::string& text) {
  for (const AttentionImplementation known :
       {AttentionImplementation::kAuto, AttentionImplementation::kProfiled,
        AttentionImplementation::kFlash1, AttentionImplementation::kFlash2,
        AttentionImplementation::kFlash3, AttentionImplementation::kCudnn}) {
    if (to_string(known) == text) return known;
  }
  return std::nullopt;
}

}  // namespace foretrain
