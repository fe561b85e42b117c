#include "sim/workload/model_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <map>
#include <utility>

#include "sim/document/csv_rows.h"

namespace foretrain {
namespace {

struct CsvRow {
  int line = 0;
  std::vector<std::string> cells;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<std::string> known_columns() {
  return {"name",
          "aliases",
          "title",
          "layers",
          "hidden",
          "heads",
          "kv_heads",
          "head_dim",
          "ffn_hidden",
          "activation",
          "vocab",
          "tied_embeddings",
          "qkv_bias",
          "attention_output_bias",
          "mlp_bias",
          "norm",
          "norm_bias",
          "norms_per_layer",
          "qk_norm",
          "embedding_norm",
          "positions",
          "learned_position_rows",
          "attention_window",
          "experts",
          "top_k",
          "shared_experts",
          "expert_ffn_hidden",
          "first_dense_layers",
          "router_bias",
          "expert_bias",
          "attention_sinks",
          "q_lora_rank",
          "kv_lora_rank",
          "qk_nope_head_dim",
          "qk_rope_head_dim",
          "v_head_dim",
          "params_total",
          "params_active",
          "params_non_embedding",
          "params_active_non_embedding",
          "params_attention_per_layer",
          "params_dense_layer",
          "params_moe_layer",
          "published_exact",
          "published_rounded",
          "check",
          "source",
          "date"};
}

/// The cells of one row by column name; problems go to `diagnostics` with the row's line.
class RowReader {
 public:
  RowReader(const CsvRow& row, const std::map<std::string, std::size_t>& columns,
            const std::string& file, Diagnostics& diagnostics)
      : row_(row), columns_(columns), file_(file), diagnostics_(diagnostics) {}

  [[nodiscard]] std::string text(const std::string& column) const {
    return row_.cells[columns_.at(column)];
  }
  [[nodiscard]] std::int64_t number(const std::string& column) {
    const std::string cell = text(column);
    return parse(column, cell);
  }
  [[nodiscard]] bool flag(const std::string& column) {
    const std::int64_t value = number(column);
    if (value > 1) report(column, fmt::format("must be 0 or 1, not {}", value));
    return value == 1;
  }
  /// An empty cell is 0.
  [[nodiscard]] std::int64_t optional_number(const std::string& column) {
    const std::string cell = text(column);
    return cell.empty() ? 0 : parse(column, cell);
  }
  /// "4096" for all layers, or a pattern such as "4096|0" that repeats over the layers (0: full).
  [[nodiscard]] std::vector<std::int64_t> windows(const std::string& column, std::int64_t layers) {
    std::vector<std::int64_t> pattern;
    for (const std::string& part : split(text(column), '|')) pattern.push_back(parse(column, part));
    if (pattern.size() < 2) return pattern;
    std::vector<std::int64_t> windows;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      windows.push_back(pattern[static_cast<std::size_t>(layer) % pattern.size()]);
    }
    return windows;
  }
  template <class Value, std::size_t size>
  [[nodiscard]] Value choice(const std::string& column,
                             const std::array<std::pair<const char*, Value>, size>& choices) {
    std::string allowed;
    for (const auto& [word, value] : choices) {
      if (text(column) == word) return value;
      allowed += allowed.empty() ? word : fmt::format(", {}", word);
    }
    report(column, fmt::format("unknown value \"{}\"; allowed: {}", text(column), allowed));
    return choices.front().second;
  }

 private:
  std::int64_t parse(const std::string& column, const std::string& cell) {
    std::int64_t value = 0;
    const auto result = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (result.ec != std::errc{} || result.ptr != cell.data() + cell.size() || value < 0) {
      report(column, fmt::format("must be a whole number, not \"{}\"", cell));
      return 0;
    }
    return value;
  }
  void report(const std::string& column, std::string message) {
    diagnostics_.push_back(Diagnostic{Severity::kError,
                                      SourceLocation{file_, row_.line, 1},
                                      text("name") + "." + column,
                                      std::move(message),
                                      {}});
  }

