#include <CLI/CLI.hpp>

#include "tools/foretrain/command.h"

namespace foretrain {

void add_calibrate_command(CLI::App& /*app*/, CommandContext& /*context*/) {}

}  // namespace foretrain
