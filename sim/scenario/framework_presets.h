// Presets of frameworks: scenarios/catalog/frameworks.yaml.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/workload/training_job.h"

namespace foretrain {

struct FrameworkPreset {
  std::string name;
  Framework framework = Framework::kNone;
  FrameworkOptions options;
  bool sequence_parallel = false;  // default when tensor > 1
  Sharding sharding = Sharding::kNone;
  AttentionKernel attention = AttentionKernel::kFlash;
};

/// By name and alias.
using FrameworkPresets = std::map<std::string, FrameworkPreset>;
[[nodiscard]] Result<FrameworkPresets> load_framework_presets(const std::string& catalog_dir);

[[nodiscard]] std::optional<Sharding> parse_sharding(const std::string& word);
[[nodiscard]] std::optional<AttentionKernel> parse_attention(const std::string& word);

}  // namespace foretrain
