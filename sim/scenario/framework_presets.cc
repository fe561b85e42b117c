#include "sim/scenario/framework_presets.h"

#include <fmt/format.h>

#include "sim/core/unit_parser.h"
#include "sim/document/document.h"
#include "sim/scenario/node_reader.h"

namespace foretrain {

std::optional<Sharding> parse_sharding(const std::string& word) {
  if (word == "none") return Sharding::kNone;
  if (word == "optimizer") return Sharding::kOptimizer;
  if (word == "gradients") return Sharding::kGradients;
  if (word == "parameters") return Sharding::kParameters;
  return std::nullopt;
}

std::optional<AttentionKernel> parse_attention(const std::string& word) {
  if (word == "flash") return AttentionKernel::kFlash;
  if (word == "flash1") return AttentionKernel::kFlash1;
  if (word == "flash2") return AttentionKernel::kFlash2;
  if (word == "flash3") return AttentionKernel::kFlash3;
  if (word == "cudnn") return AttentionKernel::kCudnn;
  if (word == "unfused") return AttentionKernel::kUnfused;
  return std::nullopt;
}

namespace {

std::optional<Framework> parse_framework(const std::string& word) {
  if (word == "none") return Framework::kNone;
  if (word == "ddp") return Framework::kDdp;
  if (word == "fsdp2") return Framework::kFsdp2;
  if (word == "deepspeed") return Framework::kDeepSpeed;
  if (word == "megatron-lm") return Framework::kMegatronLm;
  if (word == "torchtitan") return Framework::kTorchTitan;
  return std::nullopt;
}

/// One value of a preset: every one is a map of value, source and date.
class PresetReader {
 public:
  PresetReader(const DocumentNode& entry, Diagnostics& problems)
      : entry_(entry), problems_(problems) {}
  std::optional<std::string> value(const char* key) {
    const DocumentNode* node = entry_.find(key);
    if (node == nullptr) return std::nullopt;
    const DocumentNode* value = node->kind == DocumentNode::Kind::kMap ? node->find("value") : node;
    if (value == nullptr || value->kind != DocumentNode::Kind::kScalar) {
      problem(node->location, key, "needs a value");
      return std::nullopt;
    }
    return value->scalar;
  }
  void boolean(const char* key, bool& target) {
    if (const auto text = value(key)) {
      if (*text != "true" && *text != "false")
        problem(entry_.location, key, "must be true or false");
      target = *text == "true";
    }
  }
  template <class T>
  void integer(const char* key, T& target) {
    if (const auto text = value(key)) {
      const auto number = parse_integer(*text);
      if (!number || *number < 1) {
        problem(entry_.location, key, "must be a whole number");
      } else {
        target = static_cast<T>(*number);
      }
    }
  }
  void duration(const char* key, double& seconds) {
    if (const auto text = value(key)) {
      const auto parsed = parse_duration(*text);
      if (!parsed) {
        problem(entry_.location, key, parsed.error().message);
      } else {
        seconds = to_seconds(*parsed);
      }
    }
  }
  void problem(const SourceLocation& at, std::string key, std::string message) {
    problems_.push_back({Severity::kError, at, std::move(key), std::move(message), {}});
  }

 private:
  const DocumentNode& entry_;
  Diagnostics& problems_;
};

/// `preset` holds what the entry extends; its own values go over it.
FrameworkPreset read_preset(const std::string& name, const DocumentNode& entry,
                            FrameworkPreset preset, Diagnostics& problems) {
  preset.name = name;
  PresetReader reader{entry, problems};
  FrameworkOptions& o = preset.options;
  reader.boolean("overlap_grad_reduce", o.overlap_grad_reduce);
  reader.boolean("overlap_param_gather", o.overlap_param_gather);
  reader.boolean("overlap_p2p", o.overlap_p2p);
  reader.boolean("tensor_overlap", o.tensor_overlap);
  reader.boolean("fused_kernels", o.fused_kernels);
  reader.boolean("fused_loss", o.fused_loss);
  reader.boolean("compiled", o.compiled);
  reader.boolean("optimizer_fused", o.optimizer_fused);
  reader.integer("gradient_bytes", o.gradient_bytes);
  reader.integer("parameter_gather_bytes", o.parameter_gather_bytes);
  reader.integer("bucket_parameters", o.bucket_parameters);
  reader.integer("vocab_multiple", o.vocab_multiple);
  reader.duration("host_time_per_launch", o.host_seconds_per_launch);
  reader.duration("step_overhead", o.step_overhead_seconds);
  reader.boolean("sequence_parallel", preset.sequence_parallel);
  if (const auto word = reader.value("shard")) {
    const auto sharding = parse_sharding(*word);
    if (!sharding) reader.problem(entry.location, name + ".shard", "unknown value");
    preset.sharding = sharding.value_or(Sharding::kNone);
  }
  if (const auto word = reader.value("attention")) {
    const auto attention = parse_attention(*word);
    if (!attention) reader.problem(entry.location, name + ".attention", "unknown value");
    preset.attention = attention.value_or(AttentionKernel::kFlash);
  }
  return preset;
}

/// What a preset starts from: an earlier one that it names, or the bare framework of its name.
FrameworkPreset base_of(const DocumentEntry& entry, const FrameworkPresets& earlier,
                        Diagnostics& problems) {
  FrameworkPreset base;
  PresetReader reader{entry.value, problems};
  if (const auto parent = reader.value("extends")) {
    const auto found = earlier.find(*parent);
    if (found != earlier.end()) return found->second;
    reader.problem(entry.value.location, entry.key, "extends '" + *parent + "', no preset before");
    return base;
  }
  const auto framework = parse_framework(entry.key);
  if (!framework) reader.problem(entry.value.location, entry.key, "unknown framework; set extends");
  base.framework = framework.value_or(Framework::kNone);
  return base;
}

}  // namespace

Result<FrameworkPresets> load_framework_presets(const std::string& catalog_dir) {
  const Result<DocumentNode> document = read_document(catalog_dir + "/frameworks.yaml");
  if (!document) return tl::make_unexpected(document.error());
  Diagnostics problems;
  FrameworkPresets presets;
  for (const DocumentEntry& entry : document->entries) {
    FrameworkPreset preset =
        read_preset(entry.key, entry.value, base_of(entry, presets, problems), problems);
    if (const DocumentNode* aliases = entry.value.find("aliases")) {
      for (const DocumentNode& alias : aliases->items) presets.emplace(alias.scalar, preset);
    }
    presets.emplace(entry.key, std::move(preset));
  }
  if (!problems.empty()) return tl::make_unexpected(problems);
  return presets;
}

}  // namespace foretrain
