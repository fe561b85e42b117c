#include "sim/execution/executor.h"

#include <algorithm>
#include <optional>

#include "sim/core/fingerprint.h"
#include "sim/engine/event_queue.h"

namespace foretrain {
namespace {

/// What ends: an op that moves nothing, or an actor's compute segment.
struct Ending {
  bool is_op = false;
  int index = 0;
};

enum class ActorState { kReady, kComputing, kWaiting, kDone };

struct ActorRun {
  std::size_t pc = 0;
  ActorState state = ActorState::kReady;
  SimTime since{};           // start of the segment or of the wait
  SimTime updated{};         // when `remaining` was last brought up to date
  double remaining = 0;      // seconds of work left at full speed
  double segment_total = 0;  // seconds of the whole segment at full speed
  double slowdown = 1;       // factor now
  EventHandle segment_end;   // pending while it computes
  int waiting_op = -1;
  std::vector<int> active;  // ops in flight that slow it down
};

struct OpRun {
  int arrivals = 0;
  bool begun = false;
  bool done = false;
  SimTime arrived{};  // when all that it needs had come
  SimTime begin{};
  ActivityId activity;
  int pending = 0;  // ops ordered before it that are not done
  std::vector<int> successors;
};

class Executor {
 public:
  Executor(const ExecutionPlan& plan, NetworkModel& network, const ProgressHook& progress)
      : plan_(plan), network_(network), progress_(progress) {
    actors_.resize(plan.actors.size());
    ops_.resize(plan.ops.size());
    result_.actors.resize(plan.actors.size());
    for (const auto& [before, after] : plan.order) {
      ops_[position(before)].successors.push_back(after);
      ++ops_[position(after)].pending;
    }
    for (const Actor& actor : plan.actors)
      total_ += static_cast<std::int64_t>(actor.program.size());
  }

  Execution run() {
    for (std::size_t i = 0; i < actors_.size(); ++i) proceed(static_cast<int>(i));
    while (step()) {
    }
    finish();
    return std::move(result_);
  }

 private:
  static std::size_t position(int index) { return static_cast<std::size_t>(index); }

  bool step() {
    // The network looks ahead no further than the next event of ours.
    const std::optional<SimTime> network_next =
        events_.empty() ? network_.next_completion()
                        : network_.next_completion_until(events_.top_key().time);
    if (!network_next && events_.empty()) return false;
    if (network_next && (events_.empty() || *network_next <= events_.top_key().time)) {
      advance_network(*network_next);
      return true;
    }
    const SimTime time = events_.top_key().time;
    const Ending ending = events_.pop();
    if (time > now_) advance_network(time);
    if (ending.is_op) {
      complete_op(ending.index);
    } else {
      end_segment(ending.index);
    }
    return true;
  }

  void advance_network(SimTime to) {
    now_ = to;
    completed_.clear();
    network_.advance_into(now_, completed_);
    for (const ActivityId id : completed_) complete_activity(id);
  }

  /// Runs an actor's instructions until it computes, waits, or is done.
  void proceed(int index) {
    ActorRun& actor = actors_[position(index)];
    const Actor& spec = plan_.actors[position(index)];
    actor.state = ActorState::kReady;
    while (actor.pc < spec.program.size()) {
      const Instruction instruction = spec.program[actor.pc];
      count_instruction();
      if (instruction.kind == InstructionKind::kStart) {
        ++actor.pc;
        arrive(instruction.index);
        continue;
      }
      if (instruction.kind == InstructionKind::kWait) {
        if (ops_[position(instruction.index)].done) {
          ++actor.pc;
          continue;
        }
        actor.state = ActorState::kWaiting;
        actor.waiting_op = instruction.index;
        actor.since = now_;
        return;
      }
      begin_segment(index, instruction.index);
      return;
    }
    actor.state = ActorState::kDone;
    result_.actors[position(index)].end = now_;
  }

  void begin_segment(int index, int segment) {
    ActorRun& actor = actors_[position(index)];
    const Actor& spec = plan_.actors[position(index)];
    actor.state = ActorState::kComputing;
    actor.since = now_;
    actor.updated = now_;
    actor.segment_total = plan_.segments[position(segment)].seconds.total() / spec.speed;
    actor.remaining = actor.segment_total;
    actor.slowdown = slowdown_of(actor, segment);
    schedule_segment(index);
  }

  double slowdown_of(const ActorRun& actor, int segment) const {
    double factor = 1;
    for (const int op : actor.active) {
      factor = std::max(factor, static_cast<double>(plan_.ops[position(op)].compute_slowdown));
    }
    return 1 + plan_.segments[position(segment)].slowdown_share * (factor - 1);
  }

  void schedule_segment(int index) {
    ActorRun& actor = actors_[position(index)];
    const SimTime end = now_ + duration_from_seconds(actor.remaining * actor.slowdown);
    // Ops come before actors, so that what ends at an instant is seen by those who start at it.
    const EventKey key{end, EventPhase::kCompletion, static_cast<std::int32_t>(ops_.size()) + index,
                       0};
    if (events_.contains(actor.segment_end)) {
      events_.reschedule(actor.segment_end, key);
    } else {
      actor.segment_end = events_.push(key, {false, index});
    }
  }

