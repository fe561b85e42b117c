#include "sim/compute/kernel_queries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "sim/compute/gemm_tiles.h"

namespace foretrain {
namespace {

using Failure = std::string;
constexpr double kLargest = 1e12;
constexpr double kNormal95 = 1.6448536269514722;  // 95 % point of the standard normal distribution

/// Reads the fields of a query; the first problem is kept.
class FieldReader {
 public:
  std::int64_t whole(const std::string& text, const char* name, std::int64_t low,
                     std::int64_t fallback) {
    const double value =
        number(text, name, static_cast<double>(low), static_cast<double>(fallback));
    if (value != std::floor(value)) complain(fmt::format("{} '{}' is no whole number", name, text));
    return std::llround(value);
  }

  std::int64_t needed(const std::string& text, const char* name) {
    if (text.empty()) complain(fmt::format("{} is missing", name));
    return whole(text, name, 1, 1);
  }

  double number(const std::string& text, const char* name, double low, double fallback) {
    if (text.empty()) return fallback;
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool sound = end == text.c_str() + text.size() && std::isfinite(value);
    if (sound && value >= low && value <= kLargest) return value;
    complain(fmt::format("{} '{}' is not a number from {} to {}", name, text, low, kLargest));
    return low;
  }

  DataType type(const std::string& text) {
    if (text.empty() || text == "bfloat16") return DataType::kBf16;
    if (text == "float16" || text == "half") return DataType::kFp16;
    if (text == "float32" || text == "float") return DataType::kFp32;
    const std::optional<DataType> known = parse_data_type(text);
    if (!known) {
      complain(fmt::format("dtype '{}' is unknown; bf16, fp16, fp8, fp8_block, fp4, tf32 or fp32",
                           text));
    }
    return known.value_or(DataType::kBf16);
  }

  bool flag(const std::string& text, const char* name, bool fallback) {
    if (text.empty()) return fallback;
    for (const char* yes : {"true", "True", "1", "yes"}) {
      if (text == yes) return true;
    }
    for (const char* no : {"false", "False", "0", "no"}) {
      if (text == no) return false;
    }
    complain(fmt::format("{} '{}' is neither true nor false", name, text));
    return fallback;
  }

  void complain(Failure failure) {
    if (failure_.empty()) failure_ = std::move(failure);
  }
  [[nodiscard]] const Failure& failure() const { return failure_; }

