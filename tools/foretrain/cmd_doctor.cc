#include <CLI/CLI.hpp>

#include "tools/foretrain/command.h"

namespace foretrain {

void add_doctor_command(CLI::App& /*app*/, CommandContext& /*context*/) {}

}  // namespace foretrain
