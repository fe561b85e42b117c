// No contention: each activity runs as if it were alone.
#include <algorithm>
#include <limits>

#include "sim/core/contracts.h"
#include "sim/engine/event_queue.h"
#include "sim/network/activity_table.h"
#include "sim/network/network_model.h"
#include "sim/network/work_time.h"

namespace foretrain {
namespace {

class IdealNetwork final : public NetworkModel {
 public:
  explicit IdealNetwork(const LinkCapacities& capacities) : done_bytes_(capacities.size(), 0.0) {
    capacity_.reserve(capacities.size());
    for (const DataRate capacity : capacities) capacity_.push_back(capacity.bytes_per_second());
  }

  ActivityId start(SimTime now, const ActivitySpec& spec) override {
    move_to(to_ps(now));
    FORETRAIN_EXPECTS(spec.work_bytes >= 0 && spec.latency.count() >= 0,
                      "work and latency must not be negative");
    const auto [id, slot] = activities_.add();
    Activity& activity = activities_[slot];
    activity.usage.assign(spec.usage.begin(), spec.usage.end());
    activity.id = id;
    activity.work = activity.remaining = spec.work_bytes;
    activity.updated = now_ + spec.latency.count();
    activity.link_bound = kInfinity;
    for (const LinkUse& use : spec.usage) {
      FORETRAIN_EXPECTS(use.link.position() < capacity_.size(), "no such link");
      FORETRAIN_EXPECTS(use.weight > 0, "weight must be positive");
      activity.link_bound =
          std::min(activity.link_bound, capacity_[use.link.position()] / use.weight);
    }
    activity.rate = bounded(activity, spec.rate_cap);
    activity.event = EventHandle{};
    schedule(slot);
    return id;
  }

  void cancel(SimTime now, ActivityId id) override {
    move_to(to_ps(now));
    const std::int32_t slot = activities_.slot(id);
    account(activities_[slot], moved(activities_[slot]), done_bytes_);
    completions_.cancel(activities_[slot].event);
    activities_.remove(id);
  }

  void set_rate_cap(SimTime now, ActivityId id, DataRate cap) override {
    move_to(to_ps(now));
    const std::int32_t slot = activities_.slot(id);
    Activity& activity = activities_[slot];
    if (now_ > activity.updated) {
      activity.remaining = activity.work - moved(activity);
      activity.updated = now_;
    }
    activity.rate = bounded(activity, cap);
    schedule(slot);
  }

  [[nodiscard]] std::optional<SimTime> next_completion() override {
    if (completions_.empty()) return std::nullopt;
    return completions_.top_key().time;
  }

  std::vector<ActivityId> advance(SimTime now) override {
    std::vector<ActivityId> completed;
    advance_into(now, completed);
    return completed;
  }

  void advance_into(SimTime now, std::vector<ActivityId>& completed) override {
    completed.clear();
    move_to(to_ps(now));
    while (!completions_.empty() && completions_.top_key().time <= now) {
      const Activity& activity = activities_[completions_.pop()];
      completed.push_back(activity.id);
      account(activity, activity.work, done_bytes_);
      activities_.remove(activity.id);
    }
  }

  [[nodiscard]] DataRate rate(ActivityId id) override {
    const Activity& activity = activities_[activities_.slot(id)];
    const bool flows = now_ >= activity.updated && activity.work > 0;
    return DataRate::from_bytes_per_second(flows ? activity.rate : 0.0);
  }

  [[nodiscard]] std::span<const double> link_bytes() const override {
    link_bytes_ = done_bytes_;
    for (std::int32_t slot = 0; slot < activities_.num_slots(); ++slot) {
      if (!activities_.is_living(slot)) continue;
      account(activities_[slot], moved(activities_[slot]), link_bytes_);
    }
    return link_bytes_;
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  struct Activity {
    std::vector<LinkUse> usage;
    double work = 0;
    double remaining = 0;  // at `updated`
    double rate = 0;
    double link_bound = 0;
    std::int64_t updated = 0;  // ps; end of the latency at first
    ActivityId id;
    EventHandle event;
  };

  [[nodiscard]] static double bounded(const Activity& activity, DataRate cap) {
    const double limit = cap.bytes_per_second() > 0 ? cap.bytes_per_second() : kInfinity;
    const double rate = std::min(limit, activity.link_bound);
    FORETRAIN_EXPECTS(rate < kInfinity || activity.work <= 0,
                      "an activity without links needs a rate cap");
    return rate;
  }

  [[nodiscard]] double moved(const Activity& activity) const {
    if (now_ <= activity.updated || activity.work <= 0) return activity.work - activity.remaining;
    const double left = activity.remaining - work_in(now_ - activity.updated, activity.rate);
    return activity.work - std::max(left, 0.0);
  }

  static void account(const Activity& activity, double bytes, std::vector<double>& by_link) {
    for (const LinkUse& use : activity.usage) by_link[use.link.position()] += bytes * use.weight;
  }

  void move_to(std::int64_t now) {
    FORETRAIN_EXPECTS(now >= now_, "time must not run backwards");
    FORETRAIN_EXPECTS(completions_.empty() || now <= to_ps(completions_.top_key().time),
                      "a completion lies before this instant");
    now_ = now;
  }

  void schedule(std::int32_t slot) {
    Activity& activity = activities_[slot];
    const std::int64_t duration = work_time_ps(activity.remaining, activity.rate);
    completions_.cancel(activity.event);
    if (duration == kNeverPs) return;
    activity.event = completions_.push(
        {from_ps(activity.updated + duration), EventPhase::kCompletion, activity.id.index(), 0},
        slot);
  }

  std::vector<double> capacity_;  // bytes per second
  std::int64_t now_ = 0;
  ActivityTable<Activity> activities_;
  EventQueue<std::int32_t> completions_;
  std::vector<double> done_bytes_;
  mutable std::vector<double> link_bytes_;
};

}  // namespace

std::unique_ptr<NetworkModel> make_ideal_network(LinkCapacities capacities) {
  return std::make_unique<IdealNetwork>(capacities);
}

}  // namespace foretrain
