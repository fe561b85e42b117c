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
    if (sharded_) next_gather_ = start(gather(0));
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

  int collective(CollectiveKind kind, GroupFamily family, Bytes size) {
    // All collectives of one process group share NCCL's stream, in the order in which they are
    // issued.
    last_ = add_data_transfer(step_, 0, kind, family, size, true, last_);
    return last_;
  }
  int gather(std::size_t unit) {
    return collective(CollectiveKind::kAllGather, GroupFamily::kShard,
                      Bytes{chunk_.pieces[unit].parameters * job_.options.parameter_gather_bytes});
  }

  void micro_batch(bool last) {
    const std::size_t units = chunk_.pieces.size();
    for (std::size_t i = 0; i < units; ++i) {
      const int ready = next_gather_;
      if (sharded_ && i + 1 < units) next_gather_ = start(gather(i + 1));
      if (sharded_) wait(ready);
      compute(chunk_.pieces[i].forward_segment);
    }
    // The last unit stays gathered from its forward to its backward.
    bool gathered = true;
    for (std::size_t i = units; i-- > 0;) {
      const int ready = next_gather_;
      if (sharded_ && i > 0) next_gather_ = start(gather(i - 1));
      if (sharded_ && i == 0 && !last) next_gather_ = start(gather(0));
      if (sharded_ && !gathered) wait(ready);
      gathered = false;
      compute(chunk_.pieces[i].backward_segment);
      reduce(chunk_.pieces[i].parameters);
    }
  }

  void reduce(std::int64_t parameters) {
    const Bytes size{parameters * job_.options.gradient_bytes};
    int transfer = -1;
    if (sharded_)
      transfer = start(collective(CollectiveKind::kReduceScatter, GroupFamily::kShard, size));
    if (replicated_) {
      transfer = start(collective(CollectiveKind::kAllReduce, GroupFamily::kReplica,
                                  divide_up(size, job_.shard_group)));
    }
    if (transfer < 0) return;
    if (!job_.options.overlap_grad_reduce) {
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
