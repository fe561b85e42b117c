// Rules between the fields of a job that every framework enforces, and what programs do not cover.
#pragma once

#include "sim/core/diagnostics.h"
#include "sim/workload/training_job.h"

namespace foretrain {

/// Every rule that the parallel plan, batch and sharding break: degrees divide what they cut,
/// micro-batches come out whole, chunks hold layers, sharding stages go with the pipeline. Paths
/// are the scenario's
/// ("job.parallel.tensor"); locations are empty. Empty result: a legal job.
[[nodiscard]] Diagnostics check_job_layout(const TrainingJob& job);

/// Kinds of layer for which no program exists (experts, latent attention, MTP). Empty: all covered.
[[nodiscard]] Diagnostics check_model_support(const ModelSpec& model);

}  // namespace foretrain
