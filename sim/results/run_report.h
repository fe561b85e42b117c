// A finished run as it is reported: what `foretrain run` prints and writes. Plain data, made by
// sim/run.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/collectives/collective.h"
#include "sim/execution/simulation_result.h"
#include "sim/memory/footprint.h"
#include "sim/workload/training_job.h"

namespace foretrain {

/// How the result was made.
struct RunManifest {
  std::string version;
  std::string scenario_file;
  std::uint64_t scenario_fingerprint = 0;
  std::string profile;   // provenance of the compute model
  std::string fidelity;  // ideal | fluid
  std::uint64_t seed = 1;
  bool folded = true, fold_exact = true;
  std::int64_t actors = 0, events = 0;
  std::uint64_t fingerprint = 0;  // of the simulated events
};

struct Interval {
  double low = 0, high = 0;
};

struct Throughput {
  double tokens_per_s = 0, tokens_per_s_per_gpu = 0;
  double model_flops_per_s_per_gpu = 0;
  double mfu = 0, hfu = 0;
  double peak_flops_per_s = 0;    // the peak that mfu divides by
  std::string peak_name;          // "bf16 dense"
  double mfu_full_attention = 0;  // the other convention: the whole square of scores
};

struct LinkReport {
  std::string name;  // "node0/gpu3 -> node0/nvswitch"
  std::string tier;  // nvlink | pcie | host | leaf-spine | spine-core
  double bandwidth_bytes_per_s = 0;
  double bytes = 0;
  double utilization = 0;
};

struct GroupReport {
  std::string name;
  int size = 1, groups = 1;
  std::string crosses;
};

struct CollectiveReport {
  std::string purpose;
  double size_bytes = 0;
  int ranks = 1;
  std::string algorithm, protocol;
  int channels = 0;
  double seconds_alone = 0;
};

/// One thing that bounds the step.
struct Bound {
  std::string what;  // "MLP GEMMs"
  double seconds = 0;
  double fraction = 0;  // of the step
  std::string remedy;   // what usually moves it
};

/// The same object in every command (interfaces).
struct Finding {
  std::string id;        // kebab-case, stable
  std::string severity;  // note | warning | problem
  std::string title, evidence, cause;
  std::optional<std::string> patch;
  std::string verify;
};

struct ExpectationResult {
  std::string metric;
  std::string expected;  // "7.6 within 10 %"
  std::string actual;
  double relative_error = 0;
  bool holds = false;
  bool numeric = false;
};

struct MemoryRemedyReport {
  std::string change;
  Bytes peak;
};

struct RunReport {
  std::string scenario, description, explanation;
  RunManifest manifest;
  Outcome outcome = Outcome::kCompleted;
  TrainingJob job;
  std::string gpu_name;
  int num_gpus = 0, num_nodes = 0;
  std::int64_t accumulation = 1;
  double step_time_s = 0;
  Interval step_interval;
  TimeBreakdown breakdown;
  int reported_pipeline_rank = 0;
  Throughput throughput;
  std::int64_t parameters = 0;
  MemoryFootprint memory;
  std::vector<MemoryRemedyReport> remedies;
  std::vector<LinkReport> links;
  std::vector<GroupReport> groups;
  std::vector<CollectiveReport> collectives;
  std::vector<StageSummary> stages;
  std::vector<NamedCost> costs;
  std::vector<Bound> bounds;
  std::vector<Finding> findings;
  std::vector<ExpectationResult> expectations;
};

}  // namespace foretrain
