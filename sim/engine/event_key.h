// The total order of events. It depends on simulated quantities only, so that the order in which
// code happens to schedule events can never change a result.
#pragma once

#include <compare>
#include <cstdint>

#include "sim/core/units.h"

namespace foretrain {

/// What happens first among events of one instant. A new value needs a written reason here.
enum class EventPhase : std::int32_t {
  /// Ends of transfers and computations: what they release is visible to all that starts then.
  kCompletion = 0,
  /// Everything that reacts: starts, arrivals, decisions.
  kAction = 1,
};

/// Orders by (time, phase, entity, sequence). `entity` is the dense id of whom the event concerns;
/// `sequence` counts the events of that entity. Two pending events must not have equal keys.
struct EventKey {
  SimTime time{};
  EventPhase phase = EventPhase::kCompletion;
  std::int32_t entity = 0;
  std::int64_t sequence = 0;

  constexpr auto operator<=>(const EventKey&) const = default;
};

}  // namespace foretrain
