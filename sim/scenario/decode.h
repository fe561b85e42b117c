// From a merged document to typed values; problems are collected, never thrown.
#pragma once

#include "sim/hardware/catalog.h"
#include "sim/scenario/framework_presets.h"
#include "sim/scenario/node_reader.h"
#include "sim/scenario/scenario.h"
#include "sim/workload/model_catalog.h"

namespace foretrain {

/// What fabrics are made of where nothing else says so: fabric_defaults.yaml.
struct FabricDefaults {
  SimDuration cable_latency{};
  int switch_ports = 0;
  SimDuration switch_latency{};
};
[[nodiscard]] Result<FabricDefaults> load_fabric_defaults(const std::string& catalog_dir);

struct Catalogs {
  HardwareCatalog hardware;
  ModelCatalog models;
  FrameworkPresets frameworks;
  FabricDefaults fabric;
  std::string data_dir;
};

[[nodiscard]] Result<Catalogs> load_catalogs(const std::string& data_dir);

/// The scenario of a complete document (extends, patches and sets are done), `file` as given by the
/// user. Catalogs are read once for many scenarios this way.
[[nodiscard]] Result<Scenario> decode_scenario(const DocumentNode& document,
                                               const std::string& file, const Catalogs& catalogs);

void decode_cluster(const NodeReader& top, const Catalogs& catalogs, ClusterSpec& cluster,
                    Problems& problems);
/// `cluster.fabric` and its defaults. @pre nodes and node of `out` are decoded.
void decode_fabric(const NodeReader& top, const NodeReader& cluster, const Catalogs& catalogs,
                   ClusterSpec& out, Problems& problems);
/// `gpus` is the cluster's GPU count, 0 if that is unknown.
void decode_job(const NodeReader& top, const Catalogs& catalogs, int gpus, TrainingJob& job);
/// `job.model`: a catalog name, or a map of fields.
void decode_model(const NodeReader& job, const Catalogs& catalogs, ModelSpec& spec);
/// Consistency of a decoded job with itself and with the GPU: divisibility, batch, precision.
void check_job(const NodeReader& top, const GpuSpec& gpu, const TrainingJob& job,
               Problems& problems);
/// What to write instead for a problem of check_job_layout; empty: its own hint is best.
[[nodiscard]] std::string job_hint(const Diagnostic& problem, const TrainingJob& job);
void decode_rest(const NodeReader& top, const Catalogs& catalogs, Scenario& scenario,
                 Problems& problems);

}  // namespace foretrain
