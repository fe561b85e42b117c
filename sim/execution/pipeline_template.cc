// Steps in which each rank keeps its weights: data parallel, Megatron's 3D parallelism, ZeRO-1
// and 2.
#include <algorithm>
#include <map>
#include <tuple>

#include "sim/execution/step_template.h"
#include "sim/workload/pipeline_schedule.h"

namespace foretrain {
namespace {

struct MessageKey {
  bool forward;
  int from_stage;  // virtual stage number of the sender
  int microbatch;
  auto operator<=>(const MessageKey&) const = default;
};

class PipelineBuilder {
 public:
  PipelineBuilder(const TrainingJob& job, UnitCoster& coster)
      : job_(job),
        coster_(coster),
        stages_(job.parallel.pipeline),
        chunks_(job.parallel.virtual_stages),
        microbatches_(static_cast<int>(job.accumulation())) {}

  StepTemplate build() {
    const auto count = static_cast<std::size_t>(stages_);
    step_.programs.resize(count);
    step_.named_costs.resize(count);
    step_.totals.resize(count);
    costs_ = cost_chunks(job_, coster_, step_);
    data_ranks_ = static_cast<std::int64_t>(job_.parallel.data) * job_.parallel.context;
    // Blocking sends and receives: Megatron's plain 1F1B, and anything told not to overlap.
    blocking_ = job_.schedule == PipelineSchedule::kOneFOneB && !job_.options.overlap_p2p;
    barrier_ = -1;
    for (int p = 0; p < stages_; ++p) stage(p);
    return std::move(step_);
  }

 private:
  std::vector<Instruction>& program(int p) { return step_.programs[static_cast<std::size_t>(p)]; }
  void compute(int p, int segment) { program(p).push_back({InstructionKind::kCompute, segment}); }
  void start(int p, int transfer) { program(p).push_back({InstructionKind::kStart, transfer}); }
  void wait(int p, int transfer) { program(p).push_back({InstructionKind::kWait, transfer}); }
  ChunkCost& chunk(int p, int c) {
    return costs_[static_cast<std::size_t>(p)][static_cast<std::size_t>(c)];
  }

  void stage(int p) {
    last_data_ = -1;
    gathers_.assign(static_cast<std::size_t>(chunks_), {});
    reductions_.clear();
    if (gathers_parameters() && gather_overlapped()) start_gathers(p);
    const std::vector<PipelineUnit> units =
        pipeline_units(job_.schedule, stages_, chunks_, microbatches_, p);
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (i == 0) receive_blocking(p, nullptr, &units[0]);
      if (!blocking_) wait_for_input(p, units[i]);
      run_unit(p, units[i]);
      const PipelineUnit* next = i + 1 < units.size() ? &units[i + 1] : nullptr;
      if (blocking_) {
        receive_blocking(p, &units[i], next);
      } else {
        send_async(p, units[i]);
      }
    }
    finish_stage(p);
  }

  // ---- pipeline messages ----

  [[nodiscard]] int virtual_stage(int p, int c) const { return c * stages_ + p; }
  [[nodiscard]] bool has_input(int p, const PipelineUnit& unit) const {
    const int at = virtual_stage(p, unit.chunk);
    return unit.forward ? at > 0 : at + 1 < stages_ * chunks_;
  }
  [[nodiscard]] bool has_output(int p, const PipelineUnit& unit) const {
    const int at = virtual_stage(p, unit.chunk);
    return unit.forward ? at + 1 < stages_ * chunks_ : at > 0;
  }
  int message(bool forward, int from_stage, int microbatch) {
    const MessageKey key{forward, from_stage, microbatch};
    const auto found = messages_.find(key);
    if (found != messages_.end()) return found->second;
    TransferTemplate transfer;
    transfer.scope = TransferScope::kPipeline;
    transfer.from = from_stage % stages_;
    transfer.to = (forward ? from_stage + 1 : from_stage - 1) % stages_;
    transfer.size = pipeline_message_bytes(job_);
    transfer.kind = TimeKind::kPipeline;
    transfer.rendezvous = blocking_;
    const int index = add_transfer(step_, transfer);
    messages_.emplace(key, index);
    return index;
  }
  int input_of(int p, const PipelineUnit& unit) {
    const int at = virtual_stage(p, unit.chunk);
    return message(unit.forward, unit.forward ? at - 1 : at + 1, unit.microbatch);
  }
  int output_of(int p, const PipelineUnit& unit) {
    return message(unit.forward, virtual_stage(p, unit.chunk), unit.microbatch);
  }
  /// Megatron's batches: the send of what was computed and the receive of what comes next are
  /// issued together and both waited for.
  void receive_blocking(int p, const PipelineUnit* done, const PipelineUnit* next) {
    if (!blocking_) return;
    const bool sends = done != nullptr && has_output(p, *done);
    const bool receives = next != nullptr && has_input(p, *next);
    if (sends) start(p, output_of(p, *done));
    if (receives) start(p, input_of(p, *next));
    if (sends) wait(p, output_of(p, *done));
    if (receives) wait(p, input_of(p, *next));
  }
  void wait_for_input(int p, const PipelineUnit& unit) {
    if (has_input(p, unit)) wait(p, input_of(p, unit));
  }
  void send_async(int p, const PipelineUnit& unit) {
    if (!has_output(p, unit)) return;
    const int transfer = output_of(p, unit);
    start(p, transfer);
    // Without overlap the sender's compute stream waits for its own message.
    if (!job_.options.overlap_p2p && job_.schedule == PipelineSchedule::kInterleaved)
      wait(p, transfer);
  }

