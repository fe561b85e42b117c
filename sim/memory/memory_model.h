// The memory model: bytes per rank of a job on a GPU. Equations and sources: README.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/hardware/device_spec.h"
#include "sim/memory/footprint.h"
#include "sim/workload/training_job.h"

namespace foretrain {

/// Inputs that are assumptions; read from scenarios/catalog/memory.yaml, each with source.
struct MemoryAssumptions {
  Bytes cuda_context = Bytes{500'000'000};
  double fragmentation = 1.05;  // reserved / allocated, fixed shapes
  double fragmentation_recompute = 1.10;
  Bytes nccl_per_communicator = Bytes{400'000'000};
  double compiled_kept = 0.5;  // torch.compile: 0 = only matmul inputs kept, 1 = all as eager
  std::int64_t zero3_live_parameters = 1'000'000'000;  // DeepSpeed stage3_max_live_parameters
};

/// Reads memory.yaml in `catalog_dir`.
[[nodiscard]] Result<MemoryAssumptions> load_memory_assumptions(const std::string& catalog_dir);

/// Worst pipeline rank.
[[nodiscard]] MemoryFootprint memory_footprint(const TrainingJob& job, const GpuSpec& gpu,
                                               const MemoryAssumptions& assumptions);
/// One pipeline rank.
[[nodiscard]] MemoryFootprint memory_footprint(const TrainingJob& job, const GpuSpec& gpu,
                                               const MemoryAssumptions& assumptions,
                                               int pipeline_rank);

/// A change that makes the job fit, checked by the same model.
struct MemoryRemedy {
  std::string change;  // "job.recompute: full"
  TrainingJob job;
  Bytes peak;
};
/// Single changes first (recompute, micro-batch, sharding stage, tensor, pipeline), then pairs;
/// each fits and is a legal job on the same number of GPUs. At most `limit`.
[[nodiscard]] std::vector<MemoryRemedy> what_would_fit(const TrainingJob& job, const GpuSpec& gpu,
                                                       int gpus_per_node,
                                                       const MemoryAssumptions& assumptions,
                                                       int limit = 5);

}  // namespace foretrain
