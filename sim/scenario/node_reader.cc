#include "sim/scenario/node_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "sim/scenario/keys.h"

namespace foretrain {

void Problems::error(const SourceLocation& at, std::string path, std::string message,
                     std::string hint) {
  note(Severity::kError, at, std::move(path), std::move(message), std::move(hint));
}

void Problems::note(Severity severity, const SourceLocation& at, std::string path,
                    std::string message, std::string hint) {
  diagnostics.push_back({severity, at, std::move(path), std::move(message), std::move(hint)});
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

std::optional<std::int64_t> parse_integer(const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && stop == end) return value;
  return std::nullopt;
}

std::optional<double> parse_number(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && stop == end && std::isfinite(value)) return value;
  return std::nullopt;
}

NodeReader::NodeReader(const DocumentNode* node, std::string path, Problems& problems)
    : node_(node), path_(std::move(path)), problems_(&problems) {
  if (node_ == nullptr) return;
  location_ = node_->location;
  if (node_->kind != DocumentNode::Kind::kMap) {
    problems_->error(location_, path_, "must be a map of keys",
                     path_.empty() ? "a scenario begins with `foretrain: 1`" : "");
    node_ = nullptr;
    return;
  }
  check_keys();
}

void NodeReader::check_keys() const {
  // Anything may stand below `nccl` and `sweep`: NCCL's own names, and paths.
  if (path_ == "nccl" || path_ == "sweep") return;
  const std::vector<std::string> known = keys_below(path_);
  for (const DocumentEntry& entry : node_->entries) {
    bool found = false;
    for (const std::string& key : known) found = found || key == entry.key;
    if (found) continue;
    std::string nearest = nearest_name(entry.key, known);
    std::string hint = nearest.empty() ? "keys here: " + listed(known) : "did you mean '" + nearest + "'?";
    problems_->error(entry.key_location, path_of(entry.key), "unknown key", std::move(hint));
  }
}

std::string NodeReader::path_of(const std::string& key) const {
  std::string shown = path_;
  return shown.empty() ? key : shown + "." + key;
}

const DocumentNode* NodeReader::child(const std::string& key) const {
  const DocumentNode* value = node_ == nullptr ? nullptr : node_->find(key);
  return value != nullptr && value->kind == DocumentNode::Kind::kNull ? nullptr : value;
}

SourceLocation NodeReader::at(const std::string& key) const {
  const DocumentNode* value = child(key);
  return value != nullptr ? value->location : location_;
}

NodeReader NodeReader::map(const std::string& key) const {
  return NodeReader{child(key), path_of(key), *problems_};
}

std::optional<std::string> NodeReader::text(const std::string& key) const {
  const DocumentNode* value = child(key);
  if (value == nullptr) return std::nullopt;
  if (value->kind != DocumentNode::Kind::kScalar) {
    error(key, "must be a single value, not a list or map");
    return std::nullopt;
  }
  return value->scalar;
}

std::optional<std::int64_t> NodeReader::integer(const std::string& key, std::int64_t least,
                                                std::int64_t most) const {
  const std::optional<std::string> value = text(key);
  if (!value) return std::nullopt;
  const std::optional<std::int64_t> parsed = parse_integer(*value);
  if (!parsed) {
    error(key, fmt::format("'{}' is not a whole number", *value), "write digits only: 8");
    return std::nullopt;
  }
  if (*parsed < least) {
    error(key, fmt::format("{} is too small", *parsed), fmt::format("at least {}", least));
    return std::nullopt;
  }
  if (*parsed > most) {
    error(key, fmt::format("{} is too large", *parsed), fmt::format("at most {}", most));
    return std::nullopt;
  }
  return parsed;
}

std::optional<double> NodeReader::number(const std::string& key) const {
  const std::optional<std::string> value = text(key);
  if (!value) return std::nullopt;
  const std::optional<double> parsed = parse_number(*value);
  if (!parsed) error(key, fmt::format("'{}' is not a number", *value), "write 15e12 or 0.5");
  return parsed;
}

std::optional<bool> NodeReader::boolean(const std::string& key) const {
  const std::optional<std::string> value = text(key);
  if (!value) return std::nullopt;
  if (*value == "true") return true;
  if (*value == "false") return false;
  error(key, fmt::format("'{}' is neither true nor false", *value), "write true or false");
  return std::nullopt;
}

std::optional<std::string> NodeReader::choice(const std::string& key,
                                              const std::vector<std::string>& words) const {
  const std::optional<std::string> value = text(key);
  if (!value) return std::nullopt;
  std::vector<std::string> allowed = words;
  if (allowed.empty()) {
    const KeySpec* spec = find_key(path_of(key));
    if (spec != nullptr) allowed = choices_of(*spec);
  }
  for (const std::string& word : allowed) {
    if (word == *value) return value;
  }
  const std::string nearest = nearest_name(*value, allowed);
  std::string hint = nearest.empty() ? std::string{} : "did you mean '" + nearest + "'? ";
  if (allowed.size() <= 12) hint += "allowed: " + listed(allowed);
  error(key, fmt::format("unknown value '{}'", *value), hint);
  return std::nullopt;
}

void NodeReader::require(const std::string& key, const std::string& hint) const {
  if (child(key) == nullptr) problems_->error(location_, path_of(key), "missing", hint);
}

}  // namespace foretrain
