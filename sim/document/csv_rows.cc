#include "sim/document/csv_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "sim/core/contracts.h"

namespace foretrain {

std::vector<std::string> split_csv_line(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

std::optional<double> parse_plain_number(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789+-.eE") != std::string::npos)
    return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

Result<CsvRows> CsvRows::read(const std::string& path, const std::vector<std::string>& columns) {
  std::ifstream file{path, std::ios::binary};
  if (!file)
    return fail(SourceLocation{path, 0, 0}, "", "cannot be read",
                "is the catalog directory complete?");
  CsvRows table;
  table.path_ = path;
  Diagnostics problems;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line == "\r" || line.front() == '#') continue;
    std::vector<std::string> cells = split_csv_line(line);
    if (table.header_.empty()) {
      table.header_ = std::move(cells);
      continue;
    }
    if (cells.size() != table.header_.size()) {
      problems.push_back({Severity::kError,
                          {path, number, 1},
                          "",
                          fmt::format("has {} cells, not {}", cells.size(), table.header_.size()),
                          ""});
      continue;
    }
    table.rows_.push_back({number, std::move(cells)});
  }
  for (const std::string& column : columns) {
    if (std::find(table.header_.begin(), table.header_.end(), column) == table.header_.end()) {
      problems.push_back({Severity::kError, {path, 1, 1}, column, "column is missing", ""});
    }
  }
  if (has_errors(problems)) return tl::make_unexpected(std::move(problems));
  return table;
}

const std::string& CsvRows::text(const Row& row, const std::string& column) const {
  const auto found = std::find(header_.begin(), header_.end(), column);
  FORETRAIN_EXPECTS(found != header_.end(), "the column was asked for when the table was read");
  return row.cells[static_cast<std::size_t>(found - header_.begin())];
}

double CsvRows::number(const Row& row, const std::string& column, double fallback,
                       Diagnostics& problems) const {
  const std::string& cell = text(row, column);
  if (cell.empty()) return fallback;
  const auto value = parse_plain_number(cell);
  if (!value) problems.push_back(problem(row, column, fmt::format("'{}' is not a number", cell)));
  return value.value_or(fallback);
}

std::vector<double> CsvRows::numbers(const Row& row, const std::string& column,
                                     Diagnostics& problems) const {
  std::vector<double> values;
  std::istringstream words{text(row, column)};
  for (std::string word; words >> word;) {
    const auto value = parse_plain_number(word);
    if (!value) problems.push_back(problem(row, column, fmt::format("'{}' is not a number", word)));
    values.push_back(value.value_or(0));
  }
  return values;
}

Diagnostic CsvRows::problem(const Row& row, const std::string& column, std::string message,
                            std::string hint) const {
  return {Severity::kError, {path_, row.line, 1}, column, std::move(message), std::move(hint)};
}

}  // namespace foretrain
