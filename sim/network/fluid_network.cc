#include "sim/network/fluid_network.h"

#include <algorithm>
#include <limits>

#include "sim/core/contracts.h"
#include "sim/network/work_time.h"

namespace foretrain {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double cap_or_none(DataRate cap) {
  return cap.bytes_per_second() > 0 ? cap.bytes_per_second() : kInfinity;
}

}  // namespace

FluidNetwork::FluidNetwork(const LinkCapacities& capacities, FluidOptions options)
    : options_(options), links_(capacities.size()), forgotten_bytes_(capacities.size(), 0.0) {
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    links_[i].capacity = capacities[i].bytes_per_second();
    FORETRAIN_EXPECTS(links_[i].capacity >= 0, "capacity must not be negative");
  }
}

void FluidNetwork::check(const ActivitySpec& spec) const {
  FORETRAIN_EXPECTS(spec.work_bytes >= 0 && spec.work_bytes < kInfinity, "work out of range");
  FORETRAIN_EXPECTS(spec.share_weight > 0 && spec.share_weight < kInfinity,
                    "share weight must be positive");
  FORETRAIN_EXPECTS(spec.latency.count() >= 0, "latency must not be negative");
  FORETRAIN_EXPECTS(spec.rate_cap.bytes_per_second() >= 0, "rate cap must not be negative");
  FORETRAIN_EXPECTS(
      !spec.usage.empty() || spec.rate_cap.bytes_per_second() > 0 || spec.work_bytes <= 0,
      "an activity without links needs a rate cap");
}

void FluidNetwork::check(std::span<const LinkUse> usage) const {
  std::int64_t last = -1;
  for (const LinkUse& use : usage) {
    FORETRAIN_EXPECTS(use.link.index() > last, "usage must be sorted by link, without duplicates");
    FORETRAIN_EXPECTS(use.link.position() < links_.size(), "no such link");
    FORETRAIN_EXPECTS(use.weight > 0 && use.weight < kInfinity, "weight must be positive");
    last = use.link.index();
  }
}

ActivityId FluidNetwork::start(SimTime now, const ActivitySpec& spec) {
  check(spec);
  begin_change(now);
  if (classes_.has_garbage()) collect_garbage();
  bool is_new_usage = false;
  const std::int32_t class_id =
      classes_.acquire(spec.usage, cap_or_none(spec.rate_cap), spec.share_weight, is_new_usage);
  if (is_new_usage) check(spec.usage);  // a known one was checked before
  if (active_.size() < classes_.num_ids()) active_.resize(classes_.num_ids());
  const auto [id, slot] = activities_.add();
  Activity& activity = activities_[slot];
  activity = {};
  activity.work = activity.remaining = spec.work_bytes;
  activity.updated = now_;
  activity.flow_start = now_ + spec.latency.count();
  activity.id = id;
  activity.class_id = class_id;
  const EventKey key{from_ps(activity.flow_start), EventPhase::kCompletion, id.index(), 0};
  if (spec.work_bytes <= 0) {
    activity.phase = Phase::kEmpty;
    activity.event = completions_.push(key, slot);
  } else if (spec.latency.count() > 0) {
    activity.event = latencies_.push(key, slot);
  } else {
    join(slot, now_);
    mark_changed(class_id);
  }
  return id;
}

void FluidNetwork::cancel(SimTime now, ActivityId id) {
  begin_change(now);
  const std::int32_t slot = activities_.slot(id);
  const Activity& activity = activities_[slot];
  if (activity.phase == Phase::kFlowing) {
    const double left = activity.remaining - work_in(now_ - activity.updated, activity.rate);
    active(activity.class_id).done += activity.work - std::max(left, 0.0);
    mark_changed(activity.class_id);
    leave(slot);
  } else if (activity.phase == Phase::kEmpty) {
    completions_.cancel(activity.event);
  } else {
    latencies_.cancel(activity.event);
  }
  remove(slot);
}