  void end_segment(int index) {
    ActorRun& actor = actors_[position(index)];
    const Segment& segment = plan_.segments[position(current(index).index)];
    TimeBreakdown& breakdown = result_.actors[position(index)].breakdown;
    const double elapsed = to_seconds(now_ - actor.since);
    const double alone = segment.seconds.total();
    const double speed = plan_.actors[position(index)].speed;
    if (alone > 0) breakdown.add(segment.seconds, 1 / speed);
    // What overlapped collectives cost the computation counts as theirs.
    breakdown[TimeKind::kData] += elapsed - actor.segment_total;
    record(index, 1);
    ++actor.pc;
    proceed(index);
  }

  [[nodiscard]] const Instruction& current(int index) const {
    return plan_.actors[position(index)].program[actors_[position(index)].pc];
  }

  void arrive(int op_index) {
    OpRun& op = ops_[position(op_index)];
    if (++op.arrivals == plan_.ops[position(op_index)].needed) op.arrived = now_;
    maybe_begin(op_index);
  }

  void maybe_begin(int op_index) {
    OpRun& op = ops_[position(op_index)];
    const CommOp& spec = plan_.ops[position(op_index)];
    if (op.begun || op.pending > 0 || op.arrivals < spec.needed) return;
    op.begun = true;
    op.begin = now_;
    if (spec.compute_slowdown > 1) set_active(op_index, true);
    if (spec.pattern < 0 || spec.work_bytes <= 0) {
      events_.push({now_ + spec.latency, EventPhase::kCompletion, op_index, 0}, {true, op_index});
      return;
    }
    ActivitySpec activity;
    activity.usage = plan_.patterns[position(spec.pattern)].usage;
    activity.work_bytes = spec.work_bytes;
    activity.rate_cap = spec.rate_cap;
    activity.latency = spec.latency;
    op.activity = network_.start(now_, activity);
    if (op_of_activity_.size() <= op.activity.position()) {
      op_of_activity_.resize(op.activity.position() + 1, -1);
    }
    op_of_activity_[op.activity.position()] = op_index;
  }

  void complete_activity(ActivityId id) { complete_op(op_of_activity_[id.position()]); }

  void complete_op(int op_index) {
    OpRun& op = ops_[position(op_index)];
    const CommOp& spec = plan_.ops[position(op_index)];
    op.done = true;
    record(op_index, 0);
    if (spec.compute_slowdown > 1) set_active(op_index, false);
    for (const int successor : op.successors) {
      --ops_[position(successor)].pending;
      maybe_begin(successor);
    }
    for (const int member : plan_.groups[position(spec.group)]) {
      ActorRun& actor = actors_[position(member)];
      if (actor.state != ActorState::kWaiting || actor.waiting_op != op_index) continue;
      account_wait(member, op, spec.kind);
      actor.waiting_op = -1;
      ++actor.pc;
      proceed(member);
    }
  }

  /// From when all members had come the wait is the transfer's own cost, queueing behind others of
  /// its communicator included; before that, the actor waited for other ranks.
  void account_wait(int index, const OpRun& op, TimeKind kind) {
    const ActorRun& actor = actors_[position(index)];
    TimeBreakdown& breakdown = result_.actors[position(index)].breakdown;
    const SimTime transfer_from = std::max(actor.since, op.arrived);
    breakdown[kind] += to_seconds(now_ - transfer_from);
    breakdown[TimeKind::kBubble] += to_seconds(transfer_from - actor.since);
  }

  void set_active(int op_index, bool active) {
    for (const int member : plan_.groups[position(plan_.ops[position(op_index)].group)]) {
      ActorRun& actor = actors_[position(member)];
      if (active) {
        actor.active.push_back(op_index);
      } else {
        actor.active.erase(std::find(actor.active.begin(), actor.active.end(), op_index));
      }
      if (actor.state != ActorState::kComputing) continue;
      const double factor = slowdown_of(actor, current(member).index);
      if (factor == actor.slowdown) continue;
      const double done = to_seconds(now_ - actor.updated) / actor.slowdown;
      actor.remaining = std::max(0.0, actor.remaining - done);
      actor.updated = now_;
      actor.slowdown = factor;
      schedule_segment(member);
    }
  }

  void record(int entity, int kind) {
    ++result_.events;
    fingerprint_.add(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
    fingerprint_.add(static_cast<std::uint64_t>(entity) * 2 + static_cast<std::uint64_t>(kind));
  }

  void count_instruction() {
    ++done_;
    if (progress_ && done_ % std::max<std::int64_t>(1, total_ / 200) == 0) progress_(done_, total_);
  }

  void finish() {
    for (std::size_t i = 0; i < actors_.size(); ++i) {
      if (actors_[i].state != ActorState::kDone) result_.deadlocked = true;
      result_.end = std::max(result_.end, result_.actors[i].end);
    }
    const auto bytes = network_.link_bytes();
    result_.link_bytes.assign(bytes.begin(), bytes.end());
    result_.fingerprint = fingerprint_.value();
  }

  const ExecutionPlan& plan_;
  NetworkModel& network_;
  const ProgressHook& progress_;
  std::vector<ActorRun> actors_;
  std::vector<OpRun> ops_;
  std::vector<int> op_of_activity_;
  std::vector<ActivityId> completed_;
  EventQueue<Ending> events_;
  SimTime now_{};
  Execution result_;
  Fingerprint fingerprint_;
  std::int64_t done_ = 0, total_ = 0;
};

}  // namespace

Execution execute(const ExecutionPlan& plan, NetworkModel& network, const ProgressHook& progress) {
  return Executor{plan, network, progress}.run();
}

}  // namespace foretrain