  const CsvRow& row_;
  const std::map<std::string, std::size_t>& columns_;
  const std::string& file_;
  Diagnostics& diagnostics_;
};

constexpr std::array<std::pair<const char*, Activation>, 5> kActivations{
    {{"gelu", Activation::kGelu},
     {"swiglu", Activation::kSwiglu},
     {"geglu", Activation::kGeglu},
     {"relu", Activation::kRelu},
     {"squared_relu", Activation::kSquaredRelu}}};
constexpr std::array<std::pair<const char*, Norm>, 2> kNorms{
    {{"layernorm", Norm::kLayerNorm}, {"rmsnorm", Norm::kRmsNorm}}};
constexpr std::array<std::pair<const char*, Positions>, 4> kPositions{
    {{"rotary", Positions::kRotary},
     {"learned", Positions::kLearned},
     {"alibi", Positions::kAlibi},
     {"none", Positions::kNone}}};

void read_mixture_and_latent(RowReader& row, ModelSpec& spec) {
  if (row.number("experts") > 0) {
    MoeSpec moe;
    moe.experts = row.number("experts");
    moe.top_k = row.number("top_k");
    moe.shared_experts = row.number("shared_experts");
    moe.expert_ffn_hidden = row.number("expert_ffn_hidden");
    moe.first_dense_layers = row.number("first_dense_layers");
    moe.router_bias = row.flag("router_bias");
    moe.expert_bias = row.flag("expert_bias");
    spec.moe = moe;
  }
  if (row.number("kv_lora_rank") > 0) {
    MlaSpec mla;
    mla.q_lora_rank = row.number("q_lora_rank");
    mla.kv_lora_rank = row.number("kv_lora_rank");
    mla.qk_nope_head_dim = row.number("qk_nope_head_dim");
    mla.qk_rope_head_dim = row.number("qk_rope_head_dim");
    mla.v_head_dim = row.number("v_head_dim");
    spec.mla = mla;
  }
}

CatalogModel read_model(RowReader& row) {
  CatalogModel model;
  ModelSpec& spec = model.spec;
  spec.name = row.text("name");
  spec.layers = row.number("layers");
  spec.hidden = row.number("hidden");
  spec.heads = row.number("heads");
  spec.kv_heads = row.number("kv_heads");
  spec.head_dim = row.number("head_dim");
  spec.ffn_hidden = row.number("ffn_hidden");
  spec.vocab = row.number("vocab");
  spec.activation = row.choice("activation", kActivations);
  spec.norm = row.choice("norm", kNorms);
  spec.norm_bias = row.flag("norm_bias");
  spec.norms_per_layer = static_cast<int>(row.number("norms_per_layer"));
  spec.qk_norm = row.flag("qk_norm");
  spec.embedding_norm = row.flag("embedding_norm");
  spec.attention_sinks = row.flag("attention_sinks");
  spec.positions = row.choice("positions", kPositions);
  spec.learned_position_rows = row.number("learned_position_rows");
  spec.tied_embeddings = row.flag("tied_embeddings");
  spec.qkv_bias = row.flag("qkv_bias");
  spec.attention_output_bias = row.flag("attention_output_bias");
  spec.mlp_bias = row.flag("mlp_bias");
  spec.attention_window = row.windows("attention_window", spec.layers);
  read_mixture_and_latent(row, spec);
  model.title = row.text("title");
  model.source = row.text("source");
  model.date = row.text("date");
  model.aliases = split(row.text("aliases"), ';');
  model.published_parameters = row.optional_number("published_exact");
  model.published_rounded = row.text("published_rounded");
  return model;
}

Result<std::vector<CsvRow>> read_rows(const std::string& path) {
  std::ifstream stream{path};
  if (!stream) return fail(SourceLocation{path, 0, 0}, {}, "cannot be read");
  std::vector<CsvRow> rows;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (line.empty() || line == "\r") continue;
    rows.push_back(CsvRow{number, split_csv_line(line)});
  }
  if (rows.empty()) return fail(SourceLocation{path, 0, 0}, {}, "has no header line");
  return rows;
}

/// Column positions; unknown, missing and repeated columns are problems.
std::map<std::string, std::size_t> read_header(const CsvRow& header, const std::string& path,
                                               Diagnostics& problems) {
  const SourceLocation at{path, header.line, 1};
  const std::vector<std::string> known = known_columns();
  std::map<std::string, std::size_t> columns;
  for (std::size_t i = 0; i < header.cells.size(); ++i) {
    const std::string& name = header.cells[i];
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string nearest = nearest_name(name, known);
      problems.push_back(Diagnostic{
          Severity::kError, at, name, "unknown column",
          nearest.empty() ? std::string{} : fmt::format("did you mean \"{}\"?", nearest)});
    } else if (!columns.emplace(name, i).second) {
      problems.push_back(Diagnostic{Severity::kError, at, name, "stands twice", {}});
    }
  }
  for (const std::string& name : known) {
    if (columns.count(name) > 0) continue;
    problems.push_back(Diagnostic{Severity::kError, at, name, "column is missing", {}});
  }
  return columns;
}

}  // namespace

Result<ModelCatalog> ModelCatalog::load(const std::string& catalog_dir) {
  const std::string path = catalog_dir + "/models.csv";
  auto rows = read_rows(path);
  if (!rows) return tl::make_unexpected(rows.error());
  Diagnostics problems;
  const auto columns = read_header(rows->front(), path, problems);
  if (!problems.empty()) return tl::make_unexpected(std::move(problems));
  ModelCatalog catalog;
  std::map<std::string, int> line_of_name;
  for (std::size_t i = 1; i < rows->size(); ++i) {
    const CsvRow& row = (*rows)[i];
    const SourceLocation at{path, row.line, 1};
    if (row.cells.size() != columns.size()) {
      problems.push_back(Diagnostic{
          Severity::kError,
          at,
          row.cells.front(),
          fmt::format("has {} cells; the header has {}", row.cells.size(), columns.size()),
          {}});
      continue;
    }
    RowReader reader{row, columns, path, problems};
    CatalogModel model = read_model(reader);
    std::vector<std::string> names = model.aliases;
    names.insert(names.begin(), model.spec.name);
    for (const std::string& name : names) {
      const auto [first, is_new] = line_of_name.emplace(name, row.line);
      if (is_new) continue;
      problems.push_back(Diagnostic{
          Severity::kError, at, name, fmt::format("is also in line {}", first->second), {}});
    }
    catalog.models_.push_back(std::move(model));
  }
  if (!problems.empty()) return tl::make_unexpected(std::move(problems));
  return catalog;
}

const CatalogModel* ModelCatalog::find(const std::string& name) const {
  for (const CatalogModel& model : models_) {
    const auto& aliases = model.aliases;
    if (model.spec.name == name || std::find(aliases.begin(), aliases.end(), name) != aliases.end())
      return &model;
  }
  return nullptr;
}

std::vector<std::string> ModelCatalog::names() const {
  std::vector<std::string> names;
  for (const CatalogModel& model : models_) names.push_back(model.spec.name);
  return names;
}

std::vector<std::string> ModelCatalog::names_and_aliases() const {
  std::vector<std::string> names = this->names();
  for (const CatalogModel& model : models_) {
    names.insert(names.end(), model.aliases.begin(), model.aliases.end());
  }
  return names;
}

}  // namespace foretrain
