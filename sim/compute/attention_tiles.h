// What a fused attention forward takes: the mechanism between measured points.
#pragma once

#include "sim/compute/operator.h"

namespace foretrain {

/// Constants of the mechanism for one GPU, data type and head size.
struct AttentionMachine {
  int sm_count = 0;
  double peak_flops_per_s = 0;
  double efficiency = 1;          // share of the peak of a large problem
  double memory_bytes_per_s = 0;  // reached bandwidth
  double fixed_seconds = 0;
  double tile_rows = 128;  // query rows of one work unit
  double fill_keys = 0;    // a work unit's prologue and epilogue, in keys
};

/// Bytes of Q, K, V, O (backward: and of dO, dQ, dK, dV) and the fp32 log-sum-exp, each once.
/// @source training-step model: flash bytes, forward 2T(2q + 2kv) + 4 T a.
[[nodiscard]] double attention_bytes(const AttentionOp& op);

/// Duration of the forward or backward:
///
///   T = fixed + max( W / (SMs * r), W_longest / r, bytes / bandwidth ),  r = efficiency * peak /
///   SMs
///
/// W: FLOPs with the diagonal rounded up to tiles and fill_keys more keys for every query;
/// W_longest: one unit of tile_rows queries that sees all its keys, which bounds short batches with
/// few heads.
/// @pre all sizes >= 1 (contract).
[[nodiscard]] double attention_mechanism_seconds(const AttentionMachine& machine,
                                                 const AttentionOp& op);

}  // namespace foretrain