  // ---- computation ----

  void run_unit(int p, const PipelineUnit& unit) {
    ChunkCost& cost = chunk(p, unit.chunk);
    if (unit.forward) {
      if (unit.microbatch == 0 && !gathers_[static_cast<std::size_t>(unit.chunk)].empty()) {
        forward_with_gathers(p, unit.chunk);
      } else {
        compute(p, cost.forward_segment);
      }
      return;
    }
    const bool reduces = unit.microbatch + 1 == microbatches_ || reduces_every_microbatch();
    if (!reduces || !has_data_parallel() || !job_.options.overlap_grad_reduce) {
      compute(p, cost.backward_segment);
      if (reduces && has_data_parallel()) {
        for (const std::int64_t bucket : gradient_buckets(job_, cost.contents)) {
          late_reductions_.push_back(bucket);
        }
        if (reduces_every_microbatch()) flush_reductions(p);
      }
      return;
    }
    backward_with_reductions(p, cost);
  }

  void forward_with_gathers(int p, int c) {
    ChunkCost& cost = chunk(p, c);
    const auto& gathers = gathers_[static_cast<std::size_t>(c)];
    std::size_t at = 0;
    std::int64_t covered = 0, needed = 0;
    for (const ChunkPiece& piece : cost.pieces) {
      needed += piece.parameters;
      while (at < gathers.size() && covered < needed) {
        wait(p, gathers[at].first);
        covered += gathers[at].second;
        ++at;
      }
      compute(p, piece.forward_segment);
    }
    for (; at < gathers.size(); ++at) wait(p, gathers[at].first);
  }

  void backward_with_reductions(int p, ChunkCost& cost) {
    const std::vector<std::int64_t> buckets = gradient_buckets(job_, cost.contents);
    std::size_t at = 0;
    std::int64_t filled = 0, until = buckets.empty() ? 0 : buckets.front();
    for (std::size_t i = cost.pieces.size(); i-- > 0;) {
      compute(p, cost.pieces[i].backward_segment);
      filled += cost.pieces[i].parameters;
      while (at + 1 < buckets.size() && filled >= until) {
        reduce(p, buckets[at]);
        until += buckets[++at];
      }
    }
    for (; at < buckets.size(); ++at) reduce(p, buckets[at]);
  }

  // ---- data parallel ----

  [[nodiscard]] bool has_data_parallel() const { return data_ranks_ > 1; }
  [[nodiscard]] bool reduces_every_microbatch() const {
    return job_.sharding == Sharding::kGradients && job_.framework == Framework::kDeepSpeed;
  }
  [[nodiscard]] bool gathers_parameters() const {
    return has_data_parallel() && job_.sharding != Sharding::kNone;
  }
  [[nodiscard]] bool gather_overlapped() const { return job_.options.overlap_param_gather; }

