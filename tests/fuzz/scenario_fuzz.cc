// Any bytes give a scenario that keeps its own rules, or diagnostics; never a crash.
#include <string>
#include <string_view>

#include "sim/core/contracts.h"
#include "sim/scenario/scenario.h"
#include "tests/fuzz/fuzz_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  // `extends` would read whatever file the fuzzer spells; such inputs belong to the unit tests.
  if (text.find("extends") != std::string::npos || size > (1u << 16)) return 0;
  foretrain::LoadOptions options;
  options.data_dir = FORETRAIN_SOURCE_DIR "/scenarios";
  const auto scenario = foretrain::parse_scenario(text, "fuzz.yaml", options);
  if (scenario) {
    FORETRAIN_ENSURES(scenario->cluster.num_gpus() > 0, "a scenario has GPUs");
  } else {
    FORETRAIN_ENSURES(foretrain::has_errors(scenario.error()), "a refusal holds an error");
    static_cast<void>(foretrain::to_string(scenario.error()));
  }
  return 0;
}
