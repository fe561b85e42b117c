#include "sim/execution/interference.h"

#include <charconv>

#include "sim/document/document.h"

namespace foretrain {
namespace {

struct Field {
  const char* key;
  double* target;
};

}  // namespace

Result<Interference> load_interference(const std::string& catalog_dir) {
  const std::string path = catalog_dir + "/interference.yaml";
  Result<DocumentNode> document = read_document(path);
  if (!document) return tl::make_unexpected(document.error());
  Interference result;
  double max_sms = result.max_sms;
  const Field fields[] = {
      {"communication_slowdown", &result.communication_slowdown},
      {"memory_slowdown", &result.memory_slowdown},
      {"max_sms", &max_sms},
      {"model_relative_sigma", &result.model_relative_sigma},
      {"collective_relative_sigma", &result.collective_relative_sigma},
      {"barrier_seconds_per_level", &result.barrier_seconds_per_level},
  };
  Diagnostics problems;
  for (const Field& field : fields) {
    const DocumentNode* entry = document->find(field.key);
    const DocumentNode* value = entry != nullptr ? entry->find("value") : nullptr;
    if (value == nullptr) {
      problems.push_back({Severity::kError, document->location, field.key, "missing",
                          "write `value:`, `source:` and `date:` below it"});
      continue;
    }
    const std::string& text = value->scalar;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), *field.target);
    if (error != std::errc{} || end != text.data() + text.size() || !(*field.target >= 0)) {
      problems.push_back({Severity::kError, value->location, field.key, "not a number >= 0", {}});
    }
  }
  if (!problems.empty()) return tl::make_unexpected(problems);
  result.max_sms = static_cast<int>(max_sms);
  return result;
}

}  // namespace foretrain
