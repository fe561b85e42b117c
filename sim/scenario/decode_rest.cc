#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "sim/scenario/decode.h"
#include "sim/scenario/keys.h"

namespace foretrain {
namespace {

void decode_nccl(const NodeReader& top, NcclSettings& settings, Problems& problems) {
  const DocumentNode* node = top.child("nccl");
  if (node == nullptr) return;
  const NodeReader nccl = top.map("nccl");
  if (!nccl.present()) return;
  for (const DocumentEntry& entry : node->entries) {
    if (entry.key == "version") {
      const std::string& text = entry.value.scalar;
      const std::size_t dot = text.find('.');
      const auto major = parse_integer(text.substr(0, dot));
      std::string rest = dot == std::string::npos ? "" : text.substr(dot + 1);
      rest = rest.substr(0, rest.find('.'));
      const auto minor = parse_integer(rest);
      if (!major || !minor || *major != 2 || *minor < 18 || *minor > 30) {
        problems.error(entry.value.location, "nccl.version",
                       fmt::format("'{}' is not a version from 2.18 to 2.30", text),
                       "version: 2.28");
        continue;
      }
      settings.version_minor = static_cast<int>(*minor);
      continue;
    }
    if (!entry.key.starts_with("NCCL_")) {
      problems.error(entry.key_location, "nccl." + entry.key, "unknown key",
                     "`version`, or NCCL's own variables: NCCL_ALGO: Ring");
      continue;
    }
    if (entry.value.kind != DocumentNode::Kind::kScalar) {
      problems.error(entry.value.location, "nccl." + entry.key, "must be a single value");
      continue;
    }
    if (auto found = check_nccl_variable(entry.key, entry.value.scalar)) {
      found->location = entry.key_location;
      if (found->path.empty()) found->path = "nccl." + entry.key;
      problems.diagnostics.push_back(std::move(*found));
    }
    settings.environment[entry.key] = entry.value.scalar;
  }
}

void decode_profile(const NodeReader& top, const Catalogs& catalogs, Scenario& scenario) {
  const std::filesystem::path shipped = std::filesystem::path{catalogs.data_dir} / "profiles";
  const auto named = [&](const std::string& name) { return (shipped / (name + ".json")).string(); };
  std::error_code ignored;
  const auto profile = top.text("profile");
  if (!profile) {
    const std::string own = scenario.cluster.node.gpu.profile;
    if (!own.empty() && std::filesystem::exists(named(own), ignored)) scenario.profile = named(own);
    return;
  }
  if (*profile == "none") return;  // catalog rates on purpose
  if (std::filesystem::exists(named(*profile), ignored)) {
    scenario.profile = named(*profile);
    return;
  }
  const std::filesystem::path beside =
      std::filesystem::path{scenario.file}.parent_path() / *profile;
  for (const std::filesystem::path& path : {beside, std::filesystem::path{*profile}}) {
    if (std::filesystem::is_regular_file(path, ignored)) {
      scenario.profile = path.string();
      return;
    }
  }
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(shipped, ignored)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  top.error("profile", fmt::format("no shipped profile and no file '{}'", *profile),
            "shipped: " + listed(names));
}

void decode_run(const NodeReader& top, Scenario& scenario) {
  const NodeReader run = top.map("run");
  if (run.present()) {
    RunSpec spec;
    if (const auto tokens = run.number("tokens")) {
      if (*tokens <= 0) run.error("tokens", "must be above 0");
      spec.tokens = *tokens;
    }
    const NodeReader checkpoint = run.map("checkpoint");
    if (run.map("failures").present()) {
      run.warn("failures", "failures are not simulated in this version");
    }
    if (const auto every = checkpoint.quantity<SimDuration>("every", parse_duration)) {
      spec.checkpoint_every_s = to_seconds(*every);
    }
    scenario.run = spec;
    top.warn("run", "the whole run is not simulated in this version; the step is");
  }
}

void decode_sweep(const NodeReader& top, Scenario& scenario, Problems& problems) {
  const DocumentNode* sweep = top.child("sweep");
  if (sweep == nullptr) return;
  const NodeReader reader = top.map("sweep");
  if (!reader.present()) return;
  std::vector<std::string> paths;
  for (const KeySpec& key : scenario_keys()) paths.emplace_back(key.path);
  for (const DocumentEntry& entry : sweep->entries) {
    const bool nccl = entry.key.starts_with("nccl.NCCL_");
    if (!nccl && find_key(entry.key) == nullptr) {
      const std::string nearest = nearest_name(entry.key, paths);
      problems.error(entry.key_location, "sweep." + entry.key, "no such path in a scenario",
                     nearest.empty() ? "write a full path: job.batch.micro"
                                     : "did you mean '" + nearest + "'?");
      continue;
    }
    if (entry.value.kind != DocumentNode::Kind::kSequence || entry.value.items.empty()) {
      problems.error(entry.value.location, "sweep." + entry.key, "must be a list of values",
                     entry.key + ": [1, 2, 4]");
      continue;
    }
    SweepAxis axis;
    axis.path = entry.key;
    for (const DocumentNode& item : entry.value.items) axis.values.push_back(print_document(item));
    scenario.sweep.push_back(std::move(axis));
  }
  if (!scenario.sweep.empty()) {
    top.warn("sweep", "sweeps are not run in this version; the scenario's own values count",
             "foretrain run … --set " + scenario.sweep.front().path + "=…");
  }
}

void decode_expectation(const NodeReader& reader, Scenario& scenario) {
  if (!reader.present()) return;
  Expectation expectation;
  expectation.location = reader.location();
  reader.require("metric", "{metric: step.time_s, value: 7.6, within: 10 %}");
  if (const auto metric = reader.text("metric")) expectation.metric = *metric;
  if (const auto value = reader.text("value")) {
    if (const auto number = parse_number(*value)) {
      expectation.value = *number;
    } else {
      expectation.text = *value;
    }
  }
  if (const auto within = reader.quantity<double>("within", parse_percent))
    expectation.within = *within;
  expectation.at_least = reader.number("at_least");
  expectation.at_most = reader.number("at_most");
  if (reader.child("metric") != nullptr && reader.child("value") == nullptr &&
      !expectation.at_least && !expectation.at_most) {
    reader.error_here("says nothing about its metric", "add value, at_least or at_most");
  }
  if (expectation.text && reader.child("within") != nullptr) {
    reader.error("within", "a text has no tolerance", "remove within");
  }
  if (expectation.at_least && expectation.at_most && *expectation.at_least > *expectation.at_most) {
    reader.error("at_least", "lies above at_most", "exchange them");
  }
  scenario.expect.push_back(std::move(expectation));
}

void decode_expect(const NodeReader& top, Scenario& scenario, Problems& problems) {
  const DocumentNode* expect = top.child("expect");
  if (expect == nullptr) return;
  if (expect->kind != DocumentNode::Kind::kSequence) {
    top.error("expect", "must be a list", "- {metric: step.time_s, value: 7.6, within: 10 %}");
    return;
  }
  for (std::size_t i = 0; i < expect->items.size(); ++i) {
    decode_expectation(NodeReader::item(expect->items[i], "expect", i, problems), scenario);
  }
}

void decode_source(const NodeReader& top, Scenario& scenario) {
  const NodeReader source = top.map("source");
  if (!source.present()) return;
  SourceReference reference;
  reference.title = source.text("title").value_or("");
  reference.url = source.text("url").value_or("");
  reference.date = source.text("date").value_or("");
  scenario.source = reference;
}

}  // namespace

std::string_view to_string(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::kIdeal: return "ideal";
    case Fidelity::kFluid: return "fluid";
    case Fidelity::kChunk: return "chunk";
  }
  return "";
}

