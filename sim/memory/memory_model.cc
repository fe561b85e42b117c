#include "sim/memory/memory_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "sim/core/contracts.h"
#include "sim/memory/activations.h"
#include "sim/memory/model_state.h"
#include "sim/workload/parameter_tensors.h"
#include "sim/workload/pipeline_schedule.h"
#include "sim/workload/shapes.h"
#include "sim/workload/step_program.h"

namespace foretrain {
namespace {

/// Bytes alive at one moment of the step.
struct Moment {
  std::string phase;
  double weights = 0, gradients = 0, optimizer = 0, activations = 0, temporary = 0, logits = 0;
  [[nodiscard]] double total() const {
    return weights + gradients + optimizer + activations + temporary + logits;
  }
};

/// cuBLAS workspace of one handle and stream. @source PyTorch
/// aten/src/ATen/cuda/CublasHandlePool.cpp.
double cublas_workspace(const GpuSpec& gpu) {
  return gpu.compute_capability >= 90 ? 33'554'432.0 : 8'519'680.0;
}

double sum(const std::vector<std::int64_t>& values) {
  return static_cast<double>(std::accumulate(values.begin(), values.end(), std::int64_t{0}));
}

class RankMemory {
 public:
  RankMemory(const TrainingJob& job, const GpuSpec& gpu, const MemoryAssumptions& assumptions,
             int rank)
      : job_(job), gpu_(gpu), assumptions_(assumptions), shapes_(local_shapes(job)) {
    const auto chunks = assign_layers(job);
    FORETRAIN_EXPECTS(rank >= 0 && static_cast<std::size_t>(rank) < chunks.size(),
                      "no such pipeline rank");
    chunks_ = chunks[static_cast<std::size_t>(rank)];
    tokens_ = static_cast<double>(shapes_.tokens);
    element_ = shapes_.element_bytes;
    count_parameters_held();
    count_activations();
    count_in_flight(rank);
    const int fp8_copies =
        job.precision == Precision::kFp8 ? (gpu.compute_capability == 90 ? 2 : 1) : 0;
    state_ = model_state(job, parameters_, fp8_copies);
  }

  [[nodiscard]] std::vector<Moment> moments() const {
    std::vector<Moment> all{layer_backward(), end_of_backward(), optimizer_step()};
    if (has_head_) all.insert(all.begin(), loss());
    return all;
  }

 private:
  void count_parameters_held() {
    for (const ChunkContents& chunk : chunks_) {
      parameters_ += static_cast<double>(local_parameters(job_, chunk));
      if (chunk.embedding) embedding_ = sum(embedding_tensors(job_));
      if (chunk.head) {
        has_head_ = true;
        // A tied table belongs to the unit of the head as well as to the embedding's.
        head_ = sum(head_tensors(job_, chunk));
      }
      for (int i = 0; i < chunk.layers; ++i) {
        layer_ = std::max(
            layer_, static_cast<double>(layer_parameters_per_rank(job_, chunk.first_layer + i)));
      }
    }
  }

  void count_activations() {
    TrainingJob whole = job_;
    whole.recompute = RecomputeMode::kNone;
    for (const ChunkContents& chunk : chunks_) {
      double bytes = chunk.head ? final_norm_bytes(job_) : 0;
      for (int i = 0; i < chunk.layers; ++i) {
        const int layer = chunk.first_layer + i;
        const bool exempt = job_.recompute == RecomputeMode::kFull &&
                            job_.recompute_full_layers > 0 && i >= job_.recompute_full_layers;
        const LayerActivations kept =
            layer_activations(exempt ? whole : job_, layer, assumptions_.compiled_kept);
        bytes += kept.kept;
        transient_ = std::max(transient_, kept.transient * tokens_);
        if (exempt) continue;
        const bool full = job_.recompute == RecomputeMode::kFull;
        recomputed_ = std::max(recomputed_, (full ? kept.full : kept.full - kept.kept) * tokens_);
      }
      chunk_activations_.push_back(bytes * tokens_);
    }
  }

  /// Activations alive at the fullest moment, by the order in which the rank runs its units.
  void count_in_flight(int rank) {
    const int stages = job_.parallel.pipeline;
    if (stages == 1) {
      in_flight_ = std::accumulate(chunk_activations_.begin(), chunk_activations_.end(), 0.0);
      heads_in_flight_ = 1;
      return;
    }
    const auto units = pipeline_units(job_.schedule, stages, job_.parallel.virtual_stages,
                                      static_cast<int>(job_.accumulation()), rank);
    double alive = 0;
    int heads = 0;
    for (const PipelineUnit& unit : units) {
      const auto chunk = static_cast<std::size_t>(unit.chunk);
      const int sign = unit.forward ? 1 : -1;
      alive += sign * chunk_activations_[chunk];
      if (chunks_[chunk].head) heads += sign;
      in_flight_ = std::max(in_flight_, alive);
      heads_in_flight_ = std::max(heads_in_flight_, heads);
    }
  }

