#include "sim/hardware/entry_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace foretrain {

EntryReader::EntryReader(const DocumentNode& map, std::string path, Diagnostics& diagnostics)
    : map_(map), path_(std::move(path)), diagnostics_(diagnostics) {
  if (map_.kind != DocumentNode::Kind::kMap) {
    add(map_.location, path_, "must be a map of keys and values", {});
  }
}

void EntryReader::add(const SourceLocation& at, std::string path, std::string message,
                      std::string hint) {
  diagnostics_.push_back(
      Diagnostic{Severity::kError, at, std::move(path), std::move(message), std::move(hint)});
}

const DocumentNode* EntryReader::scalar(std::string_view key, bool required) {
  known_.emplace_back(key);
  if (map_.kind != DocumentNode::Kind::kMap) return nullptr;  // already reported
  const DocumentNode* node = map_.find(key);
  if (node == nullptr) {
    if (required) add(map_.location, path_, fmt::format("key \"{}\" is missing", key), {});
    return nullptr;
  }
  if (node->kind != DocumentNode::Kind::kScalar || node->scalar.empty()) {
    add(node->location, fmt::format("{}.{}", path_, key), "must be a single value", {});
    return nullptr;
  }
  return node;
}

std::string EntryReader::text(std::string_view key) {
  const DocumentNode* node = scalar(key, true);
  return node == nullptr ? std::string{} : node->scalar;
}

std::string EntryReader::optional_text(std::string_view key) {
  const DocumentNode* node = scalar(key, false);
  return node == nullptr ? std::string{} : node->scalar;
}

std::string EntryReader::choice(std::string_view key, const std::vector<std::string>& choices) {
  const DocumentNode* node = scalar(key, true);
  return node == nullptr ? std::string{} : checked(key, *node, choices);
}

std::string EntryReader::optional_choice(std::string_view key,
                                         const std::vector<std::string>& choices,
                                         std::string fallback) {
  const DocumentNode* node = scalar(key, false);
  return node == nullptr ? std::move(fallback) : checked(key, *node, choices);
}

std::string EntryReader::checked(std::string_view key, const DocumentNode& node,
                                 const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), node.scalar) != choices.end()) return node.scalar;
  const std::string nearest = nearest_name(node.scalar, choices);
  add(node.location, fmt::format("{}.{}", path_, key),
      fmt::format("unknown value \"{}\"; allowed: {}", node.scalar, fmt::join(choices, ", ")),
      nearest.empty() ? std::string{} : fmt::format("did you mean \"{}\"?", nearest));
  return {};
}

std::int64_t EntryReader::integer(std::string_view key, IntegerRange range) {
  const DocumentNode* node = scalar(key, true);
  if (node == nullptr) return 0;
  std::int64_t value = 0;
  const char* end = node->scalar.data() + node->scalar.size();
  const auto result = std::from_chars(node->scalar.data(), end, value);
  const std::string where = fmt::format("{}.{}", path_, key);
  if (result.ec != std::errc{} || result.ptr != end) {
    add(node->location, where, fmt::format("must be a whole number, not \"{}\"", node->scalar), {});
    return 0;
  }
  if (value < range.low || value > range.high) {
    add(node->location, where,
        fmt::format("must lie from {} to {}, not {}", range.low, range.high, value), {});
    return 0;
  }
  return value;
}

const DocumentNode* EntryReader::map(std::string_view key, bool required) {
  known_.emplace_back(key);
  if (map_.kind != DocumentNode::Kind::kMap) return nullptr;
  const DocumentNode* node = map_.find(key);
  if (node == nullptr) {
    if (required) add(map_.location, path_, fmt::format("key \"{}\" is missing", key), {});
    return nullptr;
  }
  if (node->kind != DocumentNode::Kind::kMap) {
    add(node->location, fmt::format("{}.{}", path_, key), "must be a map of keys and values", {});
    return nullptr;
  }
  return node;
}

void EntryReader::report(std::string_view key, std::string message, std::string hint) {
  const DocumentNode* node = map_.kind == DocumentNode::Kind::kMap ? map_.find(key) : nullptr;
  add(node == nullptr ? map_.location : node->location, fmt::format("{}.{}", path_, key),
      std::move(message), std::move(hint));
}

void EntryReader::finish() {
  for (const DocumentEntry& entry : map_.entries) {
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    const std::string nearest = nearest_name(entry.key, known_);
    add(entry.key_location, path_, fmt::format("unknown key \"{}\"", entry.key),
        nearest.empty() ? fmt::format("known keys: {}", fmt::join(known_, ", "))
                        : fmt::format("did you mean \"{}\"?", nearest));
  }
}

}  // namespace foretrain