void FluidNetwork::set_rate_cap(SimTime now, ActivityId id, DataRate cap) {
  begin_change(now);
  const std::int32_t slot = activities_.slot(id);
  Activity& activity = activities_[slot];
  const std::int32_t old_class = activity.class_id;
  FORETRAIN_EXPECTS(cap.bytes_per_second() > 0 || !classes_.usage(old_class).empty(),
                    "an activity without links needs a rate cap");
  const std::int32_t new_class = classes_.acquire_with_cap(old_class, cap_or_none(cap));
  if (active_.size() < classes_.num_ids()) active_.resize(classes_.num_ids());
  if (activity.phase == Phase::kFlowing && new_class != old_class) {
    const bool is_due =
        completions_.contains(activity.event) && completions_.key(activity.event).time <= now;
    const double left = activity.remaining - work_in(now_ - activity.updated, activity.rate);
    activity.remaining = is_due ? 0.0 : std::max(left, 0.0);
    mark_changed(old_class);
    leave(slot);
    activity.class_id = new_class;
    join(slot, now_);
    mark_changed(new_class);
  }
  activity.class_id = new_class;
  classes_.release(old_class);
}

std::optional<SimTime> FluidNetwork::next_completion() {
  return next_completion_until(SimTime::max());
}

std::optional<SimTime> FluidNetwork::next_completion_until(SimTime limit) {
  solve_changes(now_);
  while (!latencies_.empty() && latencies_.top_key().time <= limit &&
         (completions_.empty() || latencies_.top_key().time < completions_.top_key().time)) {
    play_ahead();
  }
  if (completions_.empty() || completions_.top_key().time > limit) return std::nullopt;
  return completions_.top_key().time;
}

std::vector<ActivityId> FluidNetwork::advance(SimTime now) {
  std::vector<ActivityId> completed;
  advance_into(now, completed);
  return completed;
}

void FluidNetwork::advance_into(SimTime now, std::vector<ActivityId>& completed) {
  completed.clear();
  move_to(to_ps(now));
  while (!completions_.empty() && completions_.top_key().time <= now) {
    FORETRAIN_ASSERT(first_ahead_ == ahead_.size(), "nothing may be played ahead of a completion");
    const std::int32_t slot = completions_.pop();
    const Activity& activity = activities_[slot];
    completed.push_back(activity.id);
    active(activity.class_id).done += activity.work;
    if (activity.phase == Phase::kFlowing) {
      mark_changed(activity.class_id);
      leave(slot);
    }
    remove(slot);
  }
}

DataRate FluidNetwork::rate(ActivityId id) {
  solve_changes(now_);
  take_back();
  while (!latencies_.empty() && to_ps(latencies_.top_key().time) <= now_) {
    const std::int32_t slot = latencies_.pop();
    join(slot, now_);
    mark_changed(activities_[slot].class_id);
  }
  solve_changes(now_);
  const Activity& activity = activities_[activities_.slot(id)];
  return DataRate::from_bytes_per_second(activity.phase == Phase::kFlowing ? activity.rate : 0.0);
}

std::span<const double> FluidNetwork::link_bytes() const {
  moved_.assign(static_cast<std::size_t>(activities_.num_slots()), 0.0);
  const auto moved_since = [&](double work, double left, double bytes_per_second,
                               std::int64_t updated) {
    return work - std::max(0.0, left - work_in(now_ - updated, bytes_per_second));
  };
  for (std::int32_t slot = 0; slot < activities_.num_slots(); ++slot) {
    const Activity& a = activities_[slot];
    if (!activities_.is_living(slot) || a.phase != Phase::kFlowing) continue;
    moved_[static_cast<std::size_t>(slot)] = moved_since(a.work, a.remaining, a.rate, a.updated);
  }
  // What was played ahead has not happened yet: the oldest journal entry tells the state of now.
  const std::size_t first =
      first_ahead_ < ahead_.size() ? ahead_[first_ahead_].first_touched : touched_.size();
  for (std::size_t i = touched_.size(); i-- > first;) {
    const Touched& t = touched_[i];
    const Activity& a = activities_[t.slot];
    moved_[static_cast<std::size_t>(t.slot)] = moved_since(a.work, t.remaining, t.rate, t.updated);
  }
  class_bytes_.assign(active_.size(), 0.0);
  for (std::size_t i = 0; i < active_.size(); ++i) class_bytes_[i] = active_[i].done;
  for (std::int32_t slot = 0; slot < activities_.num_slots(); ++slot) {
    const double moved = moved_[static_cast<std::size_t>(slot)];
    if (moved <= 0) continue;
    class_bytes_[static_cast<std::size_t>(activities_[slot].class_id)] += moved;
  }
  link_bytes_ = forgotten_bytes_;
  for (std::size_t i = 0; i < class_bytes_.size(); ++i) {
    if (class_bytes_[i] <= 0) continue;
    for (const LinkUse& use : classes_.usage(static_cast<std::int32_t>(i))) {
      link_bytes_[use.link.position()] += class_bytes_[i] * use.weight;
    }
  }
  return link_bytes_;
}

