// CSV: one line, and a small table with comment lines (#) and a header.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/core/diagnostics.h"

namespace foretrain {

class CsvRows {
 public:
  struct Row {
    int line = 0;
    std::vector<std::string> cells;
  };

  /// Reads a file; commas separate, double quotes protect, blank lines and lines with # are
  /// skipped.
  /// @return diagnostics if the file cannot be read, lacks a column of `columns`, or a row has too
  /// many or too few cells.
  static Result<CsvRows> read(const std::string& path, const std::vector<std::string>& columns);

  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] const std::string& text(const Row& row, const std::string& column) const;
  /// A finite number; an empty cell is `fallback`. What is no number is added to `problems`.
  [[nodiscard]] double number(const Row& row, const std::string& column, double fallback,
                              Diagnostics& problems) const;
  /// Numbers between blanks.
  [[nodiscard]] std::vector<double> numbers(const Row& row, const std::string& column,
                                            Diagnostics& problems) const;
  /// A problem at a place of the table.
  [[nodiscard]] Diagnostic problem(const Row& row, const std::string& column, std::string message,
                                   std::string hint = {}) const;

 private:
  std::string path_;
  std::vector<std::string> header_;
  std::vector<Row> rows_;
};

/// Cells of one line: RFC 4180 without line breaks inside quotes; a carriage return is dropped.
[[nodiscard]] std::vector<std::string> split_csv_line(const std::string& line);
/// The number that is all of `text`, if it is one.
[[nodiscard]] std::optional<double> parse_plain_number(const std::string& text);

}  // namespace foretrain
