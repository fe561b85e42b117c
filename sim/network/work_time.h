// From work and rate to picoseconds and back, for all fidelities alike.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "sim/core/units.h"

namespace foretrain {

/// An instant that never comes.
inline constexpr std::int64_t kNeverPs = std::numeric_limits<std::int64_t>::max();

/// Picoseconds to move `work_bytes` at `bytes_per_second`, rounded up; at least 1 for positive
/// work. A product that exceeds a whole number only by rounding errors of a few operations in
/// double precision counts as that number: 16 MiB at 50 GB/s take 335 544 320 ps, not one more.
/// kNeverPs if the rate is 0 or the time exceeds what a SimDuration can hold.
[[nodiscard]] inline std::int64_t work_time_ps(double work_bytes, double bytes_per_second) {
  if (work_bytes <= 0) return 0;
  if (bytes_per_second <= 0) return kNeverPs;
  constexpr double kRoundingErrors = 16 * std::numeric_limits<double>::epsilon();
  constexpr double kAbsoluteSlackPs = 1e-6;  // of a picosecond: below any physical meaning
  constexpr double kLongestPs = 4e18;        // half the range: start instants stay addable
  const double exact = work_bytes * 1e12 / bytes_per_second;
  if (!(exact < kLongestPs)) return kNeverPs;
  const double rounded = std::ceil(exact - (exact * kRoundingErrors + kAbsoluteSlackPs));
  return rounded < 1 ? 1 : static_cast<std::int64_t>(rounded);
}

/// Bytes moved in `ps` picoseconds.
[[nodiscard]] inline double work_in(std::int64_t ps, double bytes_per_second) {
  return bytes_per_second * static_cast<double>(ps) / 1e12;
}

[[nodiscard]] inline std::int64_t to_ps(SimTime time) { return time.time_since_epoch().count(); }
[[nodiscard]] inline SimTime from_ps(std::int64_t ps) { return SimTime{SimDuration{ps}}; }

}  // namespace foretrain
