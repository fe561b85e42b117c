// Activities by id. Ids count up and are never reused; the records behind them are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/core/contracts.h"
#include "sim/core/ids.h"

namespace foretrain {

/// Maps growing ids to recycled records. Memory follows the span between the oldest and the newest
/// living activity, not the number of activities ever started. All operations are O(1) amortised.
template <class Record>
class ActivityTable {
 public:
  struct Entry {
    ActivityId id;
    std::int32_t slot;
  };

  /// A record whose content is left over from an earlier activity (so are its buffers).
  Entry add() {
    FORETRAIN_EXPECTS(next_id_ < std::numeric_limits<std::int32_t>::max(), "too many activities");
    std::int32_t slot = 0;
    if (free_.empty()) {
      slot = static_cast<std::int32_t>(records_.size());
      records_.emplace_back();
      living_.push_back(0);
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    living_[static_cast<std::size_t>(slot)] = 1;
    window_.push_back(slot);
    return {ActivityId{next_id_++}, slot};
  }

  void remove(ActivityId id) {
    std::int32_t& entry = window_[offset(id)];
    living_[static_cast<std::size_t>(entry)] = 0;
    free_.push_back(entry);
    entry = kGone;
    while (first_ < window_.size() && window_[first_] == kGone) ++first_;
    if (first_ > kSmallWindow && first_ * 2 > window_.size()) {
      window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(first_));
      base_ += static_cast<std::int32_t>(first_);
      first_ = 0;
    }
  }

  [[nodiscard]] bool contains(ActivityId id) const {
    return id.index() >= base_ && id.index() < next_id_ &&
           window_[static_cast<std::size_t>(id.index() - base_)] != kGone;
  }
  [[nodiscard]] std::int32_t slot(ActivityId id) const { return window_[offset(id)]; }
  [[nodiscard]] Record& operator[](std::int32_t slot) {
    return records_[static_cast<std::size_t>(slot)];
  }
  [[nodiscard]] const Record& operator[](std::int32_t slot) const {
    return records_[static_cast<std::size_t>(slot)];
  }
  [[nodiscard]] std::int32_t num_slots() const {
    return static_cast<std::int32_t>(records_.size());
  }
  [[nodiscard]] bool is_living(std::int32_t slot) const {
    return living_[static_cast<std::size_t>(slot)] != 0;
  }

 private:
  static constexpr std::int32_t kGone = -1;
  static constexpr std::size_t kSmallWindow =
      1024;  // below it, compacting costs more than it frees

  [[nodiscard]] std::size_t offset(ActivityId id) const {
    FORETRAIN_EXPECTS(contains(id), "no such activity in flight");
    return static_cast<std::size_t>(id.index() - base_);
  }

  std::vector<Record> records_;
  std::vector<std::uint8_t> living_;
  std::vector<std::int32_t> free_;
  std::vector<std::int32_t> window_;  // slot by id - base_
  std::size_t first_ = 0;             // all before it are gone
  std::int32_t base_ = 0;
  std::int32_t next_id_ = 0;
};

}  // namespace foretrain
