// The fluid network with its switches and counters, for tests and benchmarks. Others use
// make_fluid_network of network_model.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/engine/event_queue.h"
#include "sim/network/activity_table.h"
#include "sim/network/colour_refinement.h"
#include "sim/network/max_min_solver.h"
#include "sim/network/network_model.h"
#include "sim/network/rate_memo.h"
#include "sim/network/usage_classes.h"

namespace foretrain {

/// Shortcuts of the solver. None changes a rate by more than rounding.
struct FluidOptions {
  bool memo = true;                     // remember the rates of recurring sets
  bool quotient = true;                 // solve large symmetric components on their colour classes
  std::size_t quotient_threshold = 64;  // active classes of a component above which to try
};

/// How much work the network did.
struct FluidStatistics {
  std::int64_t components = 0;  // components whose rates were asked for
  std::int64_t memo_hits = 0;
  std::int64_t solves = 0;     // by progressive filling
  std::int64_t quotients = 0;  // of these, on colour classes
  std::int64_t rollbacks = 0;  // looks ahead that a change made void
};

/// Weighted max-min fair sharing over time.
///
/// State is kept per class of identical activities (UsageClasses): links list the active classes
/// that cross them, so the k-th identical transfer costs no incidence. Changes are collected; the
/// first question about rates or completions solves, once, each component that they touched.
///
/// Activities in their latency phase join at a later instant. next_completion() must see past such
/// instants, so it plays them and keeps a journal; a change that comes before them takes them back.
class FluidNetwork final : public NetworkModel {
 public:
  FluidNetwork(const LinkCapacities& capacities, FluidOptions options);

  ActivityId start(SimTime now, const ActivitySpec& spec) override;
  void cancel(SimTime now, ActivityId id) override;
  void set_rate_cap(SimTime now, ActivityId id, DataRate cap) override;
  [[nodiscard]] std::optional<SimTime> next_completion() override;
  [[nodiscard]] std::optional<SimTime> next_completion_until(SimTime limit) override;
  std::vector<ActivityId> advance(SimTime now) override;
  void advance_into(SimTime now, std::vector<ActivityId>& completed) override;
  [[nodiscard]] DataRate rate(ActivityId id) override;
  [[nodiscard]] std::span<const double> link_bytes() const override;

  [[nodiscard]] const FluidStatistics& statistics() const { return statistics_; }

 private:
  enum class Phase : std::uint8_t { kLatency, kFlowing, kEmpty };  // kEmpty: no bytes to move
  struct Activity {
    double work = 0;
    double remaining = 0;  // at `updated`
    double rate = 0;
    std::int64_t updated = 0;     // ps
    std::int64_t flow_start = 0;  // ps, end of the latency
    ActivityId id;
    std::int32_t class_id = 0;
    std::int32_t member = 0;  // position among the class's members while flowing
    EventHandle event;        // in completions_ or latencies_
    Phase phase = Phase::kLatency;
  };
  struct ActiveClass {
    std::vector<std::int32_t> members;  // slots
    std::span<const LinkUse> usage;     // of UsageClasses, near at hand while active
    std::uint64_t content = 0;          // likewise
    std::uint64_t visited = 0;
    std::vector<std::int32_t> places;  // position in the list of each link of its usage
    double rate = 0;
    double done = 0;  // bytes of work of members that ended
    bool changed = false;
  };
  struct LinkMember {
    std::int32_t class_id;
    std::int32_t use;  // index in the class's usage
  };
  // All that a solve asks about a link lies in one cache line.
  struct alignas(64) Link {
    std::vector<LinkMember> members;  // active classes
    double capacity = 0;              // bytes per second
    std::uint64_t visited = 0;
    std::uint64_t numbered = 0;  // problem in which it is link `number`
    std::uint32_t number = 0;
  };
  // Journal of one instant played ahead of `now_`.
  struct Ahead {
    std::int64_t time;
    std::size_t first_touched, first_joined, first_class;
  };
  struct Touched {
    std::int32_t slot;
    double remaining, rate;
    std::int64_t updated;
  };
  struct ClassRate {
    std::int32_t class_id;
    double rate;
  };

  void check(const ActivitySpec& spec) const;
  void check(std::span<const LinkUse> usage) const;
  /// Moves the clock; changes at earlier instants take effect before.
  void move_to(std::int64_t now);
  void begin_change(SimTime now);  // move_to, and nothing stays played ahead
  void collect_garbage();

  void join(std::int32_t slot, std::int64_t time);
  void leave(std::int32_t slot);
  void attach(std::int32_t class_id);
  void detach(std::int32_t class_id);
  void mark_changed(std::int32_t class_id);
  void remove(std::int32_t slot);

  void solve_changes(std::int64_t time);
  void prefetch_links(std::span<const LinkUse> usage) const;
  void visit(std::int32_t class_id);
  void visit_link(LinkId link);
  void gather();  // completes component_ by breadth-first search
  void sort_component();
  void solve_component(std::int64_t time);
  void rates_of_component();
  void build_problem();
  void apply(std::int32_t class_id, double rate, std::int64_t time);
  void set_rate(std::int32_t slot, double rate, std::int64_t time);
  void schedule(std::int32_t slot);

  void play_ahead();
  void confirm(std::int64_t now);
  void take_back();

  [[nodiscard]] ActiveClass& active(std::int32_t class_id) {
    return active_[static_cast<std::size_t>(class_id)];
  }

  FluidOptions options_;
  FluidStatistics statistics_;
  std::int64_t now_ = 0;

  ActivityTable<Activity> activities_;
  UsageClasses classes_;
  std::vector<ActiveClass> active_;  // by class id
  std::vector<Link> links_;
  EventQueue<std::int32_t> completions_, latencies_;  // slots

  std::vector<std::int32_t> changed_;  // classes
  std::uint64_t visit_ = 0;
  std::vector<std::int32_t> component_;  // classes
  std::vector<std::pair<std::uint64_t, std::int32_t>> by_content_;
  std::vector<std::uint64_t> key_;
  std::vector<double> rates_, quotient_rates_;
  MaxMinProblem problem_;
  std::uint64_t problem_number_ = 0;
  MaxMinSolver solver_;
  ColourRefinement refinement_;
  RateMemo memo_;

  bool playing_ahead_ = false;
  std::vector<Ahead> ahead_;
  std::size_t first_ahead_ = 0;  // earlier ones are confirmed
  std::vector<Touched> touched_;
  std::vector<std::int32_t> joined_;
  std::vector<ClassRate> class_rates_;

  std::vector<double> forgotten_bytes_;  // of classes no longer known, by link
  mutable std::vector<double> link_bytes_, moved_, class_bytes_;  // scratch of link_bytes()
};

[[nodiscard]] std::unique_ptr<FluidNetwork> make_fluid_network(const LinkCapacities& capacities,
                                                               FluidOptions options);

}  // namespace foretrain
