// Fits tables of the fused attention forward by data type, head size and window.
#pragma once

#include <vector>

#include "calibrate/kernel_tables.h"
#include "sim/compute/attention_tiles.h"
#include "sim/compute/profile.h"

namespace foretrain {

/// One table per data type, head size and window (full, or of at most 512 keys) with at least 300
/// samples. `rates`: SMs, reached memory bandwidth and tile rows; `peaks` by type are taken from
/// `peak_flops_per_s` of `gpu`.
[[nodiscard]] std::vector<AttentionTable> fit_attention(const std::vector<AttentionSample>& samples,
                                                        const GpuSpec& gpu,
                                                        const AttentionMachine& rates);

}  // namespace foretrain