  [[nodiscard]] bool is_fsdp() const {
    const bool by_framework =
        job_.framework == Framework::kFsdp2 || job_.framework == Framework::kTorchTitan;
    return shard_ranks(job_) > 1 && job_.framework != Framework::kDeepSpeed &&
           (job_.sharding == Sharding::kParameters ||
            (by_framework && job_.sharding == Sharding::kGradients));
  }
  /// Weights stay gathered after the forward: ZeRO-2's way, and torchtitan's default with a
  /// pipeline.
  [[nodiscard]] bool stays_gathered() const {
    return job_.sharding == Sharding::kGradients ||
           (job_.framework == Framework::kTorchTitan && job_.parallel.pipeline > 1);
  }

  /// State, and what the framework holds beside it while micro-batches run.
  [[nodiscard]] Moment base(const char* phase, bool running) const {
    Moment moment;
    moment.phase = phase;
    moment.weights = state_.weights;
    moment.optimizer = state_.optimizer;
    moment.gradients = state_.gradients;
    moment.temporary = cublas_workspace(gpu_);
    const bool several = job_.parallel.data * job_.parallel.context > 1;
    if (job_.framework == Framework::kDdp) {
      // Buckets are a second copy of the gradients; casts of weights live as long as autocast's
      // region.
      if (several) moment.temporary += 4 * parameters_;
      if (running && job_.precision != Precision::kFp32) moment.temporary += 2 * parameters_;
    }
    if (job_.framework == Framework::kDeepSpeed && several) deep_speed_buffers(moment, running);
    if (is_fsdp() && stays_gathered() && running) {
      moment.temporary += element_ * parameters_;
      // Reduction once at the end of the schedule: gradients accumulate whole, in the reduced type.
      if (job_.parallel.pipeline > 1) {
        moment.gradients += job_.options.gradient_bytes * parameters_;
      }
    }
    return moment;
  }

  void deep_speed_buffers(Moment& moment, bool running) const {
    const double bucket =
        std::min(parameters_, static_cast<double>(job_.options.bucket_parameters));
    if (job_.sharding == Sharding::kNone) return;
    if (job_.sharding == Sharding::kParameters) {
      const double live =
          std::min(parameters_, static_cast<double>(assumptions_.zero3_live_parameters));
      if (running) moment.temporary += 2 * live + 2 * bucket;
      return;
    }
    const double copies = running && job_.options.overlap_grad_reduce ? 2 : 1;
    moment.temporary += 2 * bucket * copies;
  }

  [[nodiscard]] double logits(double bytes) const {
    return bytes * tokens_ * static_cast<double>(shapes_.vocab_width);
  }
  /// fp32 probabilities of micro-batches whose backward has yet to come.
  [[nodiscard]] double waiting_logits() const {
    return has_head_ && heads_in_flight_ > 1 ? logits(4) * (heads_in_flight_ - 1) : 0;
  }

  /// Start of the last stage's backward: all activations and the loss's tensors.
  [[nodiscard]] Moment loss() const {
    Moment moment = base("last stage loss", true);
    if (!gradients_always_exist(job_)) moment.gradients = 0;
    moment.activations = in_flight_;
    moment.logits = logits(bytes_per_logit(job_)) + waiting_logits();
    // The head stays gathered from forward to backward, and the last layer is fetched ahead.
    if (is_fsdp() && !stays_gathered()) moment.temporary += element_ * (head_ + layer_);
    return moment;
  }

  /// First backward of a layer with everything in flight still alive.
  [[nodiscard]] Moment layer_backward() const {
    Moment moment = base("first backward", true);
    if (!gradients_always_exist(job_)) {
      moment.gradients *= std::min(1.0, (head_ + layer_) / parameters_);
    }
    moment.activations = in_flight_;
    moment.logits = waiting_logits();
    moment.temporary += transient_ + attention_workspace();
    if (job_.recompute != RecomputeMode::kNone) moment.temporary += recomputed_;
    if (is_fsdp()) {
      if (!stays_gathered()) moment.temporary += 2 * element_ * layer_;
      moment.temporary += element_ * layer_ +
                          job_.options.gradient_bytes * std::max(layer_, has_head_ ? head_ : 0.0);
    }
    return moment;
  }

  /// Flash attention's backward accumulates dQ in fp32 and keeps a sum per row; a ring holds two
  /// messages.
  [[nodiscard]] double attention_workspace() const {
    double bytes = 0;
    if (job_.attention == AttentionKernel::kUnfused) {
      bytes += 2 * element_ * static_cast<double>(shapes_.heads) *
               static_cast<double>(job_.sequence_length) * tokens_;
    } else {
      bytes += 4 * tokens_ * static_cast<double>(shapes_.query_width + shapes_.heads);
    }
    if (job_.parallel.context > 1) {
      bytes += 2 * 2 * element_ * tokens_ * static_cast<double>(shapes_.kv_width);
    }
    return bytes;
  }

