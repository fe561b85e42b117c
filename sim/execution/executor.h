// Runs an execution plan: a discrete-event loop over actors, with the network as the only shared
// resource.
#pragma once

#include <functional>
#include <vector>

#include "sim/execution/execution_plan.h"
#include "sim/network/network_model.h"

namespace foretrain {

struct ActorTimes {
  TimeBreakdown breakdown;  // up to the actor's own end
  SimTime end{};
};

struct Execution {
  SimTime end{};
  bool deadlocked = false;
  std::vector<ActorTimes> actors;
  std::vector<double> link_bytes;  // by compressed link
  std::int64_t events = 0;
  std::uint64_t fingerprint = 0;
};

/// Progress hook: instructions done and in all. Called a few hundred times at most; never affects
/// results.
using ProgressHook = std::function<void(std::int64_t done, std::int64_t total)>;

/// Executes the plan on the given network (made for plan.capacities).
/// Each actor runs its instructions in order. kCompute takes the segment's seconds / speed, longer
/// while collectives slow it down; kStart arrives at an op without waiting; kWait blocks until the
/// op is done. An op begins when `needed` arrivals have come and all ops ordered
/// before it are done.
[[nodiscard]] Execution execute(const ExecutionPlan& plan, NetworkModel& network,
                                const ProgressHook& progress = {});

}  // namespace foretrain
