// `foretrain doctor`: what works on this machine, and what a missing part costs. Looks at files
// only; nothing is linked or loaded, so it runs (and says so) where CUDA, NCCL and MPI are absent.
#include <fmt/format.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/core/unit_parser.h"
#include "sim/hardware/catalog.h"
#include "sim/workload/model_catalog.h"
#include "tools/foretrain/command.h"

namespace foretrain {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

enum class Health { kOk, kMissing, kBroken };

struct Check {
  std::string name;
  Health health = Health::kOk;
  std::string detail;
  std::string cost;  // of a missing part; the fix of a broken one
};

const char* word(Health health) {
  switch (health) {
    case Health::kOk: return "ok";
    case Health::kMissing: return "missing";
    case Health::kBroken: return "broken";
  }
  return "broken";
}

std::vector<std::string> split_path(const char* variable) {
  std::vector<std::string> parts;
  const char* value = std::getenv(variable);
  std::istringstream stream{value == nullptr ? "" : value};
  for (std::string part; std::getline(stream, part, ':');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

/// Full path of a program on $PATH, or empty.
std::string find_program(const std::string& name) {
  for (const std::string& folder : split_path("PATH")) {
    const std::string path = folder + "/" + name;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

/// The library with its version ("…/libnccl.so.2.28.3") in the usual folders, or empty.
std::string find_library(const std::string& prefix) {
  std::vector<std::string> folders = split_path("LD_LIBRARY_PATH");
  for (const char* folder :
       {"/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64", "/usr/local/lib", "/usr/lib", "/opt/nvidia/lib64"}) {
    folders.emplace_back(folder);
  }
  for (const std::string& folder : folders) {
    std::vector<std::string> found;
    std::error_code error;
    for (fs::directory_iterator it{folder, error}, end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (name.rfind(prefix, 0) != 0) continue;
      std::error_code ignored;
      const fs::path real = fs::canonical(it->path(), ignored);
      found.push_back(ignored ? it->path().string() : real.string());
    }
    if (!found.empty()) return *std::max_element(found.begin(), found.end());
  }
  return {};
}

/// The value after the colon of the first line that starts with `key`.
std::string field_of(const std::string& file, const std::string& key) {
  std::ifstream stream{file};
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const std::size_t colon = line.find(':');
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    if (colon != std::string::npos && begin != std::string::npos) return line.substr(begin);
  }
  return {};
}

Check check_data_folder(const std::string& data_dir) {
  std::error_code ignored;
  if (fs::is_directory(data_dir + "/catalog", ignored))
    return {"data folder", Health::kOk, data_dir, {}};
  return {"data folder", Health::kBroken, data_dir + " has no folder catalog/",
          "give --data-dir or set FORETRAIN_DATA"};
}

std::string first_problem(const Diagnostics& problems) {
  std::string text = problems.empty() ? std::string{} : to_string(problems.front());
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (problems.size() > 1) text += fmt::format(" (and {} more)", problems.size() - 1);
  return text;
}

Check check_hardware(const std::string& data_dir) {
  const auto catalog = HardwareCatalog::load(data_dir + "/catalog");
  if (!catalog) {
    return {"catalog", Health::kBroken, first_problem(catalog.error()),
            "foretrain catalog shows every problem"};
  }
  return {"catalog",
          Health::kOk,
          fmt::format("{} GPUs, {} nodes, {} NICs, {} switches", catalog->gpu_names().size(),
                      catalog->node_names().size(), catalog->nic_names().size(),
                      catalog->switch_names().size()),
          {}};
}

Check check_models(const std::string& data_dir) {
  const auto models = ModelCatalog::load(data_dir + "/catalog");
  if (!models) {
    return {"models", Health::kBroken, first_problem(models.error()),
            "foretrain catalog shows every problem"};
  }
  return {"models", Health::kOk, fmt::format("{} public models", models->names().size()), {}};
}

Check check_profiles(const std::string& data_dir) {
  std::vector<std::string> good, bad;
  std::error_code error;
  for (fs::directory_iterator it{data_dir + "/profiles", error}, end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() != ".json") continue;
    std::ifstream stream{it->path()};
    const bool is_json = !Json::parse(stream, nullptr, false).is_discarded();
    (is_json ? good : bad).push_back(it->path().stem().string());
  }
  std::sort(good.begin(), good.end());
  std::sort(bad.begin(), bad.end());
  const auto join = [](const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  };
  if (!bad.empty()) {
    return {"profiles", Health::kBroken, "not JSON: " + join(bad), "restore or remove the files"};
  }
  if (good.empty()) {
    return {"profiles", Health::kMissing, "no file in profiles/",
            "kernel times come from catalog rates and typical efficiencies: wide intervals"};
  }
  return {"profiles", Health::kOk, join(good), {}};
}

Check check_cpu() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  const long cores = known ? CPU_COUNT(&allowed) : sysconf(_SC_NPROCESSORS_ONLN);
  const std::string model = field_of("/proc/cpuinfo", "model name");
  return {
      "CPU", Health::kOk, fmt::format("{} cores{}", cores, model.empty() ? "" : ", " + model), {}};
}

Check check_memory() {
  const auto kibibytes_of = [](const char* key) {
    return static_cast<std::int64_t>(
        std::strtoll(field_of("/proc/meminfo", key).c_str(), nullptr, 10));
  };
  const Bytes total = kibibytes(kibibytes_of("MemTotal"));
  if (total.count() == 0) {
    return {"memory", Health::kMissing, "/proc/meminfo is not there", "size unknown"};
  }
  return {"memory",
          Health::kOk,
          fmt::format("{}, {} available", format_bytes(total),
                      format_bytes(kibibytes(kibibytes_of("MemAvailable")))),
          {}};
}

Check check_driver() {
  const std::string cost = "no calibration here; predictions need no GPU";
  std::ifstream stream{"/proc/driver/nvidia/version"};
  std::string line;
  if (!std::getline(stream, line)) {
    return {"NVIDIA driver", Health::kMissing, "no kernel module is loaded", cost};
  }
  std::istringstream words{line};  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.124.06 …"
  std::string version = line;
  for (std::string w; words >> w;) {
    const bool is_version = w.find('.') != std::string::npos &&
                            std::isdigit(static_cast<unsigned char>(w.front())) != 0;
    if (is_version) {
      version = w;
      break;
    }
  }
  return {"NVIDIA driver", Health::kOk, version, {}};
}

bool is_gpu_file(const std::string& name) {
  return name.size() > 6 && name.rfind("nvidia", 0) == 0 &&
         std::all_of(name.begin() + 6, name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

Check check_gpus() {
  int count = 0;
  std::error_code error;
  for (fs::directory_iterator it{"/dev", error}, end; !error && it != end; it.increment(error)) {
    if (is_gpu_file(it->path().filename().string())) ++count;
  }
  if (count == 0) {
    return {"GPUs", Health::kMissing, "no /dev/nvidia0",
            "foretrain calibrate cannot measure; shipped profiles serve"};
  }
  std::string model;
  for (fs::directory_iterator it{"/proc/driver/nvidia/gpus", error}, end; !error && it != end;
       it.increment(error)) {
    model = field_of(it->path().string() + "/information", "Model");
    if (!model.empty()) break;
  }
  return {"GPUs", Health::kOk, fmt::format("{}{}", count, model.empty() ? "" : " x " + model), {}};
}

struct Part {
  const char* name;
  const char* wanted;  // program or library prefix
  const char* cost;
};

Check check_program(const Part& part) {
  const std::string path = find_program(part.wanted);
  if (path.empty()) {
    return {part.name, Health::kMissing, fmt::format("no {} on PATH", part.wanted), part.cost};
  }
  return {part.name, Health::kOk, path, {}};
}

Check check_library(const Part& part) {
  const std::string path = find_library(part.wanted);
  if (path.empty()) {
    return {part.name, Health::kMissing, fmt::format("no {} in the usual folders", part.wanted),
            part.cost};
  }
  return {part.name, Health::kOk, path, {}};
}

Check check_terminal(const CommandContext& context) {
  if (isatty(STDOUT_FILENO) == 0) {
    return {"terminal", Health::kMissing, "output goes to a file or pipe",
            "no colour, no progress"};
  }
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return {"terminal",
          Health::kOk,
          fmt::format("{}{}", known ? fmt::format("{} columns, ", size.ws_col) : std::string{},
                      context.color ? "colour" : "no colour (NO_COLOR is set)"),
          {}};
}

std::vector<Check> examine(const CommandContext& context) {
  const std::string& data = context.data_dir;
  return {{"version", Health::kOk, "foretrain " FORETRAIN_VERSION, {}},
          check_data_folder(data),
          check_hardware(data),
          check_models(data),
          check_profiles(data),
          check_cpu(),
          check_memory(),
          check_driver(),
          check_gpus(),
          check_program({"nvidia-smi", "nvidia-smi", "clocks and power are not recorded"}),
          check_library({"CUDA", "libcudart.so", "no calibration here"}),
          check_library({"NCCL", "libnccl.so", "collectives cannot be measured here"}),
          check_program({"MPI", "mpirun", "measurements stay on one node"}),
          check_terminal(context)};
}

std::string coloured(Health health, bool color) {
  const std::string text = fmt::format("{:<7}", word(health));
  if (!color) return text;
  const char* code = health == Health::kOk ? "32" : health == Health::kMissing ? "33" : "31";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

int run(bool as_json, const CommandContext& context) {
  const std::vector<Check> checks = examine(context);
  const bool broken = std::any_of(checks.begin(), checks.end(),
                                  [](const Check& c) { return c.health == Health::kBroken; });
  if (as_json) {
    Json json;
    json["version"] = FORETRAIN_VERSION;
    json["data_dir"] = context.data_dir;
    json["usable"] = !broken;
    json["checks"] = Json::array();
    for (const Check& check : checks) {
      Json item;
      item["name"] = check.name;
      item["status"] = word(check.health);
      item["detail"] = check.detail;
      item["cost"] = check.cost.empty() ? Json(nullptr) : Json(check.cost);
      json["checks"].push_back(std::move(item));
    }
    fmt::print("{}\n", json.dump(2));
  } else {
    for (const Check& check : checks) {
      fmt::print("{}  {:<13}  {}", coloured(check.health, context.color), check.name, check.detail);
      fmt::print("{}\n", check.cost.empty() ? std::string{} : " -> " + check.cost);
    }
    fmt::print("\n{}\n", broken ? "The catalog does not load: predictions are not possible."
                                : "Predictions work on this machine.");
  }
  return broken ? kEnvironmentFailed : kDone;
}

}  // namespace

void add_doctor_command(CLI::App& app, CommandContext& context) {
  auto as_json = std::make_shared<bool>(false);  // lives as long as the callback
  CLI::App* command = app.add_subcommand("doctor", "Say what works on this machine");
  command->add_flag("--json", *as_json, "Print JSON");
  command->callback([as_json, &context] { context.exit_code = run(*as_json, context); });
}

}  // namespace foretrain
