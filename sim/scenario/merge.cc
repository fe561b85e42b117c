#include "sim/scenario/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace foretrain {
namespace {

constexpr int kMostLevels = 8;

DocumentNode* find_mutable(DocumentNode& map, const std::string& key) {
  for (DocumentEntry& entry : map.entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

Result<DocumentNode> extend(DocumentNode document, const std::string& path,
                            std::vector<std::string> chain) {
  if (document.kind != DocumentNode::Kind::kMap) return document;
  const DocumentNode* extends = document.find("extends");
  if (extends == nullptr) return document;
  const SourceLocation at = extends->location;
  if (extends->kind != DocumentNode::Kind::kScalar || extends->scalar.empty()) {
    return fail(at, "extends", "must be the name of a scenario file",
                "extends: ../bases/h100-superpod.yaml");
  }
  const std::filesystem::path folder = std::filesystem::path{path}.parent_path();
  const std::string base_path = (folder / extends->scalar).lexically_normal().string();
  chain.push_back(std::filesystem::path{path}.lexically_normal().string());
  if (std::find(chain.begin(), chain.end(), base_path) != chain.end()) {
    return fail(at, "extends", fmt::format("'{}' extends itself", extends->scalar),
                "break the circle");
  }
  if (static_cast<int>(chain.size()) > kMostLevels) {
    return fail(at, "extends", fmt::format("more than {} files deep", kMostLevels));
  }
  Result<DocumentNode> base = read_document(base_path);
  if (!base) {
    Diagnostics problems = base.error();
    if (problems.size() == 1 && problems.front().location.line == 0) {
      problems.front() = {Severity::kError, at, "extends",
                          fmt::format("'{}': {}", extends->scalar, problems.front().message),
                          "the name is relative to this file"};
    }
    return tl::make_unexpected(problems);
  }
  if (base->kind != DocumentNode::Kind::kMap) {
    return fail(at, "extends", fmt::format("'{}' is not a map of keys", extends->scalar));
  }
  base = extend(std::move(*base), base_path, std::move(chain));
  if (!base) return base;
  std::erase_if(document.entries, [](const DocumentEntry& e) { return e.key == "extends"; });
  // A test of the base is not a test of what extends it.
  std::erase_if(base->entries, [](const DocumentEntry& e) {
    return e.key == "expect" || e.key == "source" || e.key == "explanation" ||
           e.key == "description";
  });
  return merge_documents(std::move(*base), document);
}

void place_at(DocumentNode& node, const SourceLocation& where) {
  node.location = where;
  for (DocumentNode& item : node.items) place_at(item, where);
  for (DocumentEntry& entry : node.entries) {
    entry.key_location = where;
    place_at(entry.value, where);
  }
}

/// A single value on the way of a path gives way to a map. The name of a model or node stays as
/// what the map starts from: `job.model.layers=7` keeps the rest of `model: llama-3-8b`.
void make_map(DocumentNode& node, const std::string& path) {
  DocumentNode map;
  map.kind = DocumentNode::Kind::kMap;
  map.location = node.location;
  if (node.kind == DocumentNode::Kind::kScalar) {
    const char* base = path == "job.model."      ? "name"
                       : path == "cluster.node." ? "extends"
                                                 : nullptr;
    if (base != nullptr) map.entries.push_back({base, node.location, node});
  }
  node = std::move(map);
}

/// The part of a node that the next key of a path names, made where it is absent.
Result<DocumentNode*> step_into(DocumentNode& node, const std::string& key, const std::string& path,
                                const SourceLocation& where) {
  if (node.kind == DocumentNode::Kind::kSequence) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    const bool number = error == std::errc{} && end == key.data() + key.size();
    if (!number || index >= node.items.size()) {
      return fail(where, path + key, fmt::format("is a list of {} items", node.items.size()),
                  "number an item from 0, or set the whole list");
    }
    return &node.items[index];
  }
  if (node.kind != DocumentNode::Kind::kMap) make_map(node, path);
  DocumentNode* next = find_mutable(node, key);
  if (next != nullptr) return next;
  DocumentNode fresh;
  fresh.location = where;
  node.entries.push_back({key, where, std::move(fresh)});
  return &node.entries.back().value;
}

}  // namespace

DocumentNode merge_documents(DocumentNode base, const DocumentNode& over) {
  if (base.kind != DocumentNode::Kind::kMap || over.kind != DocumentNode::Kind::kMap) return over;
  base.location = over.location;
  for (const DocumentEntry& entry : over.entries) {
    bool found = false;
    for (DocumentEntry& mine : base.entries) {
      if (mine.key != entry.key) continue;
      mine.key_location = entry.key_location;
      mine.value = merge_documents(std::move(mine.value), entry.value);
      found = true;
      break;
    }
    if (!found) base.entries.push_back(entry);
  }
  return base;
}

Result<DocumentNode> resolve_extends(DocumentNode document, const std::string& path) {
  return extend(std::move(document), path, {});
}

Result<DocumentNode> set_value(DocumentNode document, const std::string& assignment) {
  const SourceLocation where{"--set " + assignment, 0, 0};
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    return fail(where, {}, "needs PATH=VALUE", "--set job.parallel.tensor=4");
  }
  const std::string path = assignment.substr(0, equals);
  const std::string text = assignment.substr(equals + 1);
  if (text.find_first_not_of(" \t") == std::string::npos) {
    return fail(where, path, "needs a value", "PATH=null takes a key away");
  }
  // In a list, so that a bare null is a value and not an empty file.
  Result<DocumentNode> list = parse_document("- " + text, where.file);
  if (list && (list->kind != DocumentNode::Kind::kSequence || list->items.size() != 1)) {
    list = fail(where, path, "needs one value", "--set job.parallel.tensor=4");
  }
  if (!list) {
    Diagnostics problems = list.error();
    for (Diagnostic& problem : problems) problem.location = where;
    return tl::make_unexpected(problems);
  }
  DocumentNode* at = &document;
  std::size_t from = 0;
  while (from <= path.size()) {
    const std::size_t dot = std::min(path.find('.', from), path.size());
    const std::string key = path.substr(from, dot - from);
    if (key.empty()) {
      return fail(where, path, "an empty key in the path", "--set job.parallel.tensor=4");
    }
    const Result<DocumentNode*> next = step_into(*at, key, path.substr(0, from), where);
    if (!next) return tl::make_unexpected(next.error());
    at = *next;
    from = dot + 1;
  }
  *at = std::move(list->items.front());
  place_at(*at, where);
  return document;
}

}  // namespace foretrain
