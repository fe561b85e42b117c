#include "sim/core/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <tuple>

namespace foretrain {
namespace {

const char* severity_word(Severity severity) {
  switch (severity) {
    case Severity::kError: return "error";
    case Severity::kWarning: return "warning";
    case Severity::kNote: return "note";
  }
  return "error";
}

std::string lower(const std::string& text) {
  std::string result = text;
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string to_string(const Diagnostic& diagnostic) {
  std::string text;
  const SourceLocation& at = diagnostic.location;
  if (!at.file.empty()) text += at.file + ":";
  if (at.line > 0) text += fmt::format("{}:{}:", at.line, at.column);
  if (!text.empty()) text += " ";
  text += fmt::format("{}: ", severity_word(diagnostic.severity));
  if (!diagnostic.path.empty()) text += diagnostic.path + ": ";
  text += diagnostic.message;
  if (!diagnostic.hint.empty()) text += "\n  hint: " + diagnostic.hint;
  return text;
}

std::string to_string(const Diagnostics& diagnostics) {
  Diagnostics sorted = diagnostics;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.location.file, a.location.line, a.location.column) <
           std::tie(b.location.file, b.location.line, b.location.column);
  });
  std::string text;
  for (const Diagnostic& diagnostic : sorted) text += to_string(diagnostic) + "\n";
  return text;
}

bool has_errors(const Diagnostics& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& d) { return d.severity == Severity::kError; });
}

tl::unexpected<Diagnostics> fail(std::string message, std::string hint) {
  return fail(SourceLocation{}, {}, std::move(message), std::move(hint));
}

tl::unexpected<Diagnostics> fail(SourceLocation location, std::string path, std::string message,
                                 std::string hint) {
  return tl::make_unexpected(
      Diagnostics{Diagnostic{Severity::kError, std::move(location), std::move(path),
                             std::move(message), std::move(hint)}});
}

std::string nearest_name(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = 0;
  const std::string wanted = lower(word);
  if (wanted.empty() || wanted.size() > 200) return best;
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(wanted.size(), candidate.size());
    const std::size_t allowed = std::max<std::size_t>(1, longer / 3);
    const std::size_t distance = edit_distance(wanted, lower(candidate));
    if (distance <= allowed && (best.empty() || distance < best_distance)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace foretrain