  /// All gradients exist; the embedding's is dense.
  [[nodiscard]] Moment end_of_backward() const {
    Moment moment = base("end of backward", true);
    const double finished = *std::max_element(chunk_activations_.begin(), chunk_activations_.end());
    moment.activations = std::max(0.0, in_flight_ - finished);
    moment.logits = waiting_logits();
    moment.temporary += element_ * embedding_;
    if (is_fsdp()) {
      const double gathered = stays_gathered() ? 0 : element_;
      moment.temporary += (gathered + job_.options.gradient_bytes) * embedding_;
    }
    return moment;
  }

  [[nodiscard]] Moment optimizer_step() const {
    Moment moment = base("optimizer", false);
    // `foreach` keeps up to two temporaries of the shard in fp32.
    if (!job_.options.optimizer_fused) moment.temporary += 8 * parameters_ / shard_ranks(job_);
    // DeepSpeed casts its partition of the 16-bit gradients to fp32 for the update.
    if (job_.framework == Framework::kDeepSpeed && job_.options.gradient_bytes == 2) {
      moment.temporary += 4 * parameters_ / shard_ranks(job_);
    }
    return moment;
  }

  const TrainingJob& job_;
  const GpuSpec& gpu_;
  const MemoryAssumptions& assumptions_;
  LocalShapes shapes_;
  std::vector<ChunkContents> chunks_;
  ModelState state_;
  double tokens_ = 0, element_ = 2;
  double parameters_ = 0, embedding_ = 0, head_ = 0, layer_ = 0;  // layer_: the largest
  bool has_head_ = false;
  std::vector<double> chunk_activations_;
  double in_flight_ = 0;
  int heads_in_flight_ = 0;
  double transient_ = 0, recomputed_ = 0;
};

/// Communicators whose buffers exist: one per kind of group that the job uses.
int communicators(const TrainingJob& job) {
  const ParallelPlan& plan = job.parallel;
  const std::array<int, 4> sizes{plan.tensor, plan.context, plan.pipeline,
                                 plan.data * plan.context};
  return static_cast<int>(std::count_if(sizes.begin(), sizes.end(), [](int n) { return n > 1; }));
}

MemoryFootprint footprint_of(const Moment& moment, const TrainingJob& job, const GpuSpec& gpu,
                             const MemoryAssumptions& assumptions) {
  const double factor = job.recompute == RecomputeMode::kFull ? assumptions.fragmentation_recompute
                                                              : assumptions.fragmentation;
  const double nccl = assumptions.nccl_per_communicator.as_double() * communicators(job);
  const std::vector<std::pair<const char*, double>> items{
      {"weights", moment.weights},
      {"gradients", moment.gradients},
      {"optimizer", moment.optimizer},
      {"activations", moment.activations},
      {"temporary", moment.temporary},
      {"logits", moment.logits},
      {"nccl", nccl},
      {"context", assumptions.cuda_context.as_double()},
      {"fragmentation", (factor - 1) * moment.total()}};
  MemoryFootprint footprint;
  for (const auto& [name, bytes] : items) {
    footprint.items.push_back({name, Bytes{std::llround(bytes)}});
    footprint.peak += footprint.items.back().size;
  }
  footprint.limit = gpu.memory;
  footprint.phase = moment.phase;
  return footprint;
}

}  // namespace

MemoryFootprint memory_footprint(const TrainingJob& job, const GpuSpec& gpu,
                                 const MemoryAssumptions& assumptions, int pipeline_rank) {
  const std::vector<Moment> moments = RankMemory{job, gpu, assumptions, pipeline_rank}.moments();
  const Moment& fullest =
      *std::max_element(moments.begin(), moments.end(),
                        [](const Moment& a, const Moment& b) { return a.total() < b.total(); });
  MemoryFootprint footprint = footprint_of(fullest, job, gpu, assumptions);
  footprint.pipeline_rank = pipeline_rank;
  return footprint;
}

MemoryFootprint memory_footprint(const TrainingJob& job, const GpuSpec& gpu,
                                 const MemoryAssumptions& assumptions) {
  MemoryFootprint worst = memory_footprint(job, gpu, assumptions, 0);
  for (int rank = 1; rank < job.parallel.pipeline; ++rank) {
    MemoryFootprint footprint = memory_footprint(job, gpu, assumptions, rank);
    if (footprint.peak > worst.peak) worst = std::move(footprint);
  }
  return worst;
}

}  // namespace foretrain
