// The one table of scenario keys: what decodes, completes, documents and checks them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

enum class KeyType {
  kText,
  kInteger,
  kNumber,
  kBoolean,
  kChoice,
  kBytes,
  kRate,
  kDuration,
  kPercent,
  kMap,
  kList,
  kAny
};

struct KeySpec {
  std::string_view path;  // "cluster.fabric.tiers"; list items: "expect[].metric"
  KeyType type = KeyType::kText;
  std::string_view choices;       // kChoice: words separated by '|'; '@gpus' etc.: catalog names
  std::string_view default_text;  // for the documentation
  std::string_view description;
  std::string_view later = {};  // kChoice, kAny: known words that this version does not simulate
};

[[nodiscard]] const std::vector<KeySpec>& scenario_keys();
/// Keys directly below a path ("" = top), in table order.
[[nodiscard]] std::vector<std::string> keys_below(std::string_view path);
[[nodiscard]] const KeySpec* find_key(std::string_view path);
/// The choices of a key, split.
[[nodiscard]] std::vector<std::string> choices_of(const KeySpec& key);
/// Words between '|'.
[[nodiscard]] std::vector<std::string> split_words(std::string_view words);

/// One Markdown table a section: scenarios/README.md holds it.
[[nodiscard]] std::string scenario_keys_markdown();

}  // namespace foretrain
