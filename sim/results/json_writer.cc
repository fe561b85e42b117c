#include "sim/results/json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/workload/shapes.h"

namespace foretrain {
namespace {

using Json = nlohmann::ordered_json;

Json interval_json(const Interval& interval) { return Json::array({interval.low, interval.high}); }

const char* precision_name(Precision precision) {
  switch (precision) {
    case Precision::kFp32: return "fp32";
    case Precision::kFp16: return "fp16";
    case Precision::kBf16: return "bf16";
    case Precision::kFp8: return "fp8";
  }
  return "bf16";
}

Json manifest_json(const RunManifest& m) {
  Json json;
  json["version"] = m.version;
  json["scenario_file"] = m.scenario_file;
  json["scenario_fingerprint"] = fmt::format("{:016x}", m.scenario_fingerprint);
  json["profile"] = m.profile;
  json["fidelity"] = m.fidelity;
  json["seed"] = m.seed;
  json["folded"] = m.folded;
  json["fold_exact"] = m.fold_exact;
  json["rank_classes"] = m.actors;
  json["events"] = m.events;
  json["event_fingerprint"] = fmt::format("{:016x}", m.fingerprint);
  return json;
}

Json parallel_json(const RunReport& r) {
  const ParallelPlan& plan = r.job.parallel;
  Json json;
  json["world_size"] = plan.world_size();
  json["nodes"] = r.num_nodes;
  json["gpu"] = r.gpu_name;
  json["tensor"] = plan.tensor;
  json["pipeline"] = plan.pipeline;
  json["context"] = plan.context;
  json["expert"] = plan.expert;
  json["data"] = plan.data;
  json["virtual_stages"] = plan.virtual_stages;
  json["sequence_parallel"] = is_sequence_parallel(r.job);
  json["accumulation"] = r.accumulation;
  json["micro_batch"] = r.job.micro_batch;
  json["global_batch"] = r.job.global_batch;
  json["sequence_length"] = r.job.sequence_length;
  json["precision"] = precision_name(r.job.precision);
  Json groups = Json::array();
  for (const GroupReport& group : r.groups) {
    groups.push_back({{"name", group.name},
                      {"size", group.size},
                      {"groups", group.groups},
                      {"crosses", group.crosses}});
  }
  json["groups"] = groups;
  return json;
}

Json memory_json(const RunReport& r) {
  Json json;
  json["peak_bytes"] = r.memory.peak.count();
  json["limit_bytes"] = r.memory.limit.count();
  json["margin_bytes"] = (r.memory.limit - r.memory.peak).count();
  json["fits"] = r.memory.fits();
  json["tight"] = r.memory.is_tight();
  json["pipeline_rank"] = r.memory.pipeline_rank;
  json["phase"] = r.memory.phase;
  Json items = Json::object();
  for (const MemoryItem& item : r.memory.items) items[item.name] = item.size.count();
  json["items_bytes"] = items;
  Json remedies = Json::array();
  for (const MemoryRemedyReport& remedy : r.remedies) {
    remedies.push_back({{"change", remedy.change}, {"peak_bytes", remedy.peak.count()}});
  }
  json["would_fit"] = remedies;
  return json;
}

Json step_json(const RunReport& r) {
  Json step;
  step["time_s"] = r.step_time_s;
  step["time_s_interval"] = interval_json(r.step_interval);
  Json breakdown = Json::object();
  for (std::size_t i = 0; i < kNumTimeKinds; ++i) {
    const auto kind = static_cast<TimeKind>(i);
    breakdown[std::string{breakdown_key(kind)}] = r.breakdown[kind];
  }
  step["breakdown_s"] = breakdown;
  step["reported_pipeline_rank"] = r.reported_pipeline_rank;
  Json bounds = Json::array();
  for (const Bound& bound : r.bounds) {
    bounds.push_back({{"what", bound.what},
                      {"time_s", bound.seconds},
                      {"fraction", bound.fraction},
                      {"remedy", bound.remedy}});
  }
  step["bounds"] = bounds;
  Json costs = Json::array();
  for (const NamedCost& cost : r.costs) {
    costs.push_back({{"name", cost.name},
                     {"kind", std::string{breakdown_key(cost.kind)}},
                     {"time_s", cost.seconds}});
  }
  step["operations"] = costs;
  Json stages = Json::array();
  for (const StageSummary& stage : r.stages) {
    stages.push_back({{"pipeline_rank", stage.pipeline_rank},
                      {"compute_s", stage.compute_s},
                      {"bubble_s", stage.bubble_s}});
  }
  step["stages"] = stages;
  return step;
}

Json throughput_json(const Throughput& t) {
  Json json;
  json["tokens_per_s"] = t.tokens_per_s;
  json["tokens_per_s_per_gpu"] = t.tokens_per_s_per_gpu;
  json["model_flops_per_s_per_gpu"] = t.model_flops_per_s_per_gpu;
  json["mfu"] = t.mfu;
  json["hfu"] = t.hfu;
  json["mfu_full_attention"] = t.mfu_full_attention;
  json["peak_flops_per_s"] = t.peak_flops_per_s;
  json["peak"] = t.peak_name;
  return json;
}

Json network_json(const RunReport& r) {
  Json links = Json::array();
  for (const LinkReport& link : r.links) {
    links.push_back({{"name", link.name},
                     {"tier", link.tier},
                     {"bandwidth_bytes_per_s", link.bandwidth_bytes_per_s},
                     {"bytes", link.bytes},
                     {"utilization", link.utilization}});
  }
  Json collectives = Json::array();
  for (const CollectiveReport& use : r.collectives) {
    collectives.push_back({{"purpose", use.purpose},
                           {"size_bytes", use.size_bytes},
                           {"ranks", use.ranks},
                           {"algorithm", use.algorithm},
                           {"protocol", use.protocol},
                           {"channels", use.channels},
                           {"time_alone_s", use.seconds_alone}});
  }
  return {{"links", links}, {"collectives", collectives}};
}

Json findings_json(const RunReport& r) {
  Json findings = Json::array();
  for (const Finding& f : r.findings) {
    findings.push_back({{"id", f.id},
                        {"severity", f.severity},
                        {"title", f.title},
                        {"evidence", f.evidence},
                        {"cause", f.cause},
                        {"patch", f.patch ? Json(*f.patch) : Json(nullptr)},
                        {"saving", nullptr},
                        {"confidence", nullptr},
                        {"verify", f.verify}});
  }
  return findings;
}

Json expectations_json(const RunReport& r) {
  Json expectations = Json::array();
  for (const ExpectationResult& e : r.expectations) {
    Json item{{"metric", e.metric}, {"expected", e.expected}, {"actual", e.actual}};
    item["relative_error"] = e.numeric ? Json(e.relative_error) : Json(nullptr);
    item["holds"] = e.holds;
    expectations.push_back(item);
  }
  return expectations;
}

Json build(const RunReport& r) {
  Json json;
  json["schema_version"] = 1;
  json["scenario"] = r.scenario;
  json["manifest"] = manifest_json(r.manifest);
  json["outcome"] = std::string{to_string(r.outcome)};
  json["step"] = step_json(r);
  json["throughput"] = throughput_json(r.throughput);
  json["memory"] = memory_json(r);
  json["network"] = network_json(r);
  json["parallel"] = parallel_json(r);
  json["model"] = {{"name", r.job.model.name}, {"parameters", r.parameters}};
  json["findings"] = findings_json(r);
  json["expectations"] = expectations_json(r);
  return json;
}

void collect_paths(const Json& json, const std::string& prefix, std::vector<std::string>& paths) {
  if (!json.is_object()) {
    if (json.is_primitive()) paths.push_back(prefix);
    return;
  }
  for (const auto& [key, value] : json.items()) {
    collect_paths(value, prefix.empty() ? key : prefix + "." + key, paths);
  }
}

}  // namespace

std::string to_json(const RunReport& report) { return build(report).dump(2) + "\n"; }

struct MetricLookup::Tree {
  Json json;
};

MetricLookup::MetricLookup(const RunReport& report)
    : tree_(std::make_unique<Tree>(Tree{build(report)})) {}
MetricLookup::~MetricLookup() = default;

std::optional<MetricValue> MetricLookup::find(const std::string& path) const {
  const Json* at = &tree_->json;
  std::size_t from = 0;
  while (from <= path.size()) {
    const std::size_t dot = std::min(path.find('.', from), path.size());
    const std::string key = path.substr(from, dot - from);
    if (!at->is_object() || !at->contains(key)) return std::nullopt;
    at = &(*at)[key];
    from = dot + 1;
  }
  MetricValue value;
  if (at->is_number()) {
    value.number = at->get<double>();
  } else if (at->is_string()) {
    value.text = at->get<std::string>();
  } else if (at->is_boolean()) {
    value.text = at->get<bool>() ? "true" : "false";
  } else {
    return std::nullopt;
  }
  return value;
}

std::vector<std::string> MetricLookup::paths() const {
  std::vector<std::string> paths;
  collect_paths(tree_->json, {}, paths);
  return paths;
}

}  // namespace foretrain
