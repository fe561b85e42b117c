// Fits the GEMM mechanism and the table of what measurement adds to it.
#pragma once

#include <vector>

#include "calibrate/kernel_tables.h"
#include "sim/compute/profile.h"

namespace foretrain {

/// Values of m, n and k in the samples' order that the table keeps (sorted, unique): every value of
/// n and k, and a thinned list of m.
struct GemmGrid {
  std::vector<double> m;
  std::vector<double> n;
  std::vector<double> k;
};
[[nodiscard]] GemmGrid gemm_grid(const std::vector<GemmSample>& samples);

/// Fit of all samples of one data type, with the error on lines of n and k that a second fit did
/// not see. `rates`: sm_count, peak_flops_per_s and memory_bytes_per_s of the measured GPU.
///
///   minimise  sum w |log(measured / mechanism)|   over tile efficiencies, fill, fixed, split,
///   memory
///
/// by coordinate descent with shrinking factors (deterministic), then smooth the remaining
/// log2(measured / mechanism) onto the grid.
/// @pre at least 100 samples, all of one type (contract).
[[nodiscard]] GemmTable fit_gemm(const std::vector<GemmSample>& samples, const GemmMachine& rates);

/// Prediction of a fitted table, as sim/compute makes it (without the sustained factor).
[[nodiscard]] double gemm_table_seconds(const GemmTable& table, const GemmMachine& rates,
                                        const GemmOp& op);

}  // namespace foretrain