void decode_rest(const NodeReader& top, const Catalogs& catalogs, Scenario& scenario,
                 Problems& problems) {
  top.require("foretrain", "the format version comes first: foretrain: 1");
  if (const auto version = top.text("foretrain"); version && *version != "1") {
    top.error("foretrain", fmt::format("format version '{}' is not known", *version),
              "foretrain: 1");
  }
  top.require("name", "name: my-run");
  scenario.name = top.text("name").value_or("");
  if (top.child("name") != nullptr && scenario.name.empty())
    top.error("name", "is empty", "name: my-run");
  scenario.description = top.text("description").value_or("");
  scenario.explanation = top.text("explanation").value_or("");
  decode_source(top, scenario);
  decode_nccl(top, scenario.nccl, problems);
  decode_profile(top, catalogs, scenario);
  if (const auto fidelity = top.choice("fidelity")) {
    scenario.fidelity = *fidelity == "ideal"   ? Fidelity::kIdeal
                        : *fidelity == "chunk" ? Fidelity::kChunk
                                               : Fidelity::kFluid;
  }
  if (const auto seed = top.integer("seed", 0, INT64_MAX))
    scenario.seed = static_cast<std::uint64_t>(*seed);
  decode_run(top, scenario);
  decode_sweep(top, scenario, problems);
  decode_expect(top, scenario, problems);
}

}  // namespace foretrain
