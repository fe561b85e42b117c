#include "sim/scenario/node_reader.h"

#include <fmt/format.h>

#include <algorithm>
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

bool Problems::any_below(std::string_view path) const {
  return std::any_of(diagnostics.begin(), diagnostics.end(), [&](const Diagnostic& problem) {
    return problem.severity == Severity::kError && problem.path.starts_with(path);
  });
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

namespace {

/// The map that holds a key of this name, if only one does: "job.parallel" for "tensor".
std::string place_of_key(const std::string& key) {
  std::string place;
  for (const KeySpec& spec : scenario_keys()) {
    const std::size_t dot = spec.path.rfind('.');
    if (dot == std::string_view::npos || spec.path.substr(dot + 1) != key) continue;
    if (!place.empty()) return {};
    place = spec.path.substr(0, dot);
  }
  return place;
}

}  // namespace

NodeReader::NodeReader(const DocumentNode* node, std::string path, Problems& problems)
    : NodeReader{node, path, path, problems} {}

NodeReader NodeReader::item(const DocumentNode& node, const std::string& list, std::size_t index,
                            Problems& problems) {
  return NodeReader{&node, list + "[]", fmt::format("{}[{}]", list, index), problems};
}

NodeReader::NodeReader(const DocumentNode* node, std::string path, std::string shown,
                       Problems& problems)
    : node_(node), path_(std::move(path)), shown_(std::move(shown)), problems_(&problems) {
  if (node_ == nullptr) return;
  location_ = node_->location;
  if (node_->kind != DocumentNode::Kind::kMap) {
    problems_->error(location_, shown_, "must be a map of keys",
                     path_.empty() ? "a scenario begins with `foretrain: 1`"
                                   : "keys here: " + listed(keys_below(path_)));
    node_ = nullptr;
    return;
  }
  check_keys();
}

void NodeReader::check_keys() const {
  // Anything may stand here: NCCL's own names, and paths.
  if (path_ == "nccl" || path_ == "sweep" || path_ == "run.failures") return;
  const std::vector<std::string> known = keys_below(path_);
  for (const DocumentEntry& entry : node_->entries) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    const std::string nearest = nearest_name(entry.key, known);
    std::string hint = "did you mean '" + nearest + "'?";
    if (nearest.empty()) {
      hint = "keys here: " + listed(known);
      const std::string elsewhere = place_of_key(entry.key);
      if (!elsewhere.empty()) hint = fmt::format("this key belongs to `{}`", elsewhere);
    }
    problems_->error(entry.key_location, path_of(entry.key), "unknown key", std::move(hint));
  }
}

std::string NodeReader::path_of(const std::string& key) const {
  return shown_.empty() ? key : shown_ + "." + key;
}

const KeySpec& NodeReader::spec_of(const std::string& key) const {
  const KeySpec* spec = find_key(path_.empty() ? key : path_ + "." + key);
  // What is decoded is documented, checked and completed: one table.
  FORETRAIN_EXPECTS(spec != nullptr, "every key that is read stands in the table of keys");
  return *spec;
}

const DocumentNode* NodeReader::child(const std::string& key) const {
  if (node_ == nullptr) return nullptr;
  (void)spec_of(key);
  const DocumentNode* value = node_->find(key);
  return value != nullptr && value->kind == DocumentNode::Kind::kNull ? nullptr : value;
}

SourceLocation NodeReader::locate(std::string_view path) const {
  SourceLocation location = location_;
  const DocumentNode* node = node_;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    node = node->find(path.substr(0, dot));
    if (node != nullptr) location = node->location;
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  return location;
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
    const bool digits =
        !value->empty() && value->find_first_not_of("0123456789") == std::string::npos;
    if (digits) {
      error(key, fmt::format("{} is too large", *value), fmt::format("at most {}", most));
    } else {
      error(key, fmt::format("'{}' is not a whole number", *value), "write digits only: 8");
    }
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
  const KeySpec& spec = spec_of(key);
  const std::vector<std::string> allowed = words.empty() ? choices_of(spec) : words;
  if (std::find(allowed.begin(), allowed.end(), *value) != allowed.end()) return value;
  const std::vector<std::string> later = split_words(spec.later);
  if (std::find(later.begin(), later.end(), *value) != later.end()) {
    error(key, fmt::format("'{}' is not supported in this version", *value),
          "supported: " + listed(allowed));
    return std::nullopt;
  }
  const std::string nearest = nearest_name(*value, allowed);
  std::string hint = nearest.empty() ? std::string{} : "did you mean '" + nearest + "'? ";
  if (allowed.size() <= 12) {
    hint += "allowed: " + listed(allowed);
  } else if (nearest.empty() && spec.choices.starts_with("@")) {
    hint = fmt::format("names: `foretrain catalog {}`", spec.choices.substr(1));
  }
  while (hint.ends_with(' ')) hint.pop_back();
  error(key, fmt::format("unknown value '{}'", *value), hint);
  return std::nullopt;
}

void NodeReader::require(const std::string& key, const std::string& hint) const {
  if (child(key) == nullptr) problems_->error(location_, path_of(key), "missing", hint);
}

}  // namespace foretrain
