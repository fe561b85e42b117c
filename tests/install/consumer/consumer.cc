// A user's program: includes the installed headers as the source tree does, links the targets.
#include <cstdio>

#include "sim/core/unit_parser.h"
#include "sim/core/units.h"
#include "sim/document/document.h"

int main() {
  const auto size = foretrain::parse_bytes("4 MiB");
  const auto rate = foretrain::parse_data_rate("400 Gbit/s");
  const auto document = foretrain::parse_document("name: installed\n", "text");
  if (!size || !rate || !document || document->find("name") == nullptr) return 1;
  const auto duration = foretrain::transfer_time(*size, *rate);
  std::printf("%s: %s\n", document->find("name")->scalar.c_str(),
              foretrain::format_duration(duration).c_str());
  return duration == foretrain::SimDuration{83'886'080} ? 0 : 1;
}
