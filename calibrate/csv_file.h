// A CSV file, plain or gzip, read line by line. Fields without quotes only.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/diagnostics.h"

namespace foretrain {

struct CsvRow {
  int line = 0;
  std::vector<std::string> fields;
};

struct CsvFile {
  std::string path;
  std::vector<std::string> header;
  std::vector<CsvRow> rows;

  /// Index of a column, or header.size() if there is none.
  [[nodiscard]] std::size_t column(std::string_view name) const;
};

/// Reads at most 1 GiB of text. Rows with a wrong number of fields are diagnostics. Keeps only rows
/// whose field `key_column` equals `key`, unless `key_column` is empty.
[[nodiscard]] Result<CsvFile> read_csv(const std::string& path, const std::string& key_column = {},
                                       const std::string& key = {});
/// Splits one line at commas; no quoting.
[[nodiscard]] std::vector<std::string> split_csv_line(std::string_view line);

}  // namespace foretrain
