// Any bytes give a document within its limits, or diagnostics with places; never a crash.
#include <string_view>

#include "sim/core/contracts.h"
#include "sim/document/document.h"
#include "tests/fuzz/fuzz_entry.h"

namespace {

constexpr int kMaxDepth = 32;

std::size_t count_nodes(const foretrain::DocumentNode& node, int depth) {
  FORETRAIN_ENSURES(depth <= kMaxDepth + 1, "nesting stays within its limit");
  std::size_t count = 1;
  for (const auto& item : node.items) count += count_nodes(item, depth + 1);
  for (const auto& entry : node.entries) {
    FORETRAIN_ENSURES(node.find(entry.key) == &entry.value, "keys are unique and found");
    count += count_nodes(entry.value, depth + 1);
  }
  return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  foretrain::DocumentLimits limits;
  limits.max_bytes = 1u << 16;
  limits.max_depth = kMaxDepth;
  limits.max_nodes = 10'000;
  const auto document = foretrain::parse_document(
      std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.yaml", limits);
  if (document) {
    FORETRAIN_ENSURES(count_nodes(*document, 0) <= limits.max_nodes, "nodes stay within the limit");
  } else {
    FORETRAIN_ENSURES(foretrain::has_errors(document.error()), "a refusal holds an error");
    static_cast<void>(foretrain::to_string(document.error()));
  }
  return 0;
}
