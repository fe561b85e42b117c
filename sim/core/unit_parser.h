// Text to quantity and back. A number without a unit, or with an ambiguous one, is an error that
// names the spellings it could mean. Integers are parsed as decimal digits, never through double.
#pragma once

#include <string>
#include <string_view>

#include "sim/core/diagnostics.h"
#include "sim/core/units.h"

namespace foretrain {

/// What is wrong with a text, and what to write instead; the caller adds place and path.
struct UnitError {
  std::string message;
  std::string hint;
};
template <class T>
using UnitResult = tl::expected<T, UnitError>;

/// "80 GiB", "512 MB", "4096 B". Accepts B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB. Not
/// negative. A fraction of a byte that a larger unit leaves is rounded up; "1.5 B" is an error.
[[nodiscard]] UnitResult<Bytes> parse_bytes(std::string_view text);
/// "400 Gbit/s", "900 GB/s", "32 GiB/s". bit/s, kbit/s … Tbit/s; B/s, kB/s … TB/s, KiB/s … TiB/s.
/// Positive; the double nearest to the decimal text.
[[nodiscard]] UnitResult<DataRate> parse_data_rate(std::string_view text);
/// "1.5 us", "600 ns", "30 min", "2 h", "10 s", "7 d". ps, ns, us, ms, s, min, h, d. Not negative.
/// Rounded up to the picosecond; "0.5 ps" is an error.
[[nodiscard]] UnitResult<SimDuration> parse_duration(std::string_view text);
/// "989.4 TFLOP/s". GFLOP/s, TFLOP/s, PFLOP/s. Positive.
[[nodiscard]] UnitResult<FlopRate> parse_flop_rate(std::string_view text);
/// "700 W", "10.2 kW", "1.4 MW". Not negative.
[[nodiscard]] UnitResult<Power> parse_power(std::string_view text);
/// "50 %" gives 0.5. From 0 % to 100 %.
[[nodiscard]] UnitResult<Ratio> parse_ratio(std::string_view text);
/// "10 %" gives 0.1; any size not negative (tolerances may exceed 100 %).
[[nodiscard]] UnitResult<double> parse_percent(std::string_view text);

/// Shortest usual form: "1.50 GiB", "400 Gbit/s", "7.61 s", "12.3 ms". For people; three to four
/// digits.
[[nodiscard]] std::string format_bytes(Bytes size);
[[nodiscard]] std::string format_bit_rate(DataRate rate);
[[nodiscard]] std::string format_byte_rate(DataRate rate);
[[nodiscard]] std::string format_duration(SimDuration duration);
[[nodiscard]] std::string format_seconds(double seconds);

}  // namespace foretrain
