#include "sim/compute/attention_tiles.h"

#include <algorithm>
#include <cmath>

#include "sim/core/contracts.h"

namespace foretrain {
namespace {

double as_double(std::int64_t value) { return static_cast<double>(value); }

double value_dim(const AttentionOp& op) {
  return as_double(op.value_head_dim > 0 ? op.value_head_dim : op.head_dim);
}

}  // namespace

double attention_bytes(const AttentionOp& op) {
  const double queries = as_double(op.batch) * as_double(op.query_length);
  const double keys = as_double(op.batch) * as_double(op.key_length);
  const double key_dim = as_double(op.head_dim);
  const double element = element_bytes(op.type);
  const double out = std::max(element, 2.0);
  const double q = queries * as_double(op.heads) * key_dim;
  const double o = queries * as_double(op.heads) * value_dim(op);
  const double kv = keys * as_double(op.kv_heads) * (key_dim + value_dim(op));
  const double lse = 4 * queries * as_double(op.heads);
  if (!op.backward) return element * (q + kv) + out * o + lse;
  return element * (q + kv) + out * (2 * o + q + kv) + 2 * lse;
}

double attention_mechanism_seconds(const AttentionMachine& machine, const AttentionOp& op) {
  FORETRAIN_EXPECTS(op.batch >= 1 && op.query_length >= 1 && op.key_length >= 1 && op.heads >= 1 &&
                        op.kv_heads >= 1 && op.head_dim >= 1,
                    "attention needs positive sizes");
  const double queries = as_double(op.query_length);
  const double keys = as_double(op.key_length);
  const double rows = std::min(machine.tile_rows, queries);
  const double window = op.window > 0 ? std::min(as_double(op.window) + rows, keys) : keys;
  const double per_pair =
      flops(op).value() / (attention_pairs(op) * as_double(op.batch) * as_double(op.heads));
  // Half a tile per query is computed and masked on the diagonal.
  const double pairs =
      std::min(attention_pairs(op) + (op.causal ? queries * rows / 2 : 0.0), queries * keys) +
      queries * machine.fill_keys;
  const double sm_rate = machine.efficiency * machine.peak_flops_per_s / machine.sm_count;
  const double total = per_pair * pairs * as_double(op.batch) * as_double(op.heads);
  const double longest = per_pair * rows * (window + machine.fill_keys);
  const double compute = std::max(total / machine.sm_count, longest) / sm_rate;
  return machine.fixed_seconds +
         std::max(compute, attention_bytes(op) / machine.memory_bytes_per_s);
}

}  // namespace foretrain
