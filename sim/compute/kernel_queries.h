// Questions about kernels as text: one, or the rows of a CSV file.
#pragma once

#include <string>
#include <vector>

#include "sim/compute/compute_model.h"
#include "sim/core/diagnostics.h"

namespace foretrain {

/// One question; every field is text as the command line or a CSV cell holds it, empty = default.
struct KernelQuery {
  std::string op;     // gemm | attention | memory | moe
  std::string dtype;  // default bf16
  std::string m, n, k;
  std::string batch, seq, heads, kv_heads, head_dim;
  std::string causal;     // default true
  std::string direction;  // forward (default) | backward | forward+backward
  std::string window;
  std::string implementation;  // default profiled: the table's kernel where it has one
  std::string bytes_read, bytes_written;
  bool accumulate = false;
};

struct KernelAnswer {
  double time_s = 0;
  double flops_per_s = 0;  // 0 for memory-bound kernels
  double low_s = 0;        // 5 % and 95 % of the time, log-normal error
  double high_s = 0;
  bool extrapolated = false;
};

/// The prediction, or the reason why there is none (one line, lower case).
[[nodiscard]] tl::expected<KernelAnswer, std::string> answer_query(const ComputeModel& model,
                                                                   const KernelQuery& query);

struct AnsweredFile {
  std::string text;  // the CSV with the columns of the prediction added
  int rows = 0;
  int failed = 0;
};

/// Every row of a CSV file answered, in its order: its own columns, then time_s, flops_per_s,
/// interval_low_s, interval_high_s, extrapolated, error. Unknown columns are kept. A file without
/// the column `op` is a diagnostic.
[[nodiscard]] Result<AnsweredFile> answer_query_file(const ComputeModel& model,
                                                     const std::string& path);
/// The same from text; `name` stands for the file in diagnostics.
[[nodiscard]] Result<AnsweredFile> answer_query_text(const ComputeModel& model,
                                                     const std::string& text,
                                                     const std::string& name);

}  // namespace foretrain
