// The step of each pipeline rank before it is bound to ranks or classes: programs of computation
// and transfers, in which a transfer is named once for all ranks that take part in it.
#pragma once

#include <optional>
#include <vector>

#include "sim/execution/execution_plan.h"
#include "sim/execution/rank_groups.h"
#include "sim/execution/unit_cost.h"

namespace foretrain {

enum class TransferScope {
  kPipeline,  // from one pipeline rank to another, lane by lane
  kGroup,     // a collective of each group of a family within one pipeline rank
  kEnds,      // all-reduce between first and last pipeline rank, lane by lane (tied embedding)
  kBarrier,   // rendezvous of all ranks
};

/// A transfer of the step, for all lanes (tensor, context, data coordinates) at once.
struct TransferTemplate {
  TransferScope scope = TransferScope::kPipeline;
  int from = 0, to = 0;  // pipeline ranks; kGroup: from = to = its stage
  CollectiveKind collective = CollectiveKind::kSendRecv;
  GroupFamily family = GroupFamily::kDataContext;
  Bytes size;  // as nccl-tests counts it
  TimeKind kind = TimeKind::kPipeline;
  bool rendezvous = false;  // both sides must arrive (blocking send and receive)
  bool overlapped = false;  // runs beside computation: slows it down
  int after = -1;           // transfer whose communicator stream it follows
};

struct StepTemplate {
  std::vector<Segment> segments;
  std::vector<TransferTemplate> transfers;
  std::vector<std::vector<Instruction>> programs;   // by pipeline rank
  std::vector<std::vector<NamedCost>> named_costs;  // by pipeline rank, whole step, largest first
  /// Sums over the busiest pipeline rank, for the interval.
  std::vector<ProgramCost> totals;  // by pipeline rank
};

/// Costs and parameter counts of one part of a chunk, in forward order: embedding, layers, head.
struct ChunkPiece {
  ProgramCost forward, backward;
  std::int64_t parameters = 0;
  int forward_segment = -1, backward_segment = -1;
};

struct ChunkCost {
  std::vector<ChunkPiece> pieces;
  ProgramCost forward, backward;  // of the whole chunk
  int forward_segment = -1, backward_segment = -1;
  std::int64_t parameters = 0;
  ChunkContents contents;
};

/// Pieces and costs of every chunk, [pipeline rank][chunk]; segments are added to `step`.
[[nodiscard]] std::vector<std::vector<ChunkCost>> cost_chunks(const TrainingJob& job,
                                                              UnitCoster& coster,
                                                              StepTemplate& step);

/// Step of a job whose weights stay on each rank (DDP, Megatron, ZeRO-1 and 2, pipelines of all
/// kinds; with sharded parameters and a pipeline the weights are gathered once a step).
[[nodiscard]] StepTemplate pipeline_template(const TrainingJob& job, UnitCoster& coster);
/// Step of a job without pipeline whose parameters are sharded (FSDP, ZeRO-3): units are gathered
/// before use and reduced after their backward, at every micro-batch.
[[nodiscard]] StepTemplate sharded_template(const TrainingJob& job, UnitCoster& coster);

/// Helpers shared by both.
int add_segment(StepTemplate& step, Segment segment);
int add_transfer(StepTemplate& step, TransferTemplate transfer);
/// A data-parallel collective of one stage, behind `after` on its communicator's stream (-1: none).
int add_data_transfer(StepTemplate& step, int stage, CollectiveKind kind, GroupFamily family,
                      Bytes size, bool overlapped, int after);
/// The rendezvous of all ranks before the optimizer.
int add_barrier(StepTemplate& step);
/// Named costs and totals of a stage: its chunks' forward and backward, once per micro-batch.
void summarize_stage(const std::vector<ChunkCost>& chunks, double micro_batches, int pipeline_rank,
                     StepTemplate& step);
void append_optimizer(const TrainingJob& job, UnitCoster& coster, std::int64_t parameters,
                      int pipeline_rank, StepTemplate& step);

}  // namespace foretrain
