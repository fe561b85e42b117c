#include <CLI/CLI.hpp>

#include "tools/foretrain/command.h"

namespace foretrain {

void add_run_command(CLI::App& /*app*/, CommandContext& /*context*/) {}

}  // namespace foretrain
