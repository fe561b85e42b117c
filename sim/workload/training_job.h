// The job of a scenario: model, parallel plan, batch, precision, optimizer, recompute, framework.
#pragma once

#include <cstdint>
#include <string>

#include "sim/compute/operator.h"
#include "sim/workload/model_spec.h"

namespace foretrain {

/// Degrees; their product tensor * pipeline * context * data is the world size (expert cuts data).
struct ParallelPlan {
  int tensor = 1, pipeline = 1, context = 1, expert = 1, data = 1, virtual_stages = 1;
  bool sequence_parallel = false;  // wherever tensor > 1
  [[nodiscard]] int world_size() const { return tensor * pipeline * context * data; }
};

enum class PipelineSchedule { kGpipe, kOneFOneB, kInterleaved };
enum class Precision { kFp32, kFp16, kBf16, kFp8 };
/// Which fp8 recipe (Transformer Engine's names); used with Precision::kFp8.
enum class Fp8Recipe { kDelayed, kCurrent, kBlockwise, kMx };
enum class OptimizerKind { kAdam, kSgd };
/// none, ZeRO-1 (optimizer states), ZeRO-2 (+ gradients), ZeRO-3 / FSDP (+ parameters).
enum class Sharding { kNone, kOptimizer, kGradients, kParameters };
enum class RecomputeMode { kNone, kSelective, kFull };
/// kFlash is the profile's own kernel; the others name an implementation.
enum class AttentionKernel { kFlash, kFlash1, kFlash2, kFlash3, kCudnn, kUnfused };
enum class Framework { kNone, kDdp, kFsdp2, kDeepSpeed, kMegatronLm, kTorchTitan };
enum class Placement { kContiguous };

/// What a framework overlaps and how it keeps its books. Defaults per framework come from
/// scenarios/catalog/frameworks.yaml; a scenario may set any of them (job.overlap, job.kernels).
struct FrameworkOptions {
  bool overlap_grad_reduce = true;   // DP gradient reduction beside the backward
  bool overlap_param_gather = true;  // parameter all-gather beside the next forward
  bool overlap_p2p = false;          // pipeline sends beside compute (interleaved)
  bool tensor_overlap = false;       // TE userbuffers: TP collectives pipelined with GEMMs
  bool fused_kernels = true;         // fused norms, activations, cross entropy, rotary
  bool fused_loss = false;           // fused cross entropy even where other kernels are not fused
  bool compiled = false;             // torch.compile
  int gradient_bytes = 4;            // bytes per gradient element on the wire and in the buffer
  int parameter_gather_bytes = 2;
  std::int64_t bucket_parameters = 40'000'000;  // gradient bucket, elements
  std::int64_t vocab_multiple = 128;
  double host_seconds_per_launch = 0;  // 0: profile's own
  double step_overhead_seconds = 0;    // data loader, logging, host work between steps
  bool optimizer_fused = true;
};

struct TrainingJob {
  ModelSpec model;
  std::int64_t sequence_length = 0;
  ParallelPlan parallel;
  PipelineSchedule schedule = PipelineSchedule::kOneFOneB;
  std::int64_t global_batch = 0, micro_batch = 1;  // sequences
  Precision precision = Precision::kBf16;
  Fp8Recipe fp8_recipe = Fp8Recipe::kDelayed;
  OptimizerKind optimizer = OptimizerKind::kAdam;
  Sharding sharding = Sharding::kNone;
  int shard_group = 0;  // 0: over all data-parallel ranks; else HSDP shard size
  RecomputeMode recompute = RecomputeMode::kNone;
  int recompute_full_layers = 0;  // with kFull: 0 = every layer, n = the first n of each chunk
  AttentionKernel attention = AttentionKernel::kFlash;
  Framework framework = Framework::kNone;
  FrameworkOptions options;
  Placement placement = Placement::kContiguous;

  /// Micro-batches per step and pipeline: global / (micro * data). Exact after validation.
  [[nodiscard]] std::int64_t accumulation() const {
    return global_batch / (micro_batch * parallel.data);
  }
  [[nodiscard]] double tokens_per_step() const {
    return static_cast<double>(global_batch) * static_cast<double>(sequence_length);
  }
};

}  // namespace foretrain
