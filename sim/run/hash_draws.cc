#include "sim/run/hash_draws.h"

#include <algorithm>
#include <utility>

#include "sim/core/random_stream.h"
#include "sim/network/network_model.h"

namespace foretrain {
namespace {

/// At least nine draws, whose ends stand for the 10th and 90th percentile, or none but the first.
constexpr std::int64_t kFewestDraws = 9, kMostDraws = 33;
/// Events and uses of links of all draws together: about five seconds.
constexpr std::int64_t kMostWork = 3'600'000;

bool uses_switch_links(const Topology& topology, const ExecutionPlan& plan) {
  return std::any_of(plan.link_class.begin(), plan.link_class.end(), [&](const auto& members) {
    return std::any_of(members.begin(), members.end(), [&](LinkId link) {
      return topology.link(link).tier == LinkTier::kInterSwitch;
    });
  });
}

std::int64_t work_of(const PlannedExecution& step) {
  std::int64_t work =
      step.execution.events + static_cast<std::int64_t>(step.planned.chunk_transfers);
  for (const auto& members : step.planned.plan.link_class)
    work += static_cast<std::int64_t>(members.size());
  return work;
}

/// An odd number, so that one of them is the median.
std::uint64_t draws_within_budget(std::int64_t work) {
  const std::int64_t affordable = std::min(kMostDraws, kMostWork / std::max<std::int64_t>(1, work));
  if (affordable < kFewestDraws) return 1;
  return static_cast<std::uint64_t>((affordable - 1) / 2 * 2 + 1);
}

std::uint64_t seed_of_draw(std::uint64_t seed, std::uint64_t draw) {
  return draw == 0 ? seed : RandomStream{seed, RandomPurpose::kEcmpHash}.bits(draw, 0);
}

}  // namespace

PlannedExecution StepRunner::run() const {
  const bool contention = scenario.fidelity != Fidelity::kIdeal;
  const bool by_chunk = scenario.fidelity == Fidelity::kChunk;
  const PlanInputs inputs{*scenario.job, *machine.topology, *machine.router,   *machine.collectives,
                          compute,       interference,      machine.gpu_speed, machine.link_speed,
                          options.fold,  contention,        by_chunk};
  PlannedExecution step;
  step.planned = plan_execution(inputs);
  for (Diagnostic& problem : step.planned.problems) problem.location.file = scenario.file;
  if (!step.planned.problems.empty()) return step;
  const LinkCapacities& capacities = step.planned.plan.capacities;
  const std::unique_ptr<NetworkModel> network =
      contention ? make_fluid_network(capacities) : make_ideal_network(capacities);
  step.execution = execute(step.planned.plan, *network, options.progress);
  return step;
}

StepOfDraws run_draws(const StepRunner& runner) {
  StepOfDraws result;
  result.reported = runner.run();
  const auto seconds = [](const PlannedExecution& step) { return to_seconds(step.execution.end); };
  if (!result.reported.planned.problems.empty()) return result;
  result.seconds = {seconds(result.reported)};
  result.hashed = runner.scenario.cluster.fabric.routing == Routing::kEcmp &&
                  runner.scenario.fidelity != Fidelity::kIdeal &&
                  uses_switch_links(*runner.machine.topology, result.reported.planned.plan);
  if (!result.hashed || result.reported.execution.deadlocked) return result;
  const std::uint64_t count = draws_within_budget(work_of(result.reported));
  std::vector<std::pair<double, std::uint64_t>> draws{{result.seconds.front(), 0}};
  const std::uint64_t seed = runner.scenario.seed;
  std::uint64_t routed = 0;
  for (std::uint64_t draw = 1; draw < count; ++draw) {
    redraw_routes(runner.machine, runner.scenario, seed_of_draw(seed, draw));
    routed = draw;
    draws.emplace_back(seconds(runner.run()), draw);
  }
  std::sort(draws.begin(), draws.end());
  result.seconds.clear();
  for (const auto& draw : draws) result.seconds.push_back(draw.first);
  const std::uint64_t median = draws[draws.size() / 2].second;
  if (median == 0) return result;
  if (median != routed) redraw_routes(runner.machine, runner.scenario, seed_of_draw(seed, median));
  result.reported = runner.run();
  return result;
}

}  // namespace foretrain
