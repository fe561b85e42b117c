#include "sim/engine/event_queue.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <tuple>
#include <vector>

#include "sim/core/random_stream.h"
#include "tests/unit/engine/allocation_counter.h"

namespace foretrain {
namespace {

SimTime at_ps(std::int64_t ps) { return SimTime{SimDuration{ps}}; }

EventKey key_of(std::int64_t ps, std::int32_t phase, std::int32_t entity, std::int64_t sequence) {
  return {at_ps(ps), static_cast<EventPhase>(phase), entity, sequence};
}

// The four fields decide in the order that the determinism rule names.
TEST(EventKey, OrdersByTimeThenPhaseThenEntityThenSequence) {
  const std::vector<EventKey> ascending = {key_of(1, 1, 9, 9), key_of(2, 0, 9, 9),
                                           key_of(2, 1, 3, 9), key_of(2, 1, 4, 0),
                                           key_of(2, 1, 4, 1)};
  for (std::size_t i = 0; i + 1 < ascending.size(); ++i) EXPECT_LT(ascending[i], ascending[i + 1]);
}

// Oracle: an unsorted list that is searched linearly.
class NaiveQueue {
 public:
  void push(const EventKey& key, int payload) { events_.push_back({key, payload}); }
  bool erase(int payload) {
    const auto at = find(payload);
    if (at == events_.end()) return false;
    events_.erase(at);
    return true;
  }
  void move(int payload, const EventKey& key) { find(payload)->key = key; }
  int pop() {
    auto least = events_.begin();
    for (auto at = events_.begin(); at != events_.end(); ++at) {
      if (at->key < least->key) least = at;
    }
    const int payload = least->payload;
    events_.erase(least);
    return payload;
  }
  [[nodiscard]] bool has(int payload) { return find(payload) != events_.end(); }
  [[nodiscard]] std::size_t size() const { return events_.size(); }