 private:
  Failure failure_;
};

KernelAnswer answer_of(const ComputeModel& model, const std::vector<Operator>& ops) {
  KernelAnswer answer;
  double work = 0;
  double sigma_seconds = 0;
  for (const Operator& op : ops) {
    const TimeEstimate time = model.time(op);
    answer.time_s += time.seconds;
    sigma_seconds += time.seconds * time.relative_sigma;
    answer.extrapolated = answer.extrapolated || time.extrapolated;
    work += flops(op).value();
  }
  // The logarithm of the error is taken as normal: times stay positive.
  const double spread = std::exp(kNormal95 * sigma_seconds / answer.time_s);
  answer.low_s = answer.time_s / spread;
  answer.high_s = answer.time_s * spread;
  answer.flops_per_s = work / answer.time_s;
  return answer;
}

std::vector<Operator> gemm_ops(const KernelQuery& query, FieldReader& read) {
  GemmOp op;
  op.m = read.needed(query.m, "m");
  op.n = read.needed(query.n, "n");
  op.k = read.needed(query.k, "k");
  op.batch = read.whole(query.batch, "batch", 1, 1);
  op.type = read.type(query.dtype);
  op.accumulate = query.accumulate;
  return {op};
}

std::vector<Operator> attention_ops(const KernelQuery& query, FieldReader& read) {
  AttentionOp op;
  op.batch = read.needed(query.batch, "batch");
  op.query_length = op.key_length = read.needed(query.seq, "seq");
  op.heads = read.needed(query.heads, "heads");
  op.kv_heads = read.whole(query.kv_heads, "kv_heads", 1, op.heads);
  if (op.kv_heads > 0 && op.heads % op.kv_heads != 0) {
    read.complain(fmt::format("kv_heads {} does not divide the {} heads", op.kv_heads, op.heads));
  }
  op.head_dim = read.needed(query.head_dim, "head_dim");
  op.window = read.whole(query.window, "window", 0, 0);
  op.causal = read.flag(query.causal, "causal", true);
  op.type = read.type(query.dtype);
  op.implementation = AttentionImplementation::kProfiled;
  if (!query.implementation.empty()) {
    const auto known = parse_attention_implementation(query.implementation);
    if (!known) {
      read.complain(fmt::format(
          "implementation '{}' is unknown; profiled, auto, flash1, flash2, flash3 or cudnn",
          query.implementation));
    }
    op.implementation = known.value_or(AttentionImplementation::kAuto);
  }
  AttentionOp backward = op;
  backward.backward = true;
  const std::string& direction = query.direction;
  if (direction.empty() || direction == "forward" || direction == "fwd") return {op};
  if (direction == "backward" || direction == "bwd") return {backward};
  if (direction == "forward+backward" || direction == "fwd+bwd") return {op, backward};
  read.complain(
      fmt::format("direction '{}' is unknown; forward, backward or forward+backward", direction));
  return {op};
}

std::vector<Operator> memory_ops(const KernelQuery& query, FieldReader& read) {
  if (query.bytes_read.empty() && query.bytes_written.empty()) {
    read.complain("bytes_read or bytes_written is missing");
  }
  MemoryOp op;
  op.bytes_read = read.number(query.bytes_read, "bytes_read", 0, 0);
  op.bytes_written = read.number(query.bytes_written, "bytes_written", 0, 0);
  return {op};
}

struct Column {
  const char* name;
  std::string KernelQuery::*field;
};

constexpr std::array<Column, 16> kColumns = {{{"op", &KernelQuery::op},
                                              {"dtype", &KernelQuery::dtype},
                                              {"m", &KernelQuery::m},
                                              {"n", &KernelQuery::n},
                                              {"k", &KernelQuery::k},
                                              {"batch", &KernelQuery::batch},
                                              {"seq", &KernelQuery::seq},
                                              {"heads", &KernelQuery::heads},
                                              {"kv_heads", &KernelQuery::kv_heads},
                                              {"head_dim", &KernelQuery::head_dim},
                                              {"causal", &KernelQuery::causal},
                                              {"direction", &KernelQuery::direction},
                                              {"window", &KernelQuery::window},
                                              {"implementation", &KernelQuery::implementation},
                                              {"bytes_read", &KernelQuery::bytes_read},
                                              {"bytes_written", &KernelQuery::bytes_written}}};

/// Cells of a line; a quoted cell may hold commas and doubled quotes. Blanks around are dropped.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted) {
      if (c != '"') {
        cells.back() += c;
      } else if (i + 1 < line.size() && line[i + 1] == '"') {
        cells.back() += '"';
        ++i;
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  for (std::string& cell : cells) {
    while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\t')) cell.pop_back();
    cell.erase(0, std::min(cell.find_first_not_of(" \t"), cell.size()));
  }
  return cells;
}

std::string quoted_if_needed(const std::string& cell) {
  if (cell.find_first_of(",\"") == std::string::npos) return cell;
  std::string text = "\"";
  for (const char c : cell) {
    text += c;
    if (c == '"') text += '"';
  }
  return text + "\"";
}

KernelQuery query_of(const std::vector<std::string>& header,
                     const std::vector<std::string>& cells) {
  KernelQuery query;
  for (std::size_t c = 0; c < header.size() && c < cells.size(); ++c) {
    for (const Column& column : kColumns) {
      if (header[c] == column.name) query.*(column.field) = cells[c];
    }
  }
  return query;
}

std::string row_end(const tl::expected<KernelAnswer, Failure>& answer) {
  if (!answer) return ",,,,,," + quoted_if_needed(answer.error()) + "\n";
  return fmt::format(",{:.6g},{},{:.6g},{:.6g},{},\n", answer->time_s,
                     answer->flops_per_s > 0 ? fmt::format("{:.6g}", answer->flops_per_s) : "",
                     answer->low_s, answer->high_s, answer->extrapolated ? "true" : "false");
}

std::string without_line_end(std::string line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.pop_back();
  return line;
}

/// Why the GPU cannot run the kernel at all: no rate of it exists. Empty if it can.
std::string lacking_units(const GpuSpec& gpu, const Operator& op) {
  const auto* gemm = std::get_if<GemmOp>(&op);
  const auto* attention = std::get_if<AttentionOp>(&op);
  if (gemm == nullptr && attention == nullptr) return {};
  const DataType type = gemm != nullptr ? gemm->type : attention->type;
  if (!has_units_for(gpu, type))
    return fmt::format("{} has no tensor cores for {}", gpu.name, to_string(type));
  if (attention != nullptr && attention->implementation == AttentionImplementation::kFlash3 &&
      !runs_flash3(gpu)) {
    return fmt::format("FlashAttention-3 is written for Hopper, not {}", gpu.name);
  }
  return {};
}

}  // namespace

tl::expected<KernelAnswer, std::string> answer_query(const ComputeModel& model,
                                                     const KernelQuery& query) {
  FieldReader read;
  std::vector<Operator> ops;
  if (query.op == "gemm") {
    ops = gemm_ops(query, read);
  } else if (query.op == "attention") {
    ops = attention_ops(query, read);
  } else if (query.op == "memory") {
    ops = memory_ops(query, read);
  } else {
    return tl::make_unexpected(
        fmt::format("op '{}' is unknown; gemm, attention or memory", query.op));
  }
  if (!read.failure().empty()) return tl::make_unexpected(read.failure());
  if (std::string lacks = lacking_units(model.gpu(), ops.front()); !lacks.empty())
    return tl::make_unexpected(std::move(lacks));
  return answer_of(model, ops);
}

Result<AnsweredFile> answer_query_text(const ComputeModel& model, const std::string& text,
                                       const std::string& name) {
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line))
    return fail({name, 0, 0}, "", "is empty", "the first line names columns");
  line = without_line_end(line);
  const std::vector<std::string> header = cells_of(line);
  if (std::find(header.begin(), header.end(), "op") == header.end()) {
    return fail({name, 1, 1}, "op", "is no column of this file",
                "columns: op,dtype,m,n,k,batch,seq,heads,kv_heads,head_dim,causal,direction,window,"
                "bytes_read,bytes_written");
  }
  AnsweredFile file;
  file.text = line + ",time_s,flops_per_s,interval_low_s,interval_high_s,extrapolated,error\n";
  while (std::getline(lines, line)) {
    line = without_line_end(line);
    if (line.empty()) continue;
    const std::vector<std::string> cells = cells_of(line);
    ++file.rows;
    tl::expected<KernelAnswer, Failure> answer =
        cells.size() > header.size()
            ? tl::make_unexpected(
                  fmt::format("the row has {} cells, the header {}", cells.size(), header.size()))
            : answer_query(model, query_of(header, cells));
    if (!answer) ++file.failed;
    // A short row is filled up, so that the new columns stand under their names.
    file.text += line;
    if (cells.size() < header.size()) file.text.append(header.size() - cells.size(), ',');
    file.text += row_end(answer);
  }
  return file;
}

Result<AnsweredFile> answer_query_file(const ComputeModel& model, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail({path, 0, 0}, "", "cannot be read");
  const std::string text{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
  return answer_query_text(model, text, path);
}

}  // namespace foretrain
