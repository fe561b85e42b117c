#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>

#include "tools/foretrain/command.h"

namespace foretrain {
namespace {

std::string default_data_dir() {
  if (const char* from_environment = std::getenv("FORETRAIN_DATA")) return from_environment;
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const auto installed = program.parent_path().parent_path() / "share" / "foretrain";
  if (std::filesystem::is_directory(installed / "catalog", ignored)) return installed.string();
  return FORETRAIN_SOURCE_DATA_DIR;
}

}  // namespace
}  // namespace foretrain

int main(int argc, char** argv) {
  using namespace foretrain;
  CommandContext context;
  context.data_dir = default_data_dir();
  context.color = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  context.progress = isatty(STDERR_FILENO) != 0;

  CLI::App app{
      "foretrain predicts what a training job does on a GPU cluster: step time, what bounds it, "
      "memory."};
  app.set_version_flag("--version", std::string{"foretrain "} + FORETRAIN_VERSION);
  app.add_option("--data-dir", context.data_dir, "Folder with catalog/ and profiles/")
      ->capture_default_str();
  app.require_subcommand(1);
  app.fallthrough();
  add_run_command(app, context);
  add_topo_command(app, context);
  add_catalog_command(app, context);
  add_schema_command(app, context);
  add_doctor_command(app, context);
  add_kernel_command(app, context);
  add_collective_command(app, context);
  add_calibrate_command(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? kDone : kWrongInput;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "foretrain: %s\n", error.what());
    return kEnvironmentFailed;
  }
  return context.exit_code;
}
