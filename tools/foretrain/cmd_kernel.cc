#include <CLI/CLI.hpp>

#include "tools/foretrain/command.h"

namespace foretrain {

void add_kernel_command(CLI::App& /*app*/, CommandContext& /*context*/) {}

}  // namespace foretrain
