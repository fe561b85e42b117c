// FSDP and ZeRO-3 without a pipeline: gather, use, reduce, unit by unit.
#include <algorithm>

#include "sim/execution/step_template.h"

namespace foretrain {
namespace {

class ShardedBuilder {
 public:
  ShardedBuilder(const TrainingJob& job, UnitCoster& coster) : job_(job), coster_(coster) {}

  StepTemplate build() {
    step_.programs.resize(1);
    step_.named_costs.resize(1);
    step_.totals.resize(1);
    chunk_ = cost_chunks(job_, coster_, step_).front().front();
    const auto micro_batches = job_.accumulation();
    const std::int64_t shard_ranks =
        job_.shard_group > 0
            ? job_.shard_group
            : static_cast<std::int64_t>(job_.parallel.data) * job_.parallel.context;
    sharded_ = shard_ranks > 1;
    replicated_ =
        job_.shard_group > 0 && job_.shard_group < job_.parallel.data * job_.parallel.context;
    if (sharded_ && prefetches()) next_gather_ = start(gather(0));
    for (std::int64_t i = 0; i < micro_batches; ++i) micro_batch(i + 1 == micro_batches);
    for (const int transfer : pending_) wait(transfer);
    if (job_.parallel.world_size() > 1) barrier();
    append_optimizer(job_, coster_, chunk_.parameters, 0, step_);
    summarize_stage({chunk_}, static_cast<double>(micro_batches), 0, step_);
    return std::move(step_);
  }

 private:
  std::vector<Instruction>& program() { return step_.programs.front(); }
  void compute(int segment) { program().push_back({InstructionKind::kCompute, segment}); }
  int start(int transfer) {
    program().push_back({InstructionKind::kStart, transfer});
    return transfer;
  }
  void wait(int transfer) { program().push_back({InstructionKind::kWait, transfer}); }

  int collective(CollectiveKind kind, GroupFamily family, Bytes size, bool overlapped) {
    // All collectives of one process group share NCCL's stream, in the order in which they are
    // issued.
    last_ = add_data_transfer(step_, 0, kind, family, size, overlapped, last_);
    return last_;
  }
  int gather(std::size_t unit) {
    return collective(CollectiveKind::kAllGather, GroupFamily::kShard,
                      Bytes{chunk_.pieces[unit].parameters * job_.options.parameter_gather_bytes},
                      prefetches());
  }

  /// Without prefetching a unit is gathered when it is needed, and nothing runs beside it.
  [[nodiscard]] bool prefetches() const { return job_.options.overlap_param_gather; }

  /// Waits for a unit's parameters, with the gathering of `next` (-1: none) already under way.
  void gathered_ready(std::size_t unit, int next) {
    if (!sharded_) return;
    const int ready = prefetches() ? next_gather_ : start(gather(unit));
    if (prefetches() && next >= 0) next_gather_ = start(gather(static_cast<std::size_t>(next)));
    wait(ready);
  }

  void micro_batch(bool last) {
    const int units = static_cast<int>(chunk_.pieces.size());
    for (int i = 0; i < units; ++i) {
      const auto unit = static_cast<std::size_t>(i);
      gathered_ready(unit, i + 1 < units ? i + 1 : -1);
      compute(chunk_.pieces[unit].forward_segment);
    }
    for (int i = units; i-- > 0;) {
      const auto unit = static_cast<std::size_t>(i);
      const int next = i > 0 ? i - 1 : last ? -1 : 0;
      if (i + 1 < units) {
        gathered_ready(unit, next);
      } else if (sharded_ && prefetches() && next >= 0) {
        // The last unit stays gathered from its forward to its backward.
        next_gather_ = start(gather(static_cast<std::size_t>(next)));
      }
      compute(chunk_.pieces[unit].backward_segment);
      reduce(chunk_.pieces[unit].parameters);
    }
  }

  void reduce(std::int64_t parameters) {
    const Bytes size{parameters * job_.options.gradient_bytes};
    int transfer = -1;
    const bool overlapped = job_.options.overlap_grad_reduce;
    if (sharded_) {
      transfer =
          start(collective(CollectiveKind::kReduceScatter, GroupFamily::kShard, size, overlapped));
    }
    if (replicated_) {
      transfer = start(collective(CollectiveKind::kAllReduce, GroupFamily::kReplica,
                                  divide_up(size, job_.shard_group), overlapped));
    }
    if (transfer < 0) return;
    if (!overlapped) {
      wait(transfer);
      return;
    }
    // At most two reductions are in flight: the buffers of an older one are needed again.
    pending_.push_back(transfer);
    if (pending_.size() > 2) {
      wait(pending_.front());
      pending_.erase(pending_.begin());
    }
  }

  void barrier() {
    const int index = add_barrier(step_);
    start(index);
    wait(index);
  }

  const TrainingJob& job_;
  UnitCoster& coster_;
  StepTemplate step_;
  ChunkCost chunk_;
  bool sharded_ = false, replicated_ = false;
  int next_gather_ = -1;
  int last_ = -1;
  std::vector<int> pending_;
};

}  // namespace

StepTemplate sharded_template(const TrainingJob& job, UnitCoster& coster) {
  return ShardedBuilder{job, coster}.build();
}

}  // namespace foretrain
