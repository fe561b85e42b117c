// A step bound to a machine: who computes what in which order, and which transfers it starts and
// waits for. No time has passed in it yet. Made by plan_execution (planner.h), run by execute
// (executor.h).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/execution/simulation_result.h"
#include "sim/network/network_model.h"

namespace foretrain {

/// A stretch of work on a GPU's compute stream, with what it consists of.
struct Segment {
  TimeBreakdown seconds;      // alone on the GPU
  double slowdown_share = 1;  // share of it that slows down while a collective holds SMs
};

/// Transfers with the same route share a pattern: usage of the (compressed) links.
struct CommPattern {
  std::vector<LinkUse> usage;
};

/// One transfer: a pipeline message or a collective.
struct CommOp {
  int pattern = -1;  // -1: nothing moves, only latency and rendezvous
  double work_bytes = 0;
  DataRate rate_cap;
  SimDuration latency{};
  TimeKind kind = TimeKind::kData;
  float compute_slowdown = 1;  // factor on overlapped compute of its members
  int group = 0;               // members: ExecutionPlan::groups[group]
  int needed = 1;              // arrivals (kStart instructions) before it may begin
};

enum class InstructionKind : std::uint8_t { kCompute, kStart, kWait };

struct Instruction {
  InstructionKind kind = InstructionKind::kCompute;
  int index = 0;  // segment, or op
};

/// A rank, or a class of ranks that cannot be told apart.
struct Actor {
  int pipeline_rank = 0;
  double speed = 1.0;  // of its GPU (faults)
  std::vector<Instruction> program;
};

struct ExecutionPlan {
  std::vector<Segment> segments;
  std::vector<CommPattern> patterns;
  std::vector<CommOp> ops;
  /// (before, after): `after` may begin only when `before` is done (one communicator, one stream).
  std::vector<std::pair<int, int>> order;
  std::vector<std::vector<int>> groups;  // members (actors) of each op's group
  std::vector<Actor> actors;
  LinkCapacities capacities;                    // of the compressed links
  std::vector<std::vector<LinkId>> link_class;  // compressed link -> real links
  bool folded = true;
  bool fold_exact = true;
  /// Checks internal consistency: indices in range, every op has enough arrivals. Aborts if not.
  void check() const;
};

}  // namespace foretrain