  int data_transfer(int p, CollectiveKind kind, GroupFamily family, Bytes size, bool overlapped) {
    last_data_ = add_data_transfer(step_, p, kind, family, size, overlapped, last_data_);
    return last_data_;
  }
  int gather(int p, std::int64_t parameters, bool overlapped) {
    return data_transfer(p, CollectiveKind::kAllGather, GroupFamily::kShard,
                         Bytes{parameters * job_.options.parameter_gather_bytes}, overlapped);
  }
  void start_gathers(int p) {
    for (int c = 0; c < chunks_; ++c) {
      std::vector<std::int64_t> buckets = gradient_buckets(job_, chunk(p, c).contents);
      std::reverse(buckets.begin(), buckets.end());
      for (const std::int64_t bucket : buckets) {
        const int transfer = gather(p, bucket, true);
        start(p, transfer);
        gathers_[static_cast<std::size_t>(c)].emplace_back(transfer, bucket);
      }
    }
  }
  void reduce(int p, std::int64_t parameters) {
    const bool overlapped = job_.options.overlap_grad_reduce;
    const Bytes size{parameters * job_.options.gradient_bytes};
    // DeepSpeed reduces by all-reduce also where it then keeps only a shard.
    const bool scatter =
        job_.sharding != Sharding::kNone && job_.framework != Framework::kDeepSpeed;
    int transfer = -1;
    if (scatter) {
      transfer =
          data_transfer(p, CollectiveKind::kReduceScatter, GroupFamily::kShard, size, overlapped);
      start(p, transfer);
      if (job_.shard_group > 0 && job_.shard_group < data_ranks_) {
        transfer = data_transfer(p, CollectiveKind::kAllReduce, GroupFamily::kReplica,
                                 divide_up(size, job_.shard_group), overlapped);
        start(p, transfer);
      }
    } else {
      transfer =
          data_transfer(p, CollectiveKind::kAllReduce, GroupFamily::kDataContext, size, overlapped);
      start(p, transfer);
    }
    if (overlapped) {
      reductions_.push_back(transfer);
    } else {
      wait(p, transfer);
    }
  }
  void flush_reductions(int p) {
    for (const std::int64_t bucket : late_reductions_) reduce(p, bucket);
    late_reductions_.clear();
  }

  void finish_stage(int p) {
    flush_reductions(p);
    for (const int transfer : reductions_) wait(p, transfer);
    tied_embedding(p);
    if (job_.parallel.world_size() > 1) barrier(p);
    std::int64_t parameters = 0;
    for (int c = 0; c < chunks_; ++c) parameters += chunk(p, c).parameters;
    summarize_stage(costs_[static_cast<std::size_t>(p)], microbatches_, p, step_);
    append_optimizer(job_, coster_, parameters, p, step_);
    if (!gathers_parameters() || gather_overlapped()) return;
    for (int c = 0; c < chunks_; ++c) {
      for (const std::int64_t bucket : gradient_buckets(job_, chunk(p, c).contents)) {
        const int transfer = gather(p, bucket, false);
        start(p, transfer);
        wait(p, transfer);
      }
    }
  }

  void tied_embedding(int p) {
    if (!job_.model.tied_embeddings || stages_ == 1 || (p != 0 && p != stages_ - 1)) return;
    if (tied_ < 0) {
      TransferTemplate transfer;
      transfer.scope = TransferScope::kEnds;
      transfer.from = 0;
      transfer.to = stages_ - 1;
      transfer.collective = CollectiveKind::kAllReduce;
      const std::int64_t rows =
          padded_vocab(job_.model.vocab, job_.options.vocab_multiple, job_.parallel.tensor) /
          job_.parallel.tensor;
      transfer.size = Bytes{rows * job_.model.hidden * job_.options.gradient_bytes};
      transfer.kind = TimeKind::kData;
      transfer.rendezvous = true;
      tied_ = add_transfer(step_, transfer);
    }
    start(p, tied_);
    wait(p, tied_);
  }

  void barrier(int p) {
    if (barrier_ < 0) barrier_ = add_barrier(step_);
    start(p, barrier_);
    wait(p, barrier_);
  }

  const TrainingJob& job_;
  UnitCoster& coster_;
  int stages_, chunks_, microbatches_;
  std::int64_t data_ranks_ = 1;
  bool blocking_ = false;
  StepTemplate step_;
  std::vector<std::vector<ChunkCost>> costs_;
  std::map<MessageKey, int> messages_;
  std::vector<std::vector<std::pair<int, std::int64_t>>>
      gathers_;  // by chunk: transfer, parameters
  std::vector<int> reductions_;
  std::vector<std::int64_t> late_reductions_;
  int last_data_ = -1;
  int barrier_ = -1, tied_ = -1;
};

}  // namespace

StepTemplate pipeline_template(const TrainingJob& job, UnitCoster& coster) {
  return PipelineBuilder{job, coster}.build();
}

}  // namespace foretrain
