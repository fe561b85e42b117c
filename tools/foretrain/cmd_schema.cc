#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "sim/scenario/keys.h"
#include "sim/scenario/scenario.h"
#include "tools/foretrain/command.h"

namespace foretrain {

void add_schema_command(CLI::App& app, CommandContext& context) {
  struct Arguments {
    std::string out;
    bool markdown = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "schema", "Print the JSON Schema of scenario files: editors complete and check with it");
  command->add_option("-o,--out", arguments->out, "Write to a file instead of stdout")
      ->type_name("FILE");
  command->add_flag("--markdown", arguments->markdown, "Print the table of keys instead");
  command->callback([arguments, &context] {
    const std::string text =
        arguments->markdown ? scenario_keys_markdown() : scenario_schema(context.data_dir);
    if (arguments->out.empty()) {
      std::fputs(text.c_str(), stdout);
      return;
    }
    std::ofstream file{arguments->out};
    file << text;
    file.close();
    if (!file) throw std::runtime_error("cannot write " + arguments->out);
  });
}

}  // namespace foretrain