void FluidNetwork::remove(std::int32_t slot) {
  classes_.release(activities_[slot].class_id);
  activities_.remove(activities_[slot].id);
}

void FluidNetwork::move_to(std::int64_t now) {
  FORETRAIN_EXPECTS(now >= now_, "time must not run backwards");
  if (now == now_) return;
  const std::optional<SimTime> next = next_completion_until(from_ps(now));
  FORETRAIN_EXPECTS(!next || now <= to_ps(*next), "a completion lies before this instant");
  now_ = now;
  confirm(now);
}

void FluidNetwork::begin_change(SimTime now) {
  move_to(to_ps(now));
  take_back();
}

void FluidNetwork::collect_garbage() {
  solve_changes(now_);  // changed_ names classes that may be about to go
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const auto class_id = static_cast<std::int32_t>(i);
    if (active_[i].done <= 0 || classes_.is_referenced(class_id)) continue;
    for (const LinkUse& use : classes_.usage(class_id)) {
      forgotten_bytes_[use.link.position()] += active_[i].done * use.weight;
    }
    active_[i].done = 0;
  }
  classes_.collect();
  memo_.clear();
}

// Plays the next end of a latency phase, which lies before any completion.
void FluidNetwork::play_ahead() {
  const SimTime time = latencies_.top_key().time;
  ahead_.push_back({to_ps(time), touched_.size(), joined_.size(), class_rates_.size()});
  while (!latencies_.empty() && latencies_.top_key().time == time) {
    const std::int32_t slot = latencies_.pop();
    joined_.push_back(slot);
    join(slot, to_ps(time));
    mark_changed(activities_[slot].class_id);
  }
  playing_ahead_ = true;
  solve_changes(to_ps(time));
  playing_ahead_ = false;
}

void FluidNetwork::confirm(std::int64_t now) {
  while (first_ahead_ < ahead_.size() && ahead_[first_ahead_].time <= now) ++first_ahead_;
  if (first_ahead_ < ahead_.size()) return;
  ahead_.clear();
  touched_.clear();
  joined_.clear();
  class_rates_.clear();
  first_ahead_ = 0;
}

void FluidNetwork::take_back() {
  confirm(now_);
  if (first_ahead_ == ahead_.size()) return;
  ++statistics_.rollbacks;
  const Ahead& from = ahead_[first_ahead_];
  for (std::size_t i = touched_.size(); i-- > from.first_touched;) {
    Activity& activity = activities_[touched_[i].slot];
    activity.remaining = touched_[i].remaining;
    activity.rate = touched_[i].rate;
    activity.updated = touched_[i].updated;
    schedule(touched_[i].slot);
  }
  for (std::size_t i = class_rates_.size(); i-- > from.first_class;) {
    active(class_rates_[i].class_id).rate = class_rates_[i].rate;
  }
  for (std::size_t i = joined_.size(); i-- > from.first_joined;) {
    const std::int32_t slot = joined_[i];
    leave(slot);
    Activity& activity = activities_[slot];
    activity.phase = Phase::kLatency;
    activity.event = latencies_.push(
        {from_ps(activity.flow_start), EventPhase::kCompletion, activity.id.index(), 0}, slot);
  }
  ahead_.resize(first_ahead_);
  confirm(now_);
}

std::unique_ptr<FluidNetwork> make_fluid_network(const LinkCapacities& capacities,
                                                 FluidOptions options) {
  return std::make_unique<FluidNetwork>(capacities, options);
}

std::unique_ptr<NetworkModel> make_fluid_network(LinkCapacities capacities) {
  return std::make_unique<FluidNetwork>(capacities, FluidOptions{});
}

}  // namespace foretrain
