// Shared by all subcommands of the `foretrain` program.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace foretrain {

/// Exit codes of interfaces.md, section 4.
enum ExitCode : int {
  kDone = 0,
  kExpectationFailed = 1,
  kWrongInput = 2,
  kDoesNotFit = 3,
  kEnvironmentFailed = 4,
  kDefect = 70,
};

/// State of one invocation. A subcommand's callback sets exit_code.
struct CommandContext {
  std::string data_dir;  // holds catalog/ and profiles/; --data-dir, $FORETRAIN_DATA, install or
                         // source tree
  int exit_code = kDone;
  bool color = false;     // stdout is a terminal, NO_COLOR unset
  bool progress = false;  // stderr is a terminal or --progress
};

void add_run_command(CLI::App& app, CommandContext& context);
void add_topo_command(CLI::App& app, CommandContext& context);
void add_catalog_command(CLI::App& app, CommandContext& context);
void add_schema_command(CLI::App& app, CommandContext& context);
void add_doctor_command(CLI::App& app, CommandContext& context);
void add_calibrate_command(CLI::App& app, CommandContext& context);
void add_kernel_command(CLI::App& app, CommandContext& context);
void add_collective_command(CLI::App& app, CommandContext& context);

}  // namespace foretrain
