#include "sim/execution/step_template.h"

#include <algorithm>
#include <numeric>

#include "sim/workload/parameter_tensors.h"

namespace foretrain {

int add_segment(StepTemplate& step, Segment segment) {
  step.segments.push_back(segment);
  return static_cast<int>(step.segments.size()) - 1;
}

int add_transfer(StepTemplate& step, TransferTemplate transfer) {
  step.transfers.push_back(transfer);
  return static_cast<int>(step.transfers.size()) - 1;
}

namespace {

ChunkPiece make_piece(const ForwardBackward& program, std::int64_t parameters, UnitCoster& coster) {
  ChunkPiece piece;
  piece.forward = coster.cost(program.forward);
  piece.backward = coster.cost(program.backward);
  piece.parameters = parameters;
  return piece;
}

bool is_recomputed(const TrainingJob& job, int index_in_chunk) {
  if (job.recompute != RecomputeMode::kFull) return false;
  return job.recompute_full_layers == 0 || index_in_chunk < job.recompute_full_layers;
}

/// Layers differ only by window, kind and recomputation; identical ones are costed once.
struct LayerKey {
  std::int64_t window = 0;
  bool recomputed = false;
  bool operator==(const LayerKey&) const = default;
};

LayerKey layer_key(const TrainingJob& job, int layer, bool recomputed) {
  const auto& windows = job.model.attention_window;
  std::int64_t window = 0;
  if (!windows.empty()) {
    window = windows[static_cast<std::size_t>(layer) % windows.size()];
  }
  return {window, recomputed};
}

class ChunkCoster {
 public:
  ChunkCoster(const TrainingJob& job, UnitCoster& coster) : job_(job), coster_(coster) {}

  ChunkCost cost(const ChunkContents& contents) {
    ChunkCost chunk;
    chunk.contents = contents;
    const auto sum = [](const std::vector<std::int64_t>& tensors) {
      return std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0});
    };
    if (contents.embedding) {
      chunk.pieces.push_back(
          make_piece(embedding_program(job_), sum(embedding_tensors(job_)), coster_));
    }
    for (int i = 0; i < contents.layers; ++i) chunk.pieces.push_back(layer(contents, i));
    if (contents.head) {
      chunk.pieces.push_back(
          make_piece(head_program(job_), sum(head_tensors(job_, contents)), coster_));
    }
    for (const ChunkPiece& piece : chunk.pieces) {
      chunk.forward.add(piece.forward);
      chunk.backward.add(piece.backward);
      chunk.parameters += piece.parameters;
    }
    return chunk;
  }

 private:
  ChunkPiece layer(const ChunkContents& contents, int index) {
    const int number = contents.first_layer + index;
    const LayerKey key = layer_key(job_, number, is_recomputed(job_, index));
    for (const auto& [known, piece] : known_) {
      if (known == key) return piece;
    }
    known_.emplace_back(key, make_piece(layer_program(job_, number, key.recomputed),
                                        layer_parameters_per_rank(job_, number), coster_));
    return known_.back().second;
  }

  const TrainingJob& job_;
  UnitCoster& coster_;
  std::vector<std::pair<LayerKey, ChunkPiece>> known_;
};

}  // namespace

std::vector<std::vector<ChunkCost>> cost_chunks(const TrainingJob& job, UnitCoster& coster,
                                                StepTemplate& step) {
  ChunkCoster chunk_coster{job, coster};
  std::vector<std::vector<ChunkCost>> costs;
  for (const auto& chunks : assign_layers(job)) {
    std::vector<ChunkCost>& row = costs.emplace_back();
    for (const ChunkContents& contents : chunks) {
      ChunkCost chunk = chunk_coster.cost(contents);
      chunk.forward_segment = add_segment(step, coster.segment(chunk.forward));
      chunk.backward_segment = add_segment(step, coster.segment(chunk.backward));
      for (ChunkPiece& piece : chunk.pieces) {
        piece.forward_segment = add_segment(step, coster.segment(piece.forward));
        piece.backward_segment = add_segment(step, coster.segment(piece.backward));
      }
      row.push_back(std::move(chunk));
    }
  }
  return costs;
}

int add_data_transfer(StepTemplate& step, int stage, CollectiveKind kind, GroupFamily family,
                      Bytes size, bool overlapped, int after) {
  TransferTemplate transfer;
  transfer.scope = TransferScope::kGroup;
  transfer.from = transfer.to = stage;
  transfer.collective = kind;
  transfer.family = family;
  transfer.size = size;
  transfer.kind = TimeKind::kData;
  transfer.overlapped = overlapped;
  transfer.after = after;
  return add_transfer(step, transfer);
}

int add_barrier(StepTemplate& step) {
  TransferTemplate transfer;
  transfer.scope = TransferScope::kBarrier;
  transfer.kind = TimeKind::kData;
  return add_transfer(step, transfer);
}

void summarize_stage(const std::vector<ChunkCost>& chunks, double micro_batches, int pipeline_rank,
                     StepTemplate& step) {
  ProgramCost total;
  for (const ChunkCost& chunk : chunks) {
    total.add(chunk.forward);
    total.add(chunk.backward);
  }
  auto& named = step.named_costs[static_cast<std::size_t>(pipeline_rank)];
  for (NamedCost item : total.named) {
    item.seconds *= micro_batches;
    named.push_back(item);
  }
  total.gemm_sigma_seconds *= micro_batches;
  total.attention_sigma_seconds *= micro_batches;
  total.other_sigma_seconds *= micro_batches;
  step.totals[static_cast<std::size_t>(pipeline_rank)] = total;
}

void append_optimizer(const TrainingJob& job, UnitCoster& coster, std::int64_t parameters,
                      int pipeline_rank, StepTemplate& step) {
  const std::int64_t shards =
      job.sharding == Sharding::kNone
          ? 1
          : (job.shard_group > 0
                 ? job.shard_group
                 : static_cast<std::int64_t>(job.parallel.data) * job.parallel.context);
  const ProgramCost cost =
      coster.cost(optimizer_program(job, parameters, (parameters + shards - 1) / shards));
  Segment segment = coster.segment(cost);
  // Everything here counts as the optimizer's, the host's share apart.
  const double host = segment.seconds[TimeKind::kHost];
  const double work = segment.seconds.total() - host;
  segment.seconds = TimeBreakdown{};
  segment.seconds[TimeKind::kOptimizer] = work;
  segment.seconds[TimeKind::kHost] = host + job.options.step_overhead_seconds;
  auto& program = step.programs[static_cast<std::size_t>(pipeline_rank)];
  program.push_back({InstructionKind::kCompute, add_segment(step, segment)});
  auto& named = step.named_costs[static_cast<std::size_t>(pipeline_rank)];
  named.push_back({"optimizer", TimeKind::kOptimizer, work});
}

}  // namespace foretrain
