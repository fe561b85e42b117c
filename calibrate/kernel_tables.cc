#include "calibrate/kernel_tables.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <optional>

#include "calibrate/csv_file.h"

namespace foretrain {
namespace {

constexpr std::size_t kMaxProblems = 20;

/// Reads cells of one table by column name.
class CellReader {
 public:
  CellReader(const CsvFile& csv, const std::vector<std::string>& columns) : csv_(csv) {
    for (const std::string& column : columns) {
      indices_.push_back(csv.column(column));
      if (indices_.back() == csv.header.size()) {
        problems_.push_back(Diagnostic{Severity::kError, SourceLocation{csv.path, 1, 1}, column,
                                       "is a column that this table needs", ""});
      }
    }
  }

  [[nodiscard]] const std::string& text(const CsvRow& row, std::size_t column) const {
    return row.fields[indices_[column]];
  }

  double number(const CsvRow& row, std::size_t column, double low) {
    const std::string& cell = text(row, column);
    char* end = nullptr;
    const double value = std::strtod(cell.c_str(), &end);
    const bool whole = !cell.empty() && end == cell.c_str() + cell.size();
    if (whole && std::isfinite(value) && value >= low && value < 1e15) return value;
    report(row, csv_.header[indices_[column]],
           fmt::format("'{}' is not a number of at least {}", cell, low));
    return low;
  }

  std::optional<DataType> type(const CsvRow& row, std::size_t column) {
    const std::string& cell = text(row, column);
    const std::optional<DataType> known =
        cell == "bfloat16" ? DataType::kBf16 : parse_data_type(cell);
    if (!known)
      report(row, csv_.header[indices_[column]], fmt::format("'{}' is no data type", cell));
    return known;
  }

  void report(const CsvRow& row, const std::string& path, std::string message) {
    if (problems_.size() >= kMaxProblems) return;
    problems_.push_back(Diagnostic{Severity::kError, SourceLocation{csv_.path, row.line, 1}, path,
                                   std::move(message), ""});
  }
  [[nodiscard]] const Diagnostics& problems() const { return problems_; }

 private:
  const CsvFile& csv_;
  std::vector<std::size_t> indices_;
  Diagnostics problems_;
};

template <class T>
Result<std::vector<T>> finished(std::vector<T> samples, const CellReader& cells,
                                const std::string& path, const std::string& gpu) {
  if (!cells.problems().empty()) return tl::make_unexpected(cells.problems());
  if (samples.empty()) {
    return fail({path, 0, 0}, "gpu", fmt::format("has no rows of '{}'", gpu),
                "write --gpu as the table's column gpu does, e.g. h100_sxm");
  }
  return samples;
}

}  // namespace

Result<std::vector<GemmSample>> read_gemm_table(const std::string& path, const std::string& gpu) {
  const Result<CsvFile> csv = read_csv(path, "gpu", gpu);
  if (!csv) return tl::make_unexpected(csv.error());
  CellReader cells(*csv, {"gemm_dtype", "m", "n", "k", "latency_ms"});
  if (!cells.problems().empty()) return tl::make_unexpected(cells.problems());
  std::vector<GemmSample> samples;
  samples.reserve(csv->rows.size());
  for (const CsvRow& row : csv->rows) {
    GemmSample sample;
    const std::optional<DataType> type = cells.type(row, 0);
    sample.type = type.value_or(DataType::kBf16);
    sample.m = cells.number(row, 1, 1);
    sample.n = cells.number(row, 2, 1);
    sample.k = cells.number(row, 3, 1);
    sample.seconds = 1e-3 * cells.number(row, 4, 1e-9);
    samples.push_back(sample);
  }
  return finished(std::move(samples), cells, path, gpu);
}

Result<std::vector<AttentionSample>> read_attention_table(const std::string& path,
                                                          const std::string& gpu) {
  const Result<CsvFile> csv = read_csv(path, "gpu", gpu);
  if (!csv) return tl::make_unexpected(csv.error());
  CellReader cells(*csv, {"attn_dtype", "kernel_source", "step", "batch_size", "isl", "num_heads",
                          "num_key_value_heads", "head_dim", "window_size", "latency_ms"});
  if (!cells.problems().empty()) return tl::make_unexpected(cells.problems());
  const auto whole = [&](const CsvRow& row, std::size_t column, double low) {
    return std::llround(cells.number(row, column, low));
  };
  std::vector<AttentionSample> samples;
  samples.reserve(csv->rows.size());
  for (const CsvRow& row : csv->rows) {
    if (cells.text(row, 1) != "torch_flow" || cells.text(row, 2) != "0") continue;
    AttentionSample sample;
    const std::optional<DataType> type = cells.type(row, 0);
    sample.type = type.value_or(DataType::kBf16);
    sample.op.type = sample.type;
    sample.op.batch = whole(row, 3, 1);
    sample.op.query_length = sample.op.key_length = whole(row, 4, 1);
    sample.op.heads = whole(row, 5, 1);
    sample.op.kv_heads = whole(row, 6, 1);
    sample.op.head_dim = whole(row, 7, 1);
    sample.op.window = whole(row, 8, 0);
    sample.seconds = 1e-3 * cells.number(row, 9, 1e-9);
    samples.push_back(sample);
  }
  return finished(std::move(samples), cells, path, gpu);
}

}  // namespace foretrain
