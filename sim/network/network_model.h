// How transfers share links. One interface for every fidelity: `ideal` (no contention) and `fluid`
// (weighted max-min fair, the default); chunk and packet come later behind the same interface.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace foretrain {

/// `weight` bytes cross the link for each byte of the activity's work.
struct LinkUse {
  LinkId link;
  double weight = 0;
};

/// A transfer, or a whole pipelined collective as ONE coupled activity: all its edges advance
/// together, the slowest paces it. Rates are the weighted max-min fair allocation under
/// sum over activities (weight * rate) <= capacity on every link, rate <= rate_cap.
struct ActivitySpec {
  std::vector<LinkUse> usage;  // sorted by link, no duplicates, weights > 0; may be empty if capped
  double work_bytes = 0;       // >= 0
  DataRate rate_cap;           // 0: none
  double share_weight = 1;     // an activity's claim grows with it (number of flows it stands for)
  SimDuration latency{};       // passes before the first byte moves
};

class NetworkModel {
 public:
  virtual ~NetworkModel() = default;
  /// Starts an activity at `now`. @pre now is not before any earlier call's time.
  virtual ActivityId start(SimTime now, const ActivitySpec& spec) = 0;
  /// Takes an activity out before its end (failure, cancellation).
  virtual void cancel(SimTime now, ActivityId id) = 0;
  /// Scales the rate cap of one running activity (interference with compute). 0 removes the cap.
  virtual void set_rate_cap(SimTime now, ActivityId id, DataRate cap) = 0;
  /// Instant of the next completion, if anything runs. Rounded up to the picosecond.
  [[nodiscard]] virtual std::optional<SimTime> next_completion() = 0;
  /// The same, if it is not after `limit`; else nothing. Cheaper where transfers wait out
  /// latencies, for a caller that has an event of its own at `limit`: the model need not look
  /// further ahead.
  [[nodiscard]] virtual std::optional<SimTime> next_completion_until(SimTime limit) {
    const std::optional<SimTime> next = next_completion();
    return next && *next <= limit ? next : std::nullopt;
  }
  /// Advances to `now` and returns what completed up to then, ordered by (time, id).
  /// @pre now <= next_completion().
  virtual std::vector<ActivityId> advance(SimTime now) = 0;
  /// The same into a caller's buffer, which is cleared first: spares an allocation per event.
  virtual void advance_into(SimTime now, std::vector<ActivityId>& completed) {
    completed = advance(now);
  }
  /// The rate that an activity gets now (0 during its latency).
  [[nodiscard]] virtual DataRate rate(ActivityId id) = 0;
  /// Bytes that crossed each link so far, by link id.
  [[nodiscard]] virtual std::span<const double> link_bytes() const = 0;
};

/// Capacity of each directed link, by link id.
using LinkCapacities = std::vector<DataRate>;

/// Closed form: each activity runs at min(cap, min over its links capacity / weight), alone.
[[nodiscard]] std::unique_ptr<NetworkModel> make_ideal_network(LinkCapacities capacities);
/// Weighted max-min fair sharing; re-solves only the connected component that a change touches.
[[nodiscard]] std::unique_ptr<NetworkModel> make_fluid_network(LinkCapacities capacities);

/// One max-min solve without time: the rate of every activity if all run together. For planning
/// (steady-state rates of a set of collectives). O(incidences * log links).
[[nodiscard]] std::vector<DataRate> max_min_rates(const LinkCapacities& capacities,
                                                  std::span<const ActivitySpec> activities);

}  // namespace foretrain
