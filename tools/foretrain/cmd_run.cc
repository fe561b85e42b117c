#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "sim/results/json_writer.h"
#include "sim/results/text_report.h"
#include "sim/run/simulate.h"
#include "tools/foretrain/command.h"

namespace foretrain {
namespace {

struct RunArguments {
  std::string scenario;
  std::vector<std::string> sets, patches;
  std::string out, fidelity, seed;
  bool json = false, no_fold = false, all = false, quiet = false;
};

/// A line on stderr that appears only when a run takes longer than a second.
class Progress {
 public:
  explicit Progress(bool terminal) : terminal_(terminal) {}
  ~Progress() {
    if (shown_ && terminal_) std::fputs("\r\x1b[K", stderr);
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void report(std::int64_t done, std::int64_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (now - start_ < std::chrono::seconds(1)) return;
    if (shown_ &&
        now - last_ < (terminal_ ? std::chrono::milliseconds(200) : std::chrono::seconds(5))) {
      return;
    }
    last_ = now;
    shown_ = true;
    const double percent =
        total > 0 ? 100.0 * static_cast<double>(done) / static_cast<double>(total) : 0;
    fmt::print(stderr, "{}simulating the step: {:.0f} %{}", terminal_ ? "\r" : "", percent,
               terminal_ ? "\x1b[K" : "\n");
    std::fflush(stderr);
  }

 private:
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_{};
};

int exit_code_of(const RunReport& report) {
  bool failed = false;
  for (const ExpectationResult& e : report.expectations) failed = failed || !e.holds;
  // A scenario that expects not to fit is met by not fitting.
  if (failed) return kExpectationFailed;
  if (report.outcome == Outcome::kOutOfMemory) {
    for (const ExpectationResult& e : report.expectations) {
      if (e.metric == "outcome") return kDone;
    }
    return kDoesNotFit;
  }
  if (report.outcome == Outcome::kDeadlocked) return kDefect;
  return kDone;
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file{path, std::ios::binary};
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

int run(const RunArguments& arguments, const CommandContext& context) {
  LoadOptions load;
  load.data_dir = context.data_dir;
  load.sets = arguments.sets;
  load.patches = arguments.patches;
  if (!arguments.fidelity.empty()) load.sets.push_back("fidelity=" + arguments.fidelity);
  if (!arguments.seed.empty()) load.sets.push_back("seed=" + arguments.seed);
  const Result<Scenario> scenario = load_scenario(arguments.scenario, load);
  if (!scenario) {
    std::fputs(to_string(scenario.error()).c_str(), stderr);
    return kWrongInput;
  }
  Progress progress{context.progress};
  RunOptions options;
  options.data_dir = context.data_dir;
  options.fold = !arguments.no_fold;
  if (!arguments.quiet) {
    options.progress = [&](std::int64_t done, std::int64_t total) { progress.report(done, total); };
  }
  const Result<RunReport> report = simulate(*scenario, options);
  if (!report) {
    std::fputs(to_string(report.error()).c_str(), stderr);
    return kWrongInput;
  }
  const std::string json = to_json(*report);
  const std::string text = to_text(*report, {.color = false, .all = true});
  if (!arguments.out.empty()) {
    std::filesystem::create_directories(arguments.out);
    write_file(std::filesystem::path{arguments.out} / "results.json", json);
    write_file(std::filesystem::path{arguments.out} / "report.txt", text);
  }
  const std::string shown =
      arguments.json ? json : to_text(*report, {.color = context.color, .all = arguments.all});
  std::fputs(shown.c_str(), stdout);
  return exit_code_of(*report);
}

}  // namespace

void add_run_command(CLI::App& app, CommandContext& context) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand(
      "run", "Simulate one training step of a scenario: its time, what bounds it, memory, links");
  command->add_option("SCENARIO", arguments->scenario, "Scenario file (YAML)")->required();
  command->add_option("--set", arguments->sets, "Change one value: --set job.parallel.tensor=4")
      ->type_name("PATH=VALUE");
  command->add_option("--patch", arguments->patches, "YAML file merged over the scenario")
      ->type_name("FILE");
  command
      ->add_option("--fidelity", arguments->fidelity,
                   "Network fidelity: ideal (no contention), fluid, or chunk (collectives chunk by "
                   "chunk); default: the scenario's")
      ->type_name("NAME");
  command->add_option("--seed", arguments->seed, "Seed of hashed routes; default: the scenario's")
      ->type_name("N");
  command->add_option("--out", arguments->out, "Folder for results.json and report.txt")
      ->type_name("DIR");
  command->add_flag("--json", arguments->json, "Print the whole result as JSON");
  command->add_flag("--all", arguments->all, "Print every link and collective, not the top few");
  command->add_flag("--no-fold", arguments->no_fold,
                    "Run every rank instead of one of each class that cannot be told apart");
  command->add_flag("--quiet", arguments->quiet, "No progress on stderr");
  command->callback([arguments, &context] { context.exit_code = run(*arguments, context); });
}

}  // namespace foretrain
