#include <CLI/CLI.hpp>

#include "tools/foretrain/command.h"

namespace foretrain {

void add_catalog_command(CLI::App& /*app*/, CommandContext& /*context*/) {}

}  // namespace foretrain
