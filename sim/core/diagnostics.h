// Diagnostics for wrong input: every problem of a file at once, each with its place, the path of
// the value, what is wrong, and what to write instead.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace foretrain {

/// A place in an input file. Lines and columns count from 1; 0 means "the file as a whole".
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;
  bool operator==(const SourceLocation&) const = default;
};

enum class Severity { kError, kWarning, kNote };

/// One problem. `path` is the dotted path of the value ("job.parallel.tensor"; may be empty),
/// `message` says what is wrong, `hint` (may be empty) what to write instead.
struct Diagnostic {
  Severity severity = Severity::kError;
  SourceLocation location;
  std::string path;
  std::string message;
  std::string hint;
  bool operator==(const Diagnostic&) const = default;
};

/// All problems found, in the order of their place in the file.
using Diagnostics = std::vector<Diagnostic>;

/// A value, or the diagnostics that say why there is none.
template <class T>
using Result = tl::expected<T, Diagnostics>;

/// `file:line:column: error: path: message` and, if there is a hint, a second line
/// `  hint: …`. Without a line the form is `file: error: …`.
[[nodiscard]] std::string to_string(const Diagnostic& diagnostic);

/// All diagnostics, one or two lines each, sorted by place (stable), each line ended by '\n'.
[[nodiscard]] std::string to_string(const Diagnostics& diagnostics);

/// True if any diagnostic is an error.
[[nodiscard]] bool has_errors(const Diagnostics& diagnostics);

/// A Result that holds one error without a place; for values that come from no file.
[[nodiscard]] tl::unexpected<Diagnostics> fail(std::string message, std::string hint = {});
[[nodiscard]] tl::unexpected<Diagnostics> fail(SourceLocation location, std::string path,
                                               std::string message, std::string hint = {});

/// The candidate nearest to `word` (case-insensitive edit distance, at most a third of the length
/// of the longer one, at least 1 allowed), or an empty string. Ties: the first candidate wins.
[[nodiscard]] std::string nearest_name(const std::string& word,
                                       const std::vector<std::string>& candidates);

}  // namespace foretrain