 private:
  struct Event {
    EventKey key;
    int payload;
  };
  std::vector<Event>::iterator find(int payload) {
    return std::find_if(events_.begin(), events_.end(),
                        [&](const Event& event) { return event.payload == payload; });
  }
  std::vector<Event> events_;
};

RC_GTEST_PROP(EventQueue, AgreesWithLinearSearch, ()) {
  // Small ranges of time, phase and entity make ties the rule, not the exception.
  const auto commands = *rc::gen::container<std::vector<std::tuple<int, int, int, int>>>(
      rc::gen::tuple(rc::gen::inRange(0, 6), rc::gen::inRange(0, 5), rc::gen::inRange(0, 4),
                     rc::gen::inRange(0, 1000)));
  EventQueue<int> queue;
  NaiveQueue oracle;
  std::vector<EventHandle> handles;
  for (const auto& [command, time, entity, pick] : commands) {
    const int next = static_cast<int>(handles.size());
    const int chosen = handles.empty() ? 0 : pick % next;
    const EventKey key = key_of(time, entity % 2, entity, next + pick * 10000LL);
    if (command <= 2 || handles.empty()) {
      handles.push_back(queue.push(key, next));
      oracle.push(key, next);
    } else if (command == 3 && !queue.empty()) {
      RC_ASSERT(queue.pop() == oracle.pop());
    } else if (command == 4) {
      RC_ASSERT(queue.cancel(handles[static_cast<std::size_t>(chosen)]) == oracle.erase(chosen));
    } else if (oracle.has(chosen)) {
      queue.reschedule(handles[static_cast<std::size_t>(chosen)], key);
      RC_ASSERT(queue.key(handles[static_cast<std::size_t>(chosen)]) == key);
      oracle.move(chosen, key);
    }
    RC_ASSERT(queue.size() == oracle.size());
  }
  while (!queue.empty()) RC_ASSERT(queue.pop() == oracle.pop());
}

RC_GTEST_PROP(EventQueue, OrderOfPushingDoesNotMatter, (std::vector<std::int16_t> times)) {
  EventQueue<int> forward, backward;
  const int count = static_cast<int>(times.size());
  for (int i = 0; i < count; ++i) {
    forward.push(key_of(times[static_cast<std::size_t>(i)] / 64, 0, i, 0), i);
  }
  for (int i = count - 1; i >= 0; --i) {
    backward.push(key_of(times[static_cast<std::size_t>(i)] / 64, 0, i, 0), i);
  }
  while (!forward.empty()) RC_ASSERT(forward.pop() == backward.pop());
}

TEST(EventQueue, HandlesOfPastEventsAreHarmless) {
  EventQueue<int> queue;
  const EventHandle first = queue.push(key_of(1, 0, 0, 0), 1);
  EXPECT_TRUE(queue.contains(first));
  queue.pop();
  const EventHandle second = queue.push(key_of(2, 0, 0, 0), 2);  // takes the same slot
  EXPECT_FALSE(queue.contains(first));
  EXPECT_FALSE(queue.cancel(first));
  EXPECT_FALSE(queue.contains(EventHandle{}));
  EXPECT_TRUE(queue.cancel(second));
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, DoesNotAllocateInSteadyState) {
  const RandomStream random{7, RandomPurpose::kTest};
  EventQueue<int> queue;
  std::int64_t now = 0;
  for (int i = 0; i < 500; ++i) queue.push(key_of(i, 0, i, 0), i);
  const std::int64_t before = testing::num_allocations();
  for (int i = 0; i < 20'000; ++i) {
    now = queue.top_key().time.time_since_epoch().count();
    const int entity = queue.pop();
    const auto delay =
        static_cast<std::int64_t>(random.below(1000, 0, static_cast<std::uint64_t>(i)));
    const EventHandle handle = queue.push(key_of(now + delay, 0, entity, i), entity);
    queue.reschedule(handle, key_of(now + delay / 2, 0, entity, i));
  }
  EXPECT_EQ(testing::num_allocations(), before);
}

// One server, Poisson arrivals at rate lambda, first come first served, driven by the queue:
// arrivals and departures are events. Time unit: one nanosecond per unit of mean service.
double mean_waiting_time(double lambda, bool fixed_service, int num_customers) {
  const RandomStream random{20261201, RandomPurpose::kTest};
  const auto exponential = [&](std::uint64_t entity, int index) {
    return -std::log1p(-random.uniform(entity, static_cast<std::uint64_t>(index)));
  };
  constexpr double kUnit = 1e6;  // ticks per mean service time: rounding is below 1e-6 of it
  const auto ticks = [&](double value) { return static_cast<std::int64_t>(value * kUnit); };
  enum Kind { kDeparture, kArrival };
  EventQueue<Kind> events;
  std::deque<std::int64_t> waiting;
  bool busy = false;
  double total_wait = 0;
  int arrived = 0, begun = 0;
  const auto begin_service = [&](std::int64_t now) {
    total_wait += static_cast<double>(now - waiting.front()) / kUnit;
    waiting.pop_front();
    busy = true;
    const double service = fixed_service ? 1.0 : exponential(2, begun);
    events.push(key_of(now + ticks(service), 0, 0, begun++), kDeparture);
  };
  events.push(key_of(0, 1, 1, 0), kArrival);
  while (!events.empty()) {
    const std::int64_t now = events.top_key().time.time_since_epoch().count();
    if (events.pop() == kDeparture) {
      busy = false;
    } else {
      waiting.push_back(now);
      if (++arrived < num_customers) {
        events.push(key_of(now + ticks(exponential(1, arrived) / lambda), 1, 1, arrived), kArrival);
      }
    }
    if (!busy && !waiting.empty()) begin_service(now);
  }
  return total_wait / num_customers;
}

// Pollaczek and Khinchine: W = lambda E[S^2] / (2 (1 - rho)). With mean service 1 and rho = 0.5:
// exponential service E[S^2] = 2: W = 1; fixed service E[S^2] = 1: W = 0.5. The standard error of
// the mean of n correlated waits is sd * sqrt((1 + r) / ((1 - r) n)); at rho = 0.5 (sd = sqrt(3),
// correlation time about 10 customers) and n = 400 000 that is below 0.012.
TEST(QueueingTheory, WaitOfSingleServerMatchesClosedForm) {
  constexpr double kFourStandardErrors = 0.05;
  EXPECT_NEAR(mean_waiting_time(0.5, false, 400'000), 1.0, kFourStandardErrors);
  EXPECT_NEAR(mean_waiting_time(0.5, true, 400'000), 0.5, kFourStandardErrors);
}

// rho = 0.8: W = 0.8 / 0.2 = 4 (exponential) and 2 (fixed); longer correlation, wider tolerance.
TEST(QueueingTheory, WaitGrowsWithLoadAsClosedFormSays) {
  constexpr double kRelativeError = 0.06;
  EXPECT_NEAR(mean_waiting_time(0.8, false, 600'000), 4.0, 4.0 * kRelativeError);
  EXPECT_NEAR(mean_waiting_time(0.8, true, 600'000), 2.0, 2.0 * kRelativeError);
}

}  // namespace
}  // namespace foretrain
