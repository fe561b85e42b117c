#include "sim/scenario/merge.h"

#include <fmt/format.h>

#include <algorithm>
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
    return fail(at, "extends", "must be the name of a scenario file", "extends: ../bases/h100-superpod.yaml");
  }
  const std::filesystem::path folder = std::filesystem::path{path}.parent_path();
  const std::string base_path = (folder / extends->scalar).lexically_normal().string();
  chain.push_back(std::filesystem::path{path}.lexically_normal().string());
  if (std::find(chain.begin(), chain.end(), base_path) != chain.end()) {
    return fail(at, "extends", fmt::format("'{}' extends itself", extends->scalar), "break the circle");
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
    return e.key == "expect" || e.key == "source" || e.key == "explanation" || e.key == "description";
  });
  return merge_documents(std::move(*base), document);
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
  const std::string where = "--set " + assignment;
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    return fail({where, 0, 0}, {}, "needs PATH=VALUE", "--set job.parallel.tensor=4");
  }
  const std::string path = assignment.substr(0, equals);
  Result<DocumentNode> value = parse_document(assignment.substr(equals + 1), where);
  if (!value) return tl::make_unexpected(value.error());
  DocumentNode* at = &document;
  std::size_t from = 0;
  while (true) {
    const std::size_t dot = path.find('.', from);
    const std::string key = path.substr(from, dot == std::string::npos ? dot : dot - from);
    if (key.empty()) {
      return fail({where, 0, 0}, {}, "an empty key in the path", "--set job.parallel.tensor=4");
    }
    if (at->kind != DocumentNode::Kind::kMap) {
      // A scalar such as `model: llama-3-8b` gives way to a map when a field of it is set; the catalog
      // name stays as what the map starts from.
      const bool model = path.starts_with("job.model.") && at->kind == DocumentNode::Kind::kScalar;
      const bool node = path.starts_with("cluster.node.") && at->kind == DocumentNode::Kind::kScalar;
      DocumentNode map;
      map.kind = DocumentNode::Kind::kMap;
      map.location = at->location;
      if (model) map.entries.push_back({"name", at->location, *at});
      if (node) map.entries.push_back({"extends", at->location, *at});
      *at = std::move(map);
    }
    DocumentNode* next = find_mutable(*at, key);
    if (next == nullptr) {
      at->entries.push_back({key, {where, 0, 0}, DocumentNode{}});
      next = &at->entries.back().value;
      next->kind = DocumentNode::Kind::kMap;
      next->location = {where, 0, 0};
    }
    at = next;
    if (dot == std::string::npos) break;
    from = dot + 1;
  }
  *at = std::move(*value);
  at->location = {where, 0, 0};
  return document;
}

}  // namespace foretrain
