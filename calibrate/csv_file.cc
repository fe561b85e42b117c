#include "calibrate/csv_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>

namespace foretrain {
namespace {

constexpr std::size_t kMaxText = std::size_t{1} << 30;
constexpr std::size_t kMaxProblems = 20;

struct CloseFile {
  void operator()(gzFile_s* file) const { gzclose(file); }
};

/// Lines of a plain or gzip file.
class LineReader {
 public:
  explicit LineReader(const std::string& path) : file_(gzopen(path.c_str(), "rb")) {
    if (file_) gzbuffer(file_.get(), 1u << 17);
  }
  [[nodiscard]] bool is_open() const { return file_ != nullptr; }
  [[nodiscard]] bool failed() const { return failed_; }

  bool next(std::string& line) {
    line.clear();
    std::array<char, 4096> buffer{};
    while (gzgets(file_.get(), buffer.data(), static_cast<int>(buffer.size())) != nullptr) {
      line += buffer.data();
      total_ += buffer.size();
      if (total_ > 64 * kMaxText || line.size() > (1u << 20)) {
        failed_ = true;
        return false;
      }
      if (!line.empty() && line.back() == '\n') break;
    }
    int error = 0;
    gzerror(file_.get(), &error);
    failed_ = failed_ || (error != Z_OK && error != Z_STREAM_END);
    if (line.empty() || failed_) return false;
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
    return true;
  }

 private:
  std::unique_ptr<gzFile_s, CloseFile> file_;
  std::size_t total_ = 0;
  bool failed_ = false;
};

}  // namespace

std::size_t CsvFile::column(std::string_view name) const {
  return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
}

std::vector<std::string> split_csv_line(std::string_view line) {
  std::vector<std::string> fields;
  while (true) {
    const std::size_t comma = line.find(',');
    fields.emplace_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

Result<CsvFile> read_csv(const std::string& path, const std::string& key_column,
                         const std::string& key) {
  LineReader reader(path);
  if (!reader.is_open()) return fail({path, 0, 0}, "", "cannot be read");
  CsvFile csv;
  csv.path = path;
  std::string line;
  if (!reader.next(line)) return fail({path, 0, 0}, "", "is empty or damaged");
  csv.header = split_csv_line(line);
  const std::size_t key_index = key_column.empty() ? csv.header.size() : csv.column(key_column);
  if (!key_column.empty() && key_index == csv.header.size()) {
    return fail({path, 1, 1}, key_column, "is no column of this table");
  }
  Diagnostics problems;
  for (int number = 2; reader.next(line); ++number) {
    if (line.empty()) continue;
    // Most rows belong to other keys: compare before splitting where the key comes first.
    if (key_index == 0 && (line.size() <= key.size() || line.compare(0, key.size(), key) != 0)) {
      continue;
    }
    CsvRow row{number, split_csv_line(line)};
    if (row.fields.size() != csv.header.size()) {
      problems.push_back(Diagnostic{
          Severity::kError, SourceLocation{path, number, 1}, "",
          fmt::format("has {} fields, the header {}", row.fields.size(), csv.header.size()), ""});
      if (problems.size() >= kMaxProblems) break;
      continue;
    }
    if (key_index < csv.header.size() && row.fields[key_index] != key) continue;
    csv.rows.push_back(std::move(row));
  }
  if (reader.failed()) return fail({path, 0, 0}, "", "is damaged: it ends within its gzip data");
  if (!problems.empty()) return tl::make_unexpected(problems);
  return csv;
}

}  // namespace foretrain
