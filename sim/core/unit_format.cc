// The half of unit_parser.h that prints.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>

#include "sim/core/unit_parser.h"

namespace foretrain {
namespace {

/// Three digits: 7.61, 12.3, 400; four where rounding or the unit's step of 1024 needs them.
std::string three_digits(double value) {
  const double size = std::abs(value);
  if (size < 9.995) return fmt::format("{:.2f}", value);
  if (size < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

struct DisplayUnit {
  double scale;
  const char* name;
};

/// `units` from large to small; picks the largest in which the rounded number is at least 1.
template <std::size_t N>
std::string format_scaled(double value, const std::array<DisplayUnit, N>& units) {
  for (const DisplayUnit& unit : units) {
    if (std::abs(value) >= unit.scale * 0.9995) {
      return fmt::format("{} {}", three_digits(value / unit.scale), unit.name);
    }
  }
  return fmt::format("{} {}", three_digits(value / units.back().scale), units.back().name);
}

}  // namespace

std::string format_bytes(Bytes size) {
  static constexpr std::array<DisplayUnit, 5> kUnits{
      {{0x1p50, "PiB"}, {0x1p40, "TiB"}, {0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"}}};
  if (std::abs(size.as_double()) < 1024) return fmt::format("{} B", size.count());
  return format_scaled(size.as_double(), kUnits);
}

std::string format_bit_rate(DataRate rate) {
  static constexpr std::array<DisplayUnit, 5> kUnits{
      {{1e12, "Tbit/s"}, {1e9, "Gbit/s"}, {1e6, "Mbit/s"}, {1e3, "kbit/s"}, {1, "bit/s"}}};
  return format_scaled(rate.bits_per_second(), kUnits);
}

std::string format_byte_rate(DataRate rate) {
  static constexpr std::array<DisplayUnit, 5> kUnits{
      {{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}}};
  return format_scaled(rate.bytes_per_second(), kUnits);
}

std::string format_seconds(double seconds) {
  static constexpr std::array<DisplayUnit, 8> kUnits{{{86400, "d"},
                                                      {3600, "h"},
                                                      {60, "min"},
                                                      {1, "s"},
                                                      {1e-3, "ms"},
                                                      {1e-6, "us"},
                                                      {1e-9, "ns"},
                                                      {1e-12, "ps"}}};
  // Below two minutes people compare in seconds.
  if (seconds == 0.0) return "0 s";
  const double size = std::abs(seconds);
  if (size >= 0.9995 && size < 120) return fmt::format("{} s", three_digits(seconds));
  return format_scaled(seconds, kUnits);
}

std::string format_duration(SimDuration duration) { return format_seconds(to_seconds(duration)); }

}  // namespace foretrain
