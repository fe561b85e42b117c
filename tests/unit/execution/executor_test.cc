#include "sim/execution/executor.h"

#include <gtest/gtest.h>

#include "sim/workload/pipeline_schedule.h"

namespace foretrain {
namespace {

/// Each conversion to ticks rounds up by at most a picosecond.
constexpr double kRoundingPerEvent = 1e-11;

Segment segment_of(TimeKind kind, double seconds) {
  Segment segment;
  segment.seconds[kind] = seconds;
  return segment;
}

Execution run(const ExecutionPlan& plan) {
  plan.check();
  const auto network = make_fluid_network(plan.capacities);
  return execute(plan, *network);
}

/// Pipeline of `stages` with forward F and backward B seconds and a message latency, from the
/// schedule's lists.
ExecutionPlan pipeline_plan(PipelineSchedule schedule, int stages, int chunks, int microbatches,
                            double forward, double backward, double latency) {
  ExecutionPlan plan;
  plan.segments = {segment_of(TimeKind::kGemm, forward), segment_of(TimeKind::kGemm, backward)};
  const int virtual_stages = stages * chunks;
  plan.actors.resize(static_cast<std::size_t>(stages));
  for (int s = 0; s < stages; ++s) {
    plan.groups.push_back({s});
  }
  // Op (direction, virtual stage, microbatch): the output of that unit.
  const auto op_of = [&](bool is_forward, int stage, int microbatch) {
    return ((is_forward ? 0 : virtual_stages) + stage) * microbatches + microbatch;
  };
  for (int direction = 0; direction < 2; ++direction) {
    for (int v = 0; v < virtual_stages; ++v) {
      for (int i = 0; i < microbatches; ++i) {
        CommOp op;
        op.latency = duration_from_seconds(latency);
        op.kind = TimeKind::kPipeline;
        const int next = direction == 0 ? v + 1 : v - 1;
        op.group = ((next + virtual_stages) % virtual_stages) % stages;
        plan.ops.push_back(op);
      }
    }
  }
  for (int s = 0; s < stages; ++s) {
    auto& program = plan.actors[static_cast<std::size_t>(s)].program;
    for (const PipelineUnit& unit : pipeline_units(schedule, stages, chunks, microbatches, s)) {
      const int v = unit.chunk * stages + s;
      const int from = unit.forward ? v - 1 : v + 1;
      if (from >= 0 && from < virtual_stages) {
        program.push_back({InstructionKind::kWait, op_of(unit.forward, from, unit.microbatch)});
      }
      program.push_back({InstructionKind::kCompute, unit.forward ? 0 : 1});
      program.push_back({InstructionKind::kStart, op_of(unit.forward, v, unit.microbatch)});
    }
  }
  return plan;
}

double makespan(const ExecutionPlan& plan) { return to_seconds(run(plan).end); }

// 1F1B: (m + p - 1)(F + B); GPipe the same. @source arXiv:2104.04473 section 2.2.
TEST(Executor, OneFOneBMatchesItsClosedForm) {
  EXPECT_NEAR(makespan(pipeline_plan(PipelineSchedule::kOneFOneB, 4, 1, 8, 1, 2, 0)), 33, 1e-9);
  EXPECT_NEAR(makespan(pipeline_plan(PipelineSchedule::kGpipe, 4, 1, 8, 1, 2, 0)), 33, 1e-9);
  EXPECT_NEAR(makespan(pipeline_plan(PipelineSchedule::kOneFOneB, 16, 1, 64, 1, 2, 0)), 237, 1e-9);
}

// Interleaved: (m v + p - 1)(F + B) in chunk units.
TEST(Executor, InterleavingDividesTheBubble) {
  EXPECT_NEAR(makespan(pipeline_plan(PipelineSchedule::kInterleaved, 4, 2, 8, 1, 2, 0)), 57, 1e-9);
  EXPECT_NEAR(makespan(pipeline_plan(PipelineSchedule::kInterleaved, 16, 4, 64, 1, 2, 0)), 813,
              1e-9);
}

// Latency only, asynchronous sends: 1F1B pays 2(p-1)m/p + 2(p-2) times tau, GPipe 2(p-1) tau,
// interleaved 2(pv-1) tau: executed test values with tau = 0.1.
TEST(Executor, LatencyDelaysSchedulesAsTheirClosedFormsSay) {
  EXPECT_NEAR(makespan(pipeline_plan(PipelineSchedule::kOneFOneB, 4, 1, 16, 1, 2, 0.1)), 59.8,
              1e-8);
  EXPECT_NEAR(makespan(pipeline_plan(PipelineSchedule::kOneFOneB, 8, 1, 32, 1, 2, 0.1)), 123.8,
              1e-8);
  EXPECT_NEAR(makespan(pipeline_plan(PipelineSchedule::kInterleaved, 4, 2, 16, 1, 2, 0.1)), 106.4,
              1e-8);
  EXPECT_NEAR(makespan(pipeline_plan(PipelineSchedule::kInterleaved, 8, 4, 64, 1, 2, 0.1)), 795.2,
              1e-8);
}

TEST(Executor, BreakdownOfEveryActorSumsToItsEnd) {
  const ExecutionPlan plan = pipeline_plan(PipelineSchedule::kOneFOneB, 8, 1, 16, 1, 2, 0.25);
  const Execution execution = run(plan);
  for (const ActorTimes& actor : execution.actors) {
    EXPECT_NEAR(actor.breakdown.total(), to_seconds(actor.end), 1e-8);
    EXPECT_NEAR(actor.breakdown[TimeKind::kGemm], 16 * 3, 1e-8);
  }
}

/// One actor computes 10 s while a transfer of 4 s slows it by alpha = 1.15: in 4 s it does 4/1.15
/// s of work, so the end is 4 + (10 - 4/1.15) = 10.5217 s.
TEST(Executor, OverlappedTransferSlowsComputation) {
  ExecutionPlan plan;
  plan.capacities = {gigabytes_per_second(1)};
  plan.link_class = {{LinkId{0}}};
  plan.patterns = {{{{LinkId{0}, 1.0}}}};
  plan.segments = {segment_of(TimeKind::kGemm, 10)};
  plan.groups = {{0}};
  CommOp op;
  op.pattern = 0;
  op.work_bytes = 4e9;
  op.compute_slowdown = 1.15F;
  plan.ops = {op};
  plan.actors.resize(1);
  plan.actors[0].program = {
      {InstructionKind::kStart, 0}, {InstructionKind::kCompute, 0}, {InstructionKind::kWait, 0}};
  const Execution execution = run(plan);
  const double alpha = static_cast<double>(1.15F);
  const double expected = 4 + (10 - 4 / alpha);
  EXPECT_NEAR(to_seconds(execution.end), expected, 4 * kRoundingPerEvent);
  EXPECT_NEAR(execution.actors[0].breakdown[TimeKind::kGemm], 10, 1e-9);
  EXPECT_NEAR(execution.actors[0].breakdown[TimeKind::kData], expected - 10, 1e-9);
  EXPECT_NEAR(execution.link_bytes[0], 4e9, 1);
}

/// Two transfers of 3 GB in one communicator over a 1 GB/s link run one after the other although
/// both are started at 0; on two communicators they would share and both end at 6 s.
TEST(Executor, OneCommunicatorIsOneStream) {
  ExecutionPlan plan;
  plan.capacities = {gigabytes_per_second(1)};
  plan.link_class = {{LinkId{0}}};
  plan.patterns = {{{{LinkId{0}, 1.0}}}};
  plan.groups = {{0}};
  CommOp op;
  op.pattern = 0;
  op.work_bytes = 3e9;
  plan.ops = {op, op};
  plan.actors.resize(1);
  plan.segments = {segment_of(TimeKind::kGemm, 1)};
  plan.actors[0].program = {{InstructionKind::kStart, 0},
                            {InstructionKind::kStart, 1},
                            {InstructionKind::kWait, 0},
                            {InstructionKind::kCompute, 0},
                            {InstructionKind::kWait, 1}};
  const double shared = to_seconds(run(plan).end);
  plan.order = {{0, 1}};
  const double serial = to_seconds(run(plan).end);
  EXPECT_NEAR(shared, 7, 1e-9);  // both end at 6, then 1 s of computation
  EXPECT_NEAR(serial, 6, 1e-9);  // the computation hides behind the second
}

/// A rendezvous begins with the later of the two sides: waiting before that is bubble, after it
/// transfer.
TEST(Executor, RendezvousWaitsForBothSides) {
  ExecutionPlan plan;
  plan.segments = {segment_of(TimeKind::kGemm, 5)};
  plan.groups = {{0, 1}};
  CommOp op;
  op.needed = 2;
  op.latency = duration_from_seconds(2);
  op.kind = TimeKind::kPipeline;
  plan.ops = {op};
  plan.actors.resize(2);
  plan.actors[0].program = {{InstructionKind::kStart, 0}, {InstructionKind::kWait, 0}};
  plan.actors[1].program = {
      {InstructionKind::kCompute, 0}, {InstructionKind::kStart, 0}, {InstructionKind::kWait, 0}};
  const Execution execution = run(plan);
  EXPECT_NEAR(to_seconds(execution.end), 7, 1e-9);
  EXPECT_NEAR(execution.actors[0].breakdown[TimeKind::kBubble], 5, 1e-9);
  EXPECT_NEAR(execution.actors[0].breakdown[TimeKind::kPipeline], 2, 1e-9);
}

TEST(Executor, ReportsADeadlock) {
  ExecutionPlan plan;
  plan.groups = {{0}};
  plan.ops = {CommOp{}, CommOp{}};
  plan.order = {{0, 1}, {1, 0}};
  plan.actors.resize(1);
  plan.actors[0].program = {
      {InstructionKind::kStart, 0}, {InstructionKind::kStart, 1}, {InstructionKind::kWait, 0}};
  EXPECT_TRUE(run(plan).deadlocked);
}

TEST(Executor, SlowGpuStretchesItsSegments) {
  ExecutionPlan plan;
  plan.segments = {segment_of(TimeKind::kGemm, 9)};
  plan.actors.resize(1);
  plan.actors[0].speed = 0.9;
  plan.actors[0].program = {{InstructionKind::kCompute, 0}};
  EXPECT_NEAR(to_seconds(run(plan).end), 10, 1e-9);
}

TEST(Executor, SameBytesTwice) {
  const ExecutionPlan plan = pipeline_plan(PipelineSchedule::kInterleaved, 8, 2, 16, 1, 2, 0.1);
  EXPECT_EQ(run(plan).fingerprint, run(plan).fingerprint);
}

}  // namespace
}  // namespace foretrain
