// Strong types for the quantities of the simulator. Only meaningful operators exist; a product
// such as Bytes + DataRate does not compile (tests/compile_fail).
#pragma once

#include <chrono>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

#include "sim/core/contracts.h"

namespace foretrain {

/// Span of simulated time: signed 64-bit picoseconds, about +-106 days.
using SimDuration = std::chrono::duration<std::int64_t, std::pico>;

/// The simulated clock. It has no now(): time passes only in the simulation.
struct SimClock {
  using rep = std::int64_t;
  using period = std::pico;
  using duration = SimDuration;
  using time_point = std::chrono::time_point<SimClock>;
  static constexpr bool is_steady = true;
};

/// Instant of simulated time; SimTime{} is the start of the simulation.
using SimTime = SimClock::time_point;

/// Amount of data, in bytes; may be negative only as a difference.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t count) : count_(count) {}
  [[nodiscard]] constexpr std::int64_t count() const { return count_; }
  [[nodiscard]] constexpr double as_double() const { return static_cast<double>(count_); }
  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) {
    count_ += other.count_;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes other) {
    count_ -= other.count_;
    return *this;
  }

 private:
  std::int64_t count_ = 0;
};
[[nodiscard]] constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes{a.count() + b.count()}; }
[[nodiscard]] constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes{a.count() - b.count()}; }
[[nodiscard]] constexpr Bytes operator*(Bytes a, std::int64_t n) { return Bytes{a.count() * n}; }
[[nodiscard]] constexpr Bytes operator*(std::int64_t n, Bytes a) { return a * n; }
/// Quotient rounded up, so that parts of a buffer always cover it. @pre n > 0.
[[nodiscard]] constexpr Bytes divide_up(Bytes a, std::int64_t n) {
  return Bytes{(a.count() + n - 1) / n};
}
[[nodiscard]] constexpr double operator/(Bytes a, Bytes b) { return a.as_double() / b.as_double(); }
[[nodiscard]] constexpr Bytes kibibytes(std::int64_t n) { return Bytes{n * 1024}; }
[[nodiscard]] constexpr Bytes mebibytes(std::int64_t n) { return Bytes{n * 1024 * 1024}; }
[[nodiscard]] constexpr Bytes gibibytes(std::int64_t n) { return Bytes{n * 1024 * 1024 * 1024}; }
[[nodiscard]] constexpr Bytes gigabytes(std::int64_t n) { return Bytes{n * 1'000'000'000}; }

/// A double-valued quantity with a tag; `value()` is in the unit named by the factory's type.
template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}
  [[nodiscard]] constexpr double value() const { return value_; }
  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }

 private:
  double value_ = 0;
};
template <class Tag>
[[nodiscard]] constexpr Quantity<Tag> operator+(Quantity<Tag> a, Quantity<Tag> b) {
  return Quantity<Tag>{a.value() + b.value()};
}
template <class Tag>
[[nodiscard]] constexpr Quantity<Tag> operator-(Quantity<Tag> a, Quantity<Tag> b) {
  return Quantity<Tag>{a.value() - b.value()};
}
template <class Tag>
[[nodiscard]] constexpr Quantity<Tag> operator*(Quantity<Tag> a, double f) {
  return Quantity<Tag>{a.value() * f};
}
template <class Tag>
[[nodiscard]] constexpr Quantity<Tag> operator*(double f, Quantity<Tag> a) {
  return a * f;
}
template <class Tag>
[[nodiscard]] constexpr Quantity<Tag> operator/(Quantity<Tag> a, double f) {
  return Quantity<Tag>{a.value() / f};
}
template <class Tag>
[[nodiscard]] constexpr double operator/(Quantity<Tag> a, Quantity<Tag> b) {
  return a.value() / b.value();
}

