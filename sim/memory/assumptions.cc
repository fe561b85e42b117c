#include <charconv>
#include <cmath>
#include <optional>

#include "sim/document/document.h"
#include "sim/hardware/entry_reader.h"
#include "sim/memory/memory_model.h"

namespace foretrain {
namespace {

/// Reads `key: {value, unit, source, date}` entries; every problem is collected.
class AssumptionReader {
 public:
  AssumptionReader(const DocumentNode& document, Diagnostics& diagnostics)
      : file_(document, "memory", diagnostics), diagnostics_(diagnostics) {}

  Bytes bytes(const char* key) {
    Bytes result;
    read(key, [&](EntryReader& entry) { result = entry.quantity<Bytes>("value", parse_bytes); });
    return result;
  }
  /// A number from `low` to `high`.
  double number(const char* key, double low, double high) {
    double result = low;
    read(key, [&](EntryReader& entry) {
      const std::string text = entry.text("value");
      if (text.empty()) return;
      double value = 0;
      const char* end = text.data() + text.size();
      const auto parsed = std::from_chars(text.data(), end, value);
      if (parsed.ec != std::errc{} || parsed.ptr != end || !(value >= low && value <= high)) {
        entry.report("value",
                     "must be a number in the range of this quantity, not \"" + text + "\"");
        return;
      }
      result = value;
    });
    return result;
  }
  void finish() { file_.finish(); }

 private:
  template <class Read>
  void read(const char* key, Read read_value) {
    const DocumentNode* node = file_.map(key, true);
    if (node == nullptr) return;
    EntryReader entry{*node, file_.path() + "." + key, diagnostics_};
    read_value(entry);
    for (const char* documented : {"unit", "source", "date"}) {
      if (entry.text(documented).empty()) continue;
    }
    entry.finish();
  }

  EntryReader file_;
  Diagnostics& diagnostics_;
};

}  // namespace

Result<MemoryAssumptions> load_memory_assumptions(const std::string& catalog_dir) {
  Result<DocumentNode> document = read_document(catalog_dir + "/memory.yaml");
  if (!document) return tl::make_unexpected(document.error());
  Diagnostics diagnostics;
  AssumptionReader reader{*document, diagnostics};
  MemoryAssumptions assumptions;
  assumptions.cuda_context = reader.bytes("cuda_context");
  assumptions.fragmentation = reader.number("fragmentation", 1, 3);
  assumptions.fragmentation_recompute = reader.number("fragmentation_recompute", 1, 3);
  assumptions.nccl_per_communicator = reader.bytes("nccl_per_communicator");
  assumptions.compiled_kept = reader.number("compiled_kept", 0, 1);
  assumptions.zero3_live_parameters = std::llround(reader.number("zero3_live_parameters", 0, 1e12));
  reader.finish();
  if (has_errors(diagnostics)) return tl::make_unexpected(diagnostics);
  return assumptions;
}

}  // namespace foretrain
