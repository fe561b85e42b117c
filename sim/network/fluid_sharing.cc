// The part of the fluid network that decides rates: which classes are active where, which component
// a change touches, and what its rates are.
#include <algorithm>
#include <limits>

#include "sim/core/contracts.h"
#include "sim/network/fluid_network.h"
#include "sim/network/work_time.h"

namespace foretrain {

void FluidNetwork::join(std::int32_t slot, std::int64_t time) {
  Activity& activity = activities_[slot];
  activity.phase = Phase::kFlowing;
  activity.updated = time;
  activity.rate = 0;
  activity.event = EventHandle{};  // that of the latency queue means nothing to the other
  ActiveClass& group = active(activity.class_id);
  activity.member = static_cast<std::int32_t>(group.members.size());
  group.members.push_back(slot);
  if (group.members.size() == 1) attach(activity.class_id);
}

void FluidNetwork::leave(std::int32_t slot) {
  Activity& activity = activities_[slot];
  completions_.cancel(activity.event);
  ActiveClass& group = active(activity.class_id);
  const std::int32_t last = group.members.back();
  group.members[static_cast<std::size_t>(activity.member)] = last;
  activities_[last].member = activity.member;
  group.members.pop_back();
  if (group.members.empty()) detach(activity.class_id);
}

// A usage names links all over a large fabric: asking for all of them at once, rather than one
// after the other, hides most of the wait for memory.
void FluidNetwork::prefetch_links(std::span<const LinkUse> usage) const {
  for (const LinkUse& use : usage) __builtin_prefetch(&links_[use.link.position()]);
}

void FluidNetwork::attach(std::int32_t class_id) {
  ActiveClass& group = active(class_id);
  group.usage = classes_.usage(class_id);
  group.content = classes_.content(class_id);
  prefetch_links(group.usage);
  group.places.resize(group.usage.size());
  for (std::size_t i = 0; i < group.usage.size(); ++i) {
    std::vector<LinkMember>& members = links_[group.usage[i].link.position()].members;
    group.places[i] = static_cast<std::int32_t>(members.size());
    members.push_back({class_id, static_cast<std::int32_t>(i)});
  }
}

void FluidNetwork::detach(std::int32_t class_id) {
  const ActiveClass& group = active(class_id);
  prefetch_links(group.usage);
  for (std::size_t i = 0; i < group.usage.size(); ++i) {
    std::vector<LinkMember>& members = links_[group.usage[i].link.position()].members;
    const LinkMember last = members.back();
    members.pop_back();
    if (last.class_id == class_id) continue;
    members[static_cast<std::size_t>(group.places[i])] = last;
    active(last.class_id).places[static_cast<std::size_t>(last.use)] = group.places[i];
  }
}

void FluidNetwork::mark_changed(std::int32_t class_id) {
  if (active(class_id).changed) return;
  active(class_id).changed = true;
  changed_.push_back(class_id);
}

void FluidNetwork::solve_changes(std::int64_t time) {
  if (changed_.empty()) return;
  ++visit_;
  for (const std::int32_t class_id : changed_) {
    if (!active(class_id).members.empty()) {
      visit(class_id);
      gather();
      solve_component(time);
      continue;
    }
    // Gone: what it connected may have fallen apart, so each of its links leads to a component.
    for (const LinkUse& use : classes_.usage(class_id)) {
      visit_link(use.link);
      gather();
      solve_component(time);
    }
  }
  for (const std::int32_t class_id : changed_) active(class_id).changed = false;
  changed_.clear();
}

void FluidNetwork::visit(std::int32_t class_id) {
  ActiveClass& group = active(class_id);
  if (group.visited == visit_) return;
  group.visited = visit_;
  component_.push_back(class_id);
}

void FluidNetwork::visit_link(LinkId id) {
  Link& link = links_[id.position()];
  if (link.visited == visit_) return;
  link.visited = visit_;
  for (const LinkMember& member : link.members) visit(member.class_id);
}

void FluidNetwork::gather() {
  for (std::size_t i = 0; i < component_.size(); ++i) {
    const std::span<const LinkUse> usage = active(component_[i]).usage;
    prefetch_links(usage);
    for (const LinkUse& use : usage) {
      // With no other member the link leads back to where we come from.
      if (links_[use.link.position()].members.size() > 1) visit_link(use.link);
    }
  }
}

// By content, so that sums of rates do not depend on the order in which activities came.
void FluidNetwork::sort_component() {
  if (component_.size() < 2) return;
  by_content_.clear();
  for (const std::int32_t id : component_) by_content_.emplace_back(active(id).content, id);
  std::sort(by_content_.begin(), by_content_.end());
  for (std::size_t i = 0; i < component_.size(); ++i) component_[i] = by_content_[i].second;
}

void FluidNetwork::solve_component(std::int64_t time) {
  if (component_.empty()) return;
  ++statistics_.components;
  sort_component();
  rates_of_component();
  for (std::size_t i = 0; i < component_.size(); ++i) apply(component_[i], rates_[i], time);
  component_.clear();
}

// Fills rates_ with the rate of one activity of each class of component_.
void FluidNetwork::rates_of_component() {
  const bool use_memo = options_.memo && component_.size() > 1;
  if (use_memo) {
    key_.clear();
    for (const std::int32_t id : component_) {
      key_.push_back(RateMemo::word(id, static_cast<std::uint32_t>(active(id).members.size())));
    }
    const std::span<const double> known = memo_.find(key_);
    if (!known.empty()) {
      ++statistics_.memo_hits;
      rates_.assign(known.begin(), known.end());
      return;
    }
  }
  build_problem();
  ++statistics_.solves;
  if (options_.quotient && component_.size() > options_.quotient_threshold &&
      refinement_.refine(problem_)) {
    ++statistics_.quotients;
    solver_.solve(refinement_.quotient(), quotient_rates_);
    rates_.clear();
    for (const std::uint32_t column_class : refinement_.class_of_column()) {
      rates_.push_back(quotient_rates_[column_class]);
    }
  } else {
    solver_.solve(problem_, rates_);
  }
  if (use_memo) memo_.remember(key_, rates_);
}

// A link that one class has for itself only bounds that class; the others become links of the
// problem.
void FluidNetwork::build_problem() {
  problem_.clear();
  ++problem_number_;
  for (const std::int32_t id : component_) {
    const auto multiplicity = static_cast<double>(active(id).members.size());
    double cap = classes_.cap(id);
    for (const LinkUse& use : active(id).usage) {
      Link& link = links_[use.link.position()];
      if (link.members.size() == 1) {
        cap = std::min(cap, link.capacity / (multiplicity * use.weight));
        continue;
      }
      if (link.numbered != problem_number_) {
        link.numbered = problem_number_;
        link.number = problem_.add_link(link.capacity);
      }
      problem_.add_entry(link.number, use.weight);
    }
    problem_.end_column(classes_.share(id), cap, multiplicity);
  }
}

void FluidNetwork::apply(std::int32_t class_id, double rate, std::int64_t time) {
  ActiveClass& group = active(class_id);
  if (group.rate == rate && !group.changed) return;
  if (playing_ahead_) class_rates_.push_back({class_id, group.rate});
  group.rate = rate;
  for (const std::int32_t slot : group.members) set_rate(slot, rate, time);
}

void FluidNetwork::set_rate(std::int32_t slot, double rate, std::int64_t time) {
  Activity& activity = activities_[slot];
  const bool is_scheduled = completions_.contains(activity.event);
  if (activity.rate == rate && is_scheduled) return;
  if (is_scheduled && to_ps(completions_.key(activity.event).time) <= time) return;  // done now
  if (playing_ahead_) {
    touched_.push_back({slot, activity.remaining, activity.rate, activity.updated});
  }
  const double left = activity.remaining - work_in(time - activity.updated, activity.rate);
  activity.remaining = std::max(left, 0.0);
  activity.updated = time;
  activity.rate = rate;
  schedule(slot);
}

// Puts the completion where remaining work and rate say.
void FluidNetwork::schedule(std::int32_t slot) {
  Activity& activity = activities_[slot];
  const std::int64_t duration = work_time_ps(activity.remaining, activity.rate);
  if (duration > kNeverPs - activity.updated) {
    completions_.cancel(activity.event);
    return;
  }
  const EventKey key{from_ps(activity.updated + duration), EventPhase::kCompletion,
                     activity.id.index(), 0};
  if (completions_.contains(activity.event)) {
    completions_.reschedule(activity.event, key);
  } else {
    activity.event = completions_.push(key, slot);
  }
}

std::vector<DataRate> max_min_rates(const LinkCapacities& capacities,
                                    std::span<const ActivitySpec> activities) {
  FluidNetwork network{capacities, FluidOptions{}};
  std::vector<ActivityId> ids;
  for (ActivitySpec spec : activities) {
    spec.latency = SimDuration{};
    spec.work_bytes = 1;  // rates do not depend on it
    ids.push_back(network.start(SimTime{}, spec));
  }
  std::vector<DataRate> rates;
  for (const ActivityId id : ids) rates.push_back(network.rate(id));
  return rates;
}

}  // namespace foretrain