/// Bandwidth of a link or memory, or the rate of a transfer. Bits per second inside, since links
/// are quoted in bits and memories in bytes; use the factories and the named accessors.
class DataRate {
 public:
  constexpr DataRate() = default;
  [[nodiscard]] static constexpr DataRate from_bits_per_second(double v) { return DataRate{v}; }
  [[nodiscard]] static constexpr DataRate from_bytes_per_second(double v) {
    return DataRate{v * 8};
  }
  [[nodiscard]] constexpr double bits_per_second() const { return bits_; }
  [[nodiscard]] constexpr double bytes_per_second() const { return bits_ / 8; }
  constexpr auto operator<=>(const DataRate&) const = default;
  constexpr DataRate& operator+=(DataRate other) {
    bits_ += other.bits_;
    return *this;
  }

 private:
  constexpr explicit DataRate(double bits) : bits_(bits) {}
  double bits_ = 0;
};
[[nodiscard]] constexpr DataRate operator+(DataRate a, DataRate b) {
  return DataRate::from_bits_per_second(a.bits_per_second() + b.bits_per_second());
}
[[nodiscard]] constexpr DataRate operator*(DataRate a, double f) {
  return DataRate::from_bits_per_second(a.bits_per_second() * f);
}
[[nodiscard]] constexpr DataRate operator*(double f, DataRate a) { return a * f; }
[[nodiscard]] constexpr DataRate operator/(DataRate a, double f) {
  return DataRate::from_bits_per_second(a.bits_per_second() / f);
}
[[nodiscard]] constexpr double operator/(DataRate a, DataRate b) {
  return a.bits_per_second() / b.bits_per_second();
}
[[nodiscard]] constexpr DataRate gigabits_per_second(double v) {
  return DataRate::from_bits_per_second(v * 1e9);
}
[[nodiscard]] constexpr DataRate gigabytes_per_second(double v) {
  return DataRate::from_bytes_per_second(v * 1e9);
}

/// Floating-point operations (a multiply-add counts two).
using FlopCount = Quantity<struct FlopCountTag>;
/// Floating-point operations per second.
using FlopRate = Quantity<struct FlopRateTag>;
/// Watts.
using Power = Quantity<struct PowerTag>;

[[nodiscard]] constexpr FlopRate teraflops(double v) { return FlopRate{v * 1e12}; }

/// A fraction in [0, 1].
class Ratio {
 public:
  constexpr Ratio() = default;
  /// @pre 0 <= v <= 1.
  [[nodiscard]] static constexpr Ratio of(double v) {
    FORETRAIN_EXPECTS(v >= 0.0 && v <= 1.0, "ratio must lie in [0, 1]");
    return Ratio{v};
  }
  [[nodiscard]] constexpr double value() const { return value_; }
  constexpr auto operator<=>(const Ratio&) const = default;

 private:
  constexpr explicit Ratio(double v) : value_(v) {}
  double value_ = 0;
};

/// Seconds (double) to a duration, rounded up to the picosecond; never zero for positive seconds.
/// @pre seconds is finite, not negative, and below 9e6 (about 104 days).
[[nodiscard]] inline SimDuration duration_from_seconds(double seconds) {
  FORETRAIN_EXPECTS(seconds >= 0.0 && seconds < 9.0e6, "duration out of range");
  return SimDuration{static_cast<std::int64_t>(std::ceil(seconds * 1e12))};
}
/// A duration in seconds, for rates, printing and statistics.
[[nodiscard]] constexpr double to_seconds(SimDuration d) {
  return static_cast<double>(d.count()) * 1e-12;
}
[[nodiscard]] constexpr double to_seconds(SimTime t) { return to_seconds(t.time_since_epoch()); }

/// size / rate, rounded up. @pre rate > 0.
[[nodiscard]] inline SimDuration transfer_time(Bytes size, DataRate rate) {
  FORETRAIN_EXPECTS(rate.bits_per_second() > 0.0, "transfer needs a positive rate");
  return duration_from_seconds(size.as_double() / rate.bytes_per_second());
}
/// work / rate, rounded up. @pre rate > 0.
[[nodiscard]] inline SimDuration compute_time(FlopCount work, FlopRate rate) {
  FORETRAIN_EXPECTS(rate.value() > 0.0, "computation needs a positive rate");
  return duration_from_seconds(work / FlopCount{rate.value()});
}

}  // namespace foretrain
