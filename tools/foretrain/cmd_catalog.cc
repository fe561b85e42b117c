// `foretrain catalog`: what the catalog knows, as tables or one entry in full with its sources.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/foretrain/catalog_sheets.h"
#include "tools/foretrain/command.h"

namespace foretrain {
namespace {

Json to_json(const Sheet& sheet) {
  Json json;
  json["name"] = sheet.name;
  for (const Fact& fact : sheet.facts) {
    if (!fact.label.empty()) json[fact.key] = fact.value;
  }
  if (!sheet.note.empty()) json["note"] = sheet.note;
  Json sources = Json::array();
  for (const FieldSource& source : sheet.sources) {
    Json item;
    if (!source.field.empty()) item["field"] = source.field;
    item["title"] = source.source;
    if (!source.url.empty()) item["url"] = source.url;
    item["date"] = source.date;
    item["basis"] = source.basis;
    sources.push_back(std::move(item));
  }
  if (!sources.empty()) json["sources"] = std::move(sources);
  return json;
}

std::string heading(const std::string& text, bool color) {
  return color ? "\x1b[1m" + text + "\x1b[0m" : text;
}

void print_table(const Kind& kind, bool color) {
  std::vector<std::vector<std::string>> rows(1, {"name"});
  for (const Column& column : kind.columns) rows[0].push_back(column.header);
  for (const Sheet& sheet : kind.sheets) {
    std::vector<std::string> row{sheet.name};
    for (const Column& column : kind.columns) {
      std::string text = sheet.text(column.key);
      const auto unit = text.find(" TFLOP/s");  // the header line says it
      row.push_back(unit == std::string::npos ? text : text.substr(0, unit));
    }
    rows.push_back(std::move(row));
  }
  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      const bool right = i > 0 && kind.columns[i - 1].right;
      line += (i == 0 ? "" : "  ") + (right ? fmt::format("{:>{}}", rows[r][i], widths[i])
                                            : fmt::format("{:<{}}", rows[r][i], widths[i]));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", r == 0 ? heading(line, color) : line);
  }
  if (kind.name == "gpus") fmt::print("\nbf16, fp8: TFLOP/s, dense.\n");
  fmt::print("{}One entry in full: foretrain catalog {} NAME\n", kind.name == "gpus" ? "" : "\n",
             kind.name);
}

void print_sheet(const Sheet& sheet, bool color) {
  fmt::print("{}\n", heading(sheet.name, color));
  std::size_t width = 0;
  for (const Fact& fact : sheet.facts) width = std::max(width, fact.label.size());
  for (const Fact& fact : sheet.facts) {
    if (fact.label.empty() || fact.text.empty()) continue;
    fmt::print("  {:<{}}  {}\n", fact.label, width, fact.text);
  }
  if (!sheet.note.empty()) fmt::print("  {:<{}}  {}\n", "note", width, sheet.note);
  if (sheet.sources.empty()) return;
  fmt::print("sources\n");
  for (const FieldSource& source : sheet.sources) {
    fmt::print("  {}{} ({} {})\n", source.field.empty() ? "" : source.field + ": ", source.source,
               source.basis, source.date);
    if (!source.url.empty()) fmt::print("    {}\n", source.url);
  }
}

void print_overview(const std::vector<Kind>& kinds, bool color) {
  fmt::print("{}\n", heading("kind      entries", color));
  for (const Kind& kind : kinds) fmt::print("{:<8}  {:>7}\n", kind.name, kind.sheets.size());
  fmt::print("\nA table: foretrain catalog KIND. One entry in full: foretrain catalog KIND NAME\n");
}

struct CatalogOptions {
  std::string kind;
  std::string name;
  bool json = false;
};

int complain(const std::string& message, const std::string& word,
             const std::vector<std::string>& candidates, const std::string& otherwise) {
  const std::string nearest = nearest_name(word, candidates);
  const Diagnostics problems =
      fail(message, nearest.empty() ? otherwise : fmt::format("did you mean \"{}\"?", nearest))
          .value();
  fmt::print(stderr, "{}", to_string(problems));
  return kWrongInput;
}

int show_entry(const Kind& kind, const CatalogOptions& options, bool color) {
  const Sheet* sheet = find_sheet(kind, options.name);
  if (sheet == nullptr) {
    return complain(fmt::format("no {} \"{}\" in the catalog", kind.singular, options.name),
                    options.name, kind.candidates,
                    fmt::format("foretrain catalog {} lists all", kind.name));
  }
  if (options.json) {
    fmt::print("{}\n", to_json(*sheet).dump(2));
  } else {
    print_sheet(*sheet, color);
  }
  return kDone;
}

int run(CatalogOptions options, const CommandContext& context) {
  const auto kinds = load_kinds(context.data_dir);
  if (!kinds) {
    fmt::print(stderr, "{}", to_string(kinds.error()));
    return kWrongInput;
  }
  if (options.kind.empty()) {
    if (options.json) {
      Json json;
      for (const Kind& kind : *kinds) {
        json[kind.name] = Json::array();
        for (const Sheet& sheet : kind.sheets) json[kind.name].push_back(sheet.name);
      }
      fmt::print("{}\n", json.dump(2));
    } else {
      print_overview(*kinds, context.color);
    }
    return kDone;
  }
  std::vector<std::string> words;  // for "did you mean": kinds first, then every name
  for (const Kind& kind : *kinds) {
    words.push_back(kind.name);
    if (kind.name != options.kind) continue;
    if (!options.name.empty()) return show_entry(kind, options, context.color);
    if (options.json) {
      Json json = Json::array();
      for (const Sheet& sheet : kind.sheets) json.push_back(to_json(sheet));
      fmt::print("{}\n", json.dump(2));
    } else {
      print_table(kind, context.color);
    }
    return kDone;
  }
  // `foretrain catalog h100-sxm`: a name without its kind is clear enough.
  for (const Kind& kind : *kinds) {
    words.insert(words.end(), kind.candidates.begin(), kind.candidates.end());
    if (!options.name.empty() || find_sheet(kind, options.kind) == nullptr) continue;
    options.name = options.kind;
    return show_entry(kind, options, context.color);
  }
  return complain(fmt::format("\"{}\" is neither a kind nor a name of the catalog", options.kind),
                  options.kind, words, "kinds: gpus, nodes, nics, switches, models, profiles");
}

}  // namespace

void add_catalog_command(CLI::App& app, CommandContext& context) {
  auto options = std::make_shared<CatalogOptions>();  // lives as long as the callback
  CLI::App* command =
      app.add_subcommand("catalog", "List GPUs, nodes, NICs, switches, models, profiles");
  command->add_option("kind", options->kind,
                      "gpus, nodes, nics, switches, models or profiles; or a name");
  command->add_option("name", options->name, "One entry, in full with its sources");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &context] { context.exit_code = run(*options, context); });
}

}  // namespace foretrain
