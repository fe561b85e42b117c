// foretrain calibrate --fit-tables: measured kernel tables to a profile.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "calibrate/fit_profile.h"
#include "tools/foretrain/command.h"

namespace foretrain {
namespace {

using Json = nlohmann::ordered_json;

struct CalibrateArguments {
  bool fit_tables = false;
  bool json = false;
  TableFitRequest request;
  std::string output;
};

/// "h100_sxm" to the catalog's "h100-sxm"; "a100_sxm" and "b200_sxm" have other names there.
std::string catalog_name(const std::string& table_gpu) {
  if (table_gpu == "a100_sxm") return "a100-80";
  if (table_gpu == "b200_sxm") return "b200";
  std::string name = table_gpu;
  for (char& c : name) {
    if (c == '_') c = '-';
  }
  return name;
}

Json held_out_json(const Profile& profile) {
  Json items = Json::array();
  const auto add = [&](const std::string& kind, const HeldOutError& error) {
    items.push_back({{"kind", kind},
                     {"points", error.points},
                     {"median_abs_error", error.median},
                     {"p90_abs_error", error.p90}});
  };
  for (const GemmTable& table : profile.gemm) {
    add("gemm " + to_string(table.type), table.held_out);
    add("gemm " + to_string(table.type) + " above 1e9 FLOP", table.held_out_large);
  }
  for (const AttentionTable& table : profile.attention) {
    const std::string kind =
        fmt::format("attention {} head_dim {}{}", to_string(table.type), table.head_dim,
                    table.window > 0 ? fmt::format(" window {}", table.window) : "");
    add(kind, table.held_out);
    add(kind + " above 1e9 FLOP", table.held_out_large);
  }
  return items;
}

void print_held_out(const Json& held_out) {
  std::printf("%-48s %8s %8s %8s\n", "held out", "points", "median", "p90");
  for (const Json& item : held_out) {
    std::printf("%-48s %8d %7.1f%% %7.1f%%\n", item["kind"].get<std::string>().c_str(),
                item["points"].get<int>(), 100 * item["median_abs_error"].get<double>(),
                100 * item["p90_abs_error"].get<double>());
  }
}

int calibrate(const CalibrateArguments& arguments) {
  const Result<Profile> profile = fit_profile(arguments.request);
  if (!profile) {
    std::fputs(to_string(profile.error()).c_str(), stderr);
    return kWrongInput;
  }
  std::ofstream file(arguments.output, std::ios::binary);
  file << write_profile(*profile);
  file.close();
  if (!file) {
    std::fprintf(stderr, "foretrain: cannot write %s\n", arguments.output.c_str());
    return kEnvironmentFailed;
  }
  const Json held_out = held_out_json(*profile);
  if (arguments.json) {
    const Json result{{"profile", arguments.output}, {"held_out", held_out}};
    std::printf("%s\n", result.dump(2).c_str());
  } else {
    print_held_out(held_out);
  }
  return kDone;
}

}  // namespace

void add_calibrate_command(CLI::App& app, CommandContext& context) {
  auto* command =
      app.add_subcommand("calibrate", "Make a profile of a GPU from measured kernel tables");
  auto arguments = std::make_shared<CalibrateArguments>();
  command->add_flag("--fit-tables", arguments->fit_tables, "Fit CSV tables of measured kernels")
      ->required();
  command->add_option("--gemm", arguments->request.gemm_path, "GEMM table (CSV, may be gzip)")
      ->required();
  command
      ->add_option("--attention", arguments->request.attention_path,
                   "Attention table (CSV, may be gzip)")
      ->required();
  command->add_option("--gpu", arguments->request.table_gpu, "GPU as the tables spell it: h100_sxm")
      ->required();
  command->add_option("--catalog-gpu", arguments->request.catalog_gpu,
                      "GPU as the catalog spells it (default: from --gpu)");
  command
      ->add_option("--date", arguments->request.source_date, "Date on which the tables were read")
      ->default_val("2026-12-01");
  command->add_option("-o,--output", arguments->output, "Profile to write")->required();
  command->add_flag("--json", arguments->json, "Print the errors as JSON");
  command->callback([arguments, &context] {
    arguments->request.catalog_dir = context.data_dir + "/catalog";
    if (arguments->request.catalog_gpu.empty()) {
      arguments->request.catalog_gpu = catalog_name(arguments->request.table_gpu);
    }
    context.exit_code = calibrate(*arguments);
  });
}

}  // namespace foretrain
