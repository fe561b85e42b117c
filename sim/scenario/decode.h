// From a merged document to typed values; problems are collected, never thrown.
#pragma once

#include "sim/hardware/catalog.h"
#include "sim/scenario/framework_presets.h"
#include "sim/scenario/node_reader.h"
#include "sim/scenario/scenario.h"
#include "sim/workload/model_catalog.h"

namespace foretrain {

struct Catalogs {
  HardwareCatalog hardware;
  ModelCatalog models;
  FrameworkPresets frameworks;
  std::string data_dir;
};

[[nodiscard]] Result<Catalogs> load_catalogs(const std::string& data_dir);

void decode_cluster(const NodeReader& top, const Catalogs& catalogs, ClusterSpec& cluster,
                    Problems& problems);
/// @pre the cluster was decoded; `gpus` is its GPU count (0 if that is unknown).
void decode_job(const NodeReader& top, const Catalogs& catalogs, int gpus, TrainingJob& job,
                Problems& problems);
/// Consistency of a decoded job: divisibility, batch, schedule.
void check_job(const NodeReader& top, const TrainingJob& job, Problems& problems);
void decode_rest(const NodeReader& top, const Catalogs& catalogs, Scenario& scenario,
                 Problems& problems);

}  // namespace foretrain
