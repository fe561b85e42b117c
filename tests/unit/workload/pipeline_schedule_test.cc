// Runs the unit lists with a small dependency executor and compares with the closed forms.
#include "sim/workload/pipeline_schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

namespace foretrain {
namespace {

struct Pipeline {
  PipelineSchedule schedule = PipelineSchedule::kOneFOneB;
  int stages = 1, chunks = 1, microbatches = 1;
};

std::vector<std::vector<PipelineUnit>> lists_of(const Pipeline& pipeline) {
  std::vector<std::vector<PipelineUnit>> lists;
  for (int rank = 0; rank < pipeline.stages; ++rank) {
    lists.push_back(pipeline_units(pipeline.schedule, pipeline.stages, pipeline.chunks,
                                   pipeline.microbatches, rank));
  }
  return lists;
}

/// Time of a unit by global stage. Deadlock fails the test.
using UnitTime = std::function<double(bool forward, int stage)>;

/// Every rank runs its list in order, each unit as soon as the unit it needs has ended. Returns the
/// last end. Oracle independent of the simulator: fixed point over the lists.
double makespan(const Pipeline& pipeline, const UnitTime& time) {
  const auto lists = lists_of(pipeline);
  const int last_stage = pipeline.stages * pipeline.chunks - 1;
  std::map<std::tuple<bool, int, int>, double> ended;
  std::vector<std::size_t> next(lists.size(), 0);
  std::vector<double> clock(lists.size(), 0);
  bool moved = true;
  while (moved) {
    moved = false;
    for (std::size_t rank = 0; rank < lists.size(); ++rank) {
      while (next[rank] < lists[rank].size()) {
        const PipelineUnit& unit = lists[rank][next[rank]];
        const int stage = unit.chunk * pipeline.stages + static_cast<int>(rank);
        double ready = clock[rank];
        std::vector<std::tuple<bool, int, int>> needs;
        if (unit.forward && stage > 0) needs.emplace_back(true, stage - 1, unit.microbatch);
        if (!unit.forward) needs.emplace_back(true, stage, unit.microbatch);
        if (!unit.forward && stage < last_stage)
          needs.emplace_back(false, stage + 1, unit.microbatch);
        const bool possible = std::all_of(needs.begin(), needs.end(), [&](const auto& need) {
          const auto at = ended.find(need);
          if (at == ended.end()) return false;
          ready = std::max(ready, at->second);
          return true;
        });
        if (!possible) break;
        clock[rank] = ready + time(unit.forward, stage);
        ended[{unit.forward, stage, unit.microbatch}] = clock[rank];
        ++next[rank];
        moved = true;
      }
    }
  }
  for (std::size_t rank = 0; rank < lists.size(); ++rank) EXPECT_EQ(next[rank], lists[rank].size());
  return *std::max_element(clock.begin(), clock.end());
}

double one_and_two(bool forward, int /*stage*/) { return forward ? 1 : 2; }

Pipeline plain(PipelineSchedule schedule, int stages, int microbatches) {
  return {schedule, stages, 1, microbatches};
}
Pipeline interleaved(int stages, int microbatches, int chunks) {
  return {PipelineSchedule::kInterleaved, stages, chunks, microbatches};
}

// (m + p - 1)(F + B) with F = 1, B = 2.
TEST(PipelineSchedule, OneForwardOneBackwardAndGpipeTakeTheClosedForm) {
  const std::vector<std::tuple<int, int, double>> rows{{4, 8, 33},   {4, 16, 57},   {8, 16, 69},
                                                       {8, 32, 117}, {16, 32, 141}, {16, 64, 237}};
  for (const auto& [p, m, expected] : rows) {
    EXPECT_EQ(makespan(plain(PipelineSchedule::kOneFOneB, p, m), one_and_two), expected);
    EXPECT_EQ(makespan(plain(PipelineSchedule::kGpipe, p, m), one_and_two), expected);
  }
}

// (m v + p - 1)(F + B) in chunk times.
TEST(PipelineSchedule, InterleavingDividesTheBubble) {
  const std::vector<std::tuple<int, int, int, double>> rows{
      {4, 8, 2, 57},   {4, 16, 2, 105},  {4, 8, 4, 105},   {8, 16, 2, 117},
      {8, 32, 4, 405}, {16, 32, 2, 237}, {16, 64, 4, 813}, {8, 32, 2, 213}};
  for (const auto& [p, m, v, expected] : rows) {
    EXPECT_EQ(makespan(interleaved(p, m, v), one_and_two), expected);
  }
}

TEST(PipelineSchedule, BubbleFractionsOfAPublishedComparison) {
  EXPECT_NEAR(1 - 3.0 * 64 / makespan(plain(PipelineSchedule::kOneFOneB, 16, 64), one_and_two),
              0.18987, 5e-6);
  EXPECT_NEAR(1 - 3.0 * 256 / makespan(interleaved(16, 64, 4), one_and_two), 0.05535, 5e-6);
}

TEST(PipelineSchedule, InFlightChunksFallByTwoARankWhenInterleaved) {
  const auto in_flight = [](int p, int m, int v) {
    std::vector<int> counts;
    for (const auto& units : lists_of(interleaved(p, m, v)))
      counts.push_back(peak_in_flight(units));
    return counts;
  };
  EXPECT_EQ(in_flight(4, 8, 2), (std::vector<int>{11, 9, 7, 5}));
  EXPECT_EQ(in_flight(4, 8, 4), (std::vector<int>{19, 17, 15, 13}));
  EXPECT_EQ(in_flight(8, 32, 4).front(), 39);
  EXPECT_EQ(in_flight(8, 32, 4).back(), 25);
  EXPECT_EQ(in_flight(16, 64, 4).front(), 79);
  EXPECT_EQ(in_flight(16, 64, 4).back(), 49);
  // Llama 3 405B: 16 stages of 8 one-layer chunks.
  EXPECT_EQ(in_flight(16, 16, 8).front(), 128);
  EXPECT_EQ(in_flight(16, 32, 8).front(), 143);
}

TEST(PipelineSchedule, WarmUpOfMegatronsInterleavedSchedule) {
  const auto warm_up = [](int rank) {
    const auto units = pipeline_units(PipelineSchedule::kInterleaved, 8, 4, 32, rank);
    return std::find_if(units.begin(), units.end(),
                        [](const PipelineUnit& u) { return !u.forward; }) -
           units.begin() - 1;  // the first pair's forward is no warm-up
  };
  EXPECT_EQ(warm_up(0), 38);
  EXPECT_EQ(warm_up(3), 32);
  EXPECT_EQ(warm_up(7), 24);
}

TEST(PipelineSchedule, HeavyLastStagePacesOneForwardOneBackward) {
  const auto heavy_last = [](double factor, int last) {
    return [=](bool forward, int stage) {
      return (forward ? 1.0 : 2.0) * (stage == last ? factor : 1.0);
    };
  };
  const Pipeline even = plain(PipelineSchedule::kOneFOneB, 8, 32);
  EXPECT_EQ(makespan(even, heavy_last(1.25, 7)), 141);
  EXPECT_EQ(makespan(even, heavy_last(1.5, 7)), 165);
  // Interleaved, the heavy chunk weighs only 1/v of the rank: (F+B)(m(v-1+x) + p-1).
  EXPECT_EQ(makespan(interleaved(8, 32, 2), heavy_last(1.5, 15)), 261);
}

// 126 layers as 128 chunks of one layer, embedding and head chunks free.
TEST(PipelineSchedule, FreeEndChunksShortenTheStep) {
  const auto free_ends = [](bool forward, int stage) {
    return stage == 0 || stage == 127 ? 0.0 : (forward ? 1.0 : 2.0);
  };
  EXPECT_EQ(makespan(interleaved(16, 16, 8), free_ends), 423);
  EXPECT_EQ(makespan(interleaved(16, 32, 8), free_ends), 807);
}

RC_GTEST_PROP(PipelineScheduleProperty, EveryUnitRunsOnceAndNothingWaitsForEver, ()) {
  const int p = *rc::gen::inRange(1, 9);
  const int groups = *rc::gen::inRange(1, 5);
  const int v = *rc::gen::inRange(1, 5);
  const auto schedule = *rc::gen::element(PipelineSchedule::kGpipe, PipelineSchedule::kOneFOneB,
                                          PipelineSchedule::kInterleaved);
  const Pipeline pipeline{schedule, p, schedule == PipelineSchedule::kInterleaved ? v : 1,
                          p * groups};
  for (const auto& units : lists_of(pipeline)) {
    std::map<std::tuple<bool, int, int>, int> seen;
    for (const PipelineUnit& unit : units) ++seen[{unit.forward, unit.chunk, unit.microbatch}];
    RC_ASSERT(seen.size() == static_cast<std::size_t>(2 * pipeline.chunks * pipeline.microbatches));
    RC_ASSERT(units.size() == seen.size());
  }
  const double expected = 3.0 * (pipeline.microbatches * pipeline.chunks + p - 1);
  RC_ASSERT(makespan(pipeline, one_and_two) == expected);
}

// Fewer micro-batches than stages: only warm-up and cool-down, in one group; no rank waits for
// ever.
RC_GTEST_PROP(PipelineScheduleProperty, FewMicrobatchesRunThrough, ()) {
  const int p = *rc::gen::inRange(2, 9);
  const int m = *rc::gen::inRange(1, p);
  const int v = *rc::gen::inRange(1, 5);
  const double all = makespan(interleaved(p, m, v), one_and_two);
  RC_ASSERT(all >= 3.0 * (m * v + p - 1));
  RC_ASSERT(makespan(plain(PipelineSchedule::kOneFOneB, p, m), one_and_two) == 3.0 * (m + p - 1));
}

RC_GTEST_PROP(PipelineScheduleProperty, OneForwardOneBackwardHoldsAtMostItsDistanceToTheEnd, ()) {
  const int p = *rc::gen::inRange(1, 17);
  const int m = *rc::gen::inRange(1, 40);
  const int rank = *rc::gen::inRange(0, p);
  RC_ASSERT(peak_in_flight(pipeline_units(PipelineSchedule::kOneFOneB, p, 1, m, rank)) ==
            std::min(m, p - rank));
  RC_ASSERT(peak_in_flight(pipeline_units(PipelineSchedule::kGpipe, p, 1, m, rank)) == m);
}

}  // namespace
}  // namespace foretrain
