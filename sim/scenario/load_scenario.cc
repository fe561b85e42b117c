#include <fmt/format.h>

#include <algorithm>

#include "sim/core/fingerprint.h"
#include "sim/scenario/decode.h"
#include "sim/scenario/merge.h"
#include "sim/scenario/scenario.h"

namespace foretrain {
namespace {

void add_fingerprint(const DocumentNode& node, Fingerprint& hash) {
  hash.add(static_cast<std::uint64_t>(node.kind));
  hash.add(node.scalar);
  for (const DocumentNode& item : node.items) add_fingerprint(item, hash);
  std::vector<const DocumentEntry*> entries;
  for (const DocumentEntry& entry : node.entries) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(),
            [](const DocumentEntry* a, const DocumentEntry* b) { return a->key < b->key; });
  for (const DocumentEntry* entry : entries) {
    hash.add(entry->key);
    add_fingerprint(entry->value, hash);
  }
}

/// The document with what it extends, patches and sets; the problems of all of these together.
Result<DocumentNode> complete(DocumentNode document, const std::string& path,
                              const LoadOptions& options) {
  Result<DocumentNode> result = resolve_extends(std::move(document), path);
  if (!result || result->kind != DocumentNode::Kind::kMap) return result;
  Diagnostics problems;
  const auto collect = [&](const Diagnostics& more) {
    problems.insert(problems.end(), more.begin(), more.end());
  };
  for (const std::string& patch : options.patches) {
    Result<DocumentNode> over = read_document(patch);
    if (over && over->kind != DocumentNode::Kind::kMap) {
      over = fail(over->location, {}, "a patch must be a map of keys", "job: {batch: {micro: 2}}");
    }
    if (!over) {
      collect(over.error());
    } else {
      *result = merge_documents(std::move(*result), *over);
    }
  }
  for (const std::string& set : options.sets) {
    Result<DocumentNode> changed = set_value(*result, set);
    if (!changed) {
      collect(changed.error());
    } else {
      *result = std::move(*changed);
    }
  }
  if (!problems.empty()) return tl::make_unexpected(problems);
  return result;
}

Result<Scenario> decode(const Result<DocumentNode>& document, const std::string& file,
                        const LoadOptions& options) {
  if (!document) return tl::make_unexpected(document.error());
  const Result<Catalogs> catalogs = load_catalogs(options.data_dir);
  if (!catalogs) return tl::make_unexpected(catalogs.error());
  return decode_scenario(*document, file, *catalogs);
}

}  // namespace

Result<Scenario> decode_scenario(const DocumentNode& document, const std::string& file,
                                 const Catalogs& catalogs) {
  Problems problems;
  const NodeReader top{&document, {}, problems};
  if (!top.present()) return tl::make_unexpected(problems.diagnostics);
  Scenario scenario;
  scenario.file = file;
  decode_cluster(top, catalogs, scenario.cluster, problems);
  if (top.child("job") != nullptr) {
    TrainingJob job;
    // One mistake in the cluster does not make a second one of the job.
    const int gpus = problems.any_below("cluster") ? 0 : scenario.cluster.num_gpus();
    decode_job(top, catalogs, gpus, job);
    if (gpus > 0 && !problems.any_below("job")) {
      check_job(top, scenario.cluster.node.gpu, job, problems);
    }
    scenario.job = job;
  }
  decode_rest(top, catalogs, scenario, problems);
  if (has_errors(problems.diagnostics)) return tl::make_unexpected(problems.diagnostics);
  scenario.notes = std::move(problems.diagnostics);
  Fingerprint hash;
  add_fingerprint(document, hash);
  scenario.fingerprint = hash.value();
  return scenario;
}

Result<Catalogs> load_catalogs(const std::string& data_dir) {
  const std::string catalog = data_dir + "/catalog";
  Result<HardwareCatalog> hardware = HardwareCatalog::load(catalog);
  Result<ModelCatalog> models = ModelCatalog::load(catalog);
  Result<FrameworkPresets> frameworks = load_framework_presets(catalog);
  Result<FabricDefaults> fabric = load_fabric_defaults(catalog);
  Diagnostics problems;
  const auto collect = [&](const Diagnostics& more) {
    problems.insert(problems.end(), more.begin(), more.end());
  };
  if (!hardware) collect(hardware.error());
  if (!models) collect(models.error());
  if (!frameworks) collect(frameworks.error());
  if (!fabric) collect(fabric.error());
  if (!problems.empty()) return tl::make_unexpected(problems);
  return Catalogs{std::move(*hardware), std::move(*models), std::move(*frameworks), *fabric,
                  data_dir};
}

Result<Scenario> load_scenario(const std::string& path, const LoadOptions& options) {
  Result<DocumentNode> document = read_document(path);
  if (!document) return tl::make_unexpected(document.error());
  return decode(complete(std::move(*document), path, options), path, options);
}

Result<Scenario> parse_scenario(const std::string& text, const std::string& name,
                                const LoadOptions& options) {
  Result<DocumentNode> document = parse_document(text, name);
  if (!document) return tl::make_unexpected(document.error());
  return decode(complete(std::move(*document), name, options), name, options);
}

}  // namespace foretrain
