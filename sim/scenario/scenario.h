// A scenario that has been read, checked and completed: immutable, proven consistent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collectives/collective.h"
#include "sim/core/diagnostics.h"
#include "sim/hardware/device_spec.h"
#include "sim/workload/training_job.h"
#include "topologies/fabric_spec.h"

namespace foretrain {

/// kChunk: collectives chunk by chunk, alone with those of their kind; the step then shares links
/// as kFluid has it.
enum class Fidelity { kIdeal, kFluid, kChunk };
[[nodiscard]] std::string_view to_string(Fidelity fidelity);  // "fluid"

/// A slow GPU or a slow link (interfaces.md: cluster.faults).
struct Fault {
  std::optional<int> gpu;  // GPU number in the cluster
  std::string link;        // "leaf3/spine1": names of its two devices
  double factor = 1.0;     // speed or bandwidth left
  SourceLocation location;
};

struct ClusterSpec {
  int nodes = 1;
  NodeSpec node;
  FabricSpec fabric;
  std::vector<Fault> faults;
  [[nodiscard]] int num_gpus() const { return nodes * node.gpus; }
};

/// `- {metric: step.time_s, value: 7.6, within: 10 %}`
struct Expectation {
  std::string metric;
  std::optional<double> value;      // numeric expectation with `within`
  double within = 0;                // relative
  std::optional<std::string> text;  // equality, e.g. outcome: out_of_memory
  std::optional<double> at_least, at_most;
  SourceLocation location;
};

struct SourceReference {
  std::string title, url, date;
};

/// One axis of `sweep:`: a path and the values it takes, as YAML text.
struct SweepAxis {
  std::string path;
  std::vector<std::string> values;
};

/// `run:` — kept for campaigns of weeks.
struct RunSpec {
  double tokens = 0;
  std::optional<double> checkpoint_every_s;
};

struct Scenario {
  std::string file;
  std::string name;
  std::string description;
  std::string explanation;  // why a published run is off by more than its tolerance
  std::optional<SourceReference> source;
  ClusterSpec cluster;
  std::optional<TrainingJob> job;
  NcclSettings nccl;
  std::string profile;  // path of the profile file, or empty: catalog rates
  Fidelity fidelity = Fidelity::kFluid;
  std::uint64_t seed = 1;
  std::optional<RunSpec> run;
  std::vector<SweepAxis> sweep;
  std::vector<Expectation> expect;
  Diagnostics notes;              // warnings: unknown NCCL variables, assumptions made
  std::uint64_t fingerprint = 0;  // of the resolved document
};

struct LoadOptions {
  std::string data_dir;              // holds catalog/ and profiles/
  std::vector<std::string> sets;     // "job.parallel.tensor=4"
  std::vector<std::string> patches;  // YAML files merged over the scenario
};

/// Reads, resolves `extends`, applies patches then sets, decodes, validates; all problems at once.
[[nodiscard]] Result<Scenario> load_scenario(const std::string& path, const LoadOptions& options);
/// The same from text (tests, fuzzing); `extends` is relative to the working directory.
[[nodiscard]] Result<Scenario> parse_scenario(const std::string& text, const std::string& name,
                                              const LoadOptions& options);
/// The JSON Schema (draft 2020-12) of scenario files, as text.
[[nodiscard]] std::string scenario_schema(const std::string& data_dir);

}  // namespace foretrain
