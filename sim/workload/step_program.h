// What one rank does for one micro-batch, as sequential programs of compute operators and
// collectives: per layer, for the embedding, for the head and loss, and for the optimizer step.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "sim/collectives/collective.h"
#include "sim/compute/operator.h"
#include "sim/workload/training_job.h"

namespace foretrain {

/// Process groups of a rank (rank_layout.h lists them).
enum class GroupKind { kTensor, kContext, kPipeline, kData, kDataContext };

/// What a step's time counts as in the breakdown.
enum class CostKind {
  kGemm,
  kAttention,
  kOther,
  kTensor,
  kContext,
  kExpert,
  kPipeline,
  kData,
  kOptimizer
};

struct CollectiveOp {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  GroupKind group = GroupKind::kTensor;
  Bytes size;  // as nccl-tests counts it
};

/// One step of a program. Steps run in order. A collective with `beside_next` starts together with
/// the next compute step(s): it may run beside the next `beside_next` compute steps and is waited
/// for after them (0: exposed). `pipelined` marks a collective that TE's userbuffers split against
/// the GEMM right after it in the list.
struct ProgramStep {
  std::string name;  // "qkv", "attention", "all-gather input" …
  std::variant<Operator, CollectiveOp> op;
  CostKind kind = CostKind::kGemm;
  int beside_next = 0;
  bool pipelined = false;
  bool recompute = false;  // forward work repeated in the backward
};

struct Program {
  std::vector<ProgramStep> steps;
};

struct ForwardBackward {
  Program forward;
  Program backward;  // includes recomputation where the job asks for it
};

/// One transformer layer of one micro-batch on one rank. `recomputed`: this layer is fully
/// checkpointed (its backward begins with its forward). `layer` (0-based) selects window and
/// dense/MoE. Equations and sources: README.md of this folder.
[[nodiscard]] ForwardBackward layer_program(const TrainingJob& job, int layer, bool recomputed);
/// Embedding lookup (first stage), with its tensor-parallel collective.
[[nodiscard]] ForwardBackward embedding_program(const TrainingJob& job);
/// Final norm, LM head, loss (last stage).
[[nodiscard]] ForwardBackward head_program(const TrainingJob& job);
/// Gradient scaling, norm, clip, optimizer update of one rank holding `local_parameters` elements
/// of which it updates `owned_parameters` (its shard). Collectives of the gradient norm are left
/// out (latency-sized).
[[nodiscard]] Program optimizer_program(const TrainingJob& job, std::int64_t local_parameters,
                                        std::int64_t owned_parameters);

/// Layers of one pipeline chunk: [first, first + count), and whether it holds embedding and head.
struct ChunkContents {
  int first_layer = 0;
  int layers = 0;
  bool embedding = false;
  bool head = false;
};
/// Contents by [pipeline rank][chunk]. Uneven counts follow the framework: if layers do not divide,
/// the first and last chunks get fewer (Llama 3: 126 layers on 16 stages).
[[nodiscard]] std::vector<std::vector<ChunkContents>> assign_layers(const TrainingJob& job);

/// Parameters a rank holds (after tensor parallelism, before data-parallel sharding).
[[nodiscard]] std::int64_t local_parameters(const TrainingJob& job, const ChunkContents& chunk);
[[nodiscard]] std::int64_t layer_parameters_per_rank(const TrainingJob& job, int layer);
/// Gradient buckets of a chunk in the order in which the backward fills them (elements).
[[nodiscard]] std::vector<std::int64_t> gradient_buckets(const TrainingJob& job,
                                                         const ChunkContents& chunk);

/// Bytes of one pipeline message, one direction, of one rank: bytes * b * s/c * h, over t under SP.
[[nodiscard]] Bytes pipeline_message_bytes(const TrainingJob& job);

/// Model FLOPs of one token, forward and backward: `exact_causal` (Megatron >= 0.12's halving,
/// exact pairs) is what MFU uses; `full_attention` counts the whole square; `hardware` adds
/// recomputation.
struct FlopsPerToken {
  FlopCount exact_causal, full_attention, hardware;
};
[[nodiscard]] FlopsPerToken flops_per_token(const TrainingJob& job);

}  // namespace foretrain
