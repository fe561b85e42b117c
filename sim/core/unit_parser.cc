#include "sim/core/unit_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>

namespace foretrain {
namespace {

__extension__ using Wide = unsigned __int128;

// 10^21 times the largest scale of a duration (8.64e16 ps in a day) still fits 128 bits.
constexpr std::size_t kMaxSignificantDigits = 21;
constexpr int kMaxExponent = 400;

/// A decimal number as written: digits * 10^exponent, without sign.
struct Decimal {
  std::string digits;  // without leading zeros; empty means zero
  int exponent = 0;
  std::string text;  // the number as the user wrote it, for hints
};

struct Measure {
  Decimal number;
  std::string_view unit;
};

/// What a kind of quantity calls itself, and two examples of units for its hints.
struct Vocabulary {
  const char* what;
  const char* units;       // all units accepted, for "unknown unit"
  const char* first_unit;  // for "needs a unit"
  const char* second_unit;
};

constexpr Vocabulary kSizeWords{"a size", "B, kB … PB, KiB … PiB", "GB", "GiB"};
constexpr Vocabulary kRateWords{
    "a data rate", "bit/s, kbit/s … Tbit/s, B/s, kB/s … TB/s, KiB/s … TiB/s", "Gbit/s", "GB/s"};
constexpr Vocabulary kDurationWords{"a duration", "ps, ns, us, ms, s, min, h, d", "s", "us"};
constexpr Vocabulary kFlopWords{"a rate of operations", "GFLOP/s, TFLOP/s, PFLOP/s", "TFLOP/s",
                                "PFLOP/s"};
constexpr Vocabulary kPowerWords{"a power", "W, kW, MW", "W", "kW"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// The user's text in quotes, cut and cleaned so that a diagnostic stays on one line.
std::string quote(std::string_view text) {
  constexpr std::size_t kMaxEcho = 48;
  std::string shown = "\"";
  for (const char c : text.substr(0, kMaxEcho)) {
    const auto byte = static_cast<unsigned char>(c);
    shown += (byte < 0x20 || byte == 0x7f) ? '?' : c;
  }
  return shown + (text.size() > kMaxEcho ? "…\"" : "\"");
}

tl::unexpected<UnitError> error(std::string message, std::string hint = {}) {
  return tl::make_unexpected(UnitError{std::move(message), std::move(hint)});
}

std::string write_one(const Decimal& number, const char* unit) {
  return fmt::format("write \"{} {}\"", number.text, unit);
}

std::string write_either(const Decimal& number, const std::string& first,
                         const std::string& second) {
  return fmt::format("write \"{0} {1}\" or \"{0} {2}\"", number.text, first, second);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

/// Reads `[0-9]*[.[0-9]*][e[+-]digits]` from the front of `rest`; moves `rest` behind it.
UnitResult<Decimal> take_decimal(std::string_view& rest) {
  const std::string_view whole = rest;
  Decimal number;
  bool any_digit = false;
  bool after_point = false;
  std::size_t at = 0;
  for (; at < rest.size(); ++at) {
    const char c = rest[at];
    if (c == '.' && !after_point) {
      after_point = true;
      continue;
    }
    if (!is_digit(c)) break;
    any_digit = true;
    if (after_point) --number.exponent;
    if (c != '0' || !number.digits.empty()) number.digits += c;
    if (number.digits.size() > 400) return error("has too many digits");
  }
  if (!any_digit) return error(fmt::format("{} is not a number with a unit", quote(whole)));
  const bool has_sign = at + 1 < rest.size() && (rest[at + 1] == '+' || rest[at + 1] == '-');
  const std::size_t first = at + (has_sign ? 2 : 1);
  // "1 EB" and "2e" are units; only a digit after the e makes it an exponent.
  if (at < rest.size() && (rest[at] == 'e' || rest[at] == 'E') && first < rest.size() &&
      is_digit(rest[first])) {
    int power = 0;
    for (at = first; at < rest.size() && is_digit(rest[at]); ++at) {
      power = std::min(power * 10 + (rest[at] - '0'), 10 * kMaxExponent);
    }
    if (power > kMaxExponent) return error(fmt::format("{} is out of range", quote(whole)));
    number.exponent += (has_sign && rest[first - 1] == '-') ? -power : power;
  }
  while (!number.digits.empty() && number.digits.back() == '0') {
    number.digits.pop_back();
    ++number.exponent;
  }
  number.text = std::string(rest.substr(0, std::min<std::size_t>(at, 24)));
  rest.remove_prefix(at);
  return number;
}

/// Splits a text into its number and its unit (which may be empty).
UnitResult<Measure> split(std::string_view text, const char* what) {
  std::string_view rest = trim(text);
  if (rest.empty()) return error(fmt::format("is empty where {} is needed", what));
  if (rest.front() == '-') {
    return error(fmt::format("{} must not be negative", quote(rest)));
  }
  const std::string word = lower(rest.front() == '+' ? rest.substr(1) : rest);
  if (word.rfind("nan", 0) == 0 || word.rfind(".nan", 0) == 0 || word.rfind("inf", 0) == 0 ||
      word.rfind(".inf", 0) == 0) {
    return error(fmt::format("{} is not a finite number", quote(rest)));
  }
  UnitResult<Decimal> number = take_decimal(rest);
  if (!number) return tl::make_unexpected(number.error());
  rest = trim(rest);
  if (!rest.empty() && (is_digit(rest.front()) || rest.front() == '.' || rest.front() == ',' ||
                        rest.front() == '_' || rest.front() == '\'')) {
    return error(fmt::format("{} is not a number with a unit", quote(trim(text))),
                 "write digits without separators and a point for decimals");
  }
  return Measure{std::move(*number), rest};
}

tl::unexpected<UnitError> missing_unit(const Decimal& number, const Vocabulary& words) {
  return error(fmt::format("{} needs a unit", quote(number.text)),
               write_either(number, words.first_unit, words.second_unit));
}

tl::unexpected<UnitError> ambiguous_unit(const Measure& measure, const std::string& first,
                                         const std::string& second) {
  return error(fmt::format("unit {} is ambiguous", quote(measure.unit)),
               write_either(measure.number, first, second));
}

tl::unexpected<UnitError> unknown_unit(const Measure& measure, const Vocabulary& words) {
  return error(fmt::format("unit {} does not give {}", quote(measure.unit), words.what),
               fmt::format("units: {}", words.units));
}

/// A unit of a quantity counted in integers: ticks per unit.
struct IntegerUnit {
  std::string_view name;
  std::int64_t ticks;
};

constexpr std::array<IntegerUnit, 11> kSizeUnits{{{"B", 1},
                                                  {"kB", 1'000},
                                                  {"MB", 1'000'000},
                                                  {"GB", 1'000'000'000},
                                                  {"TB", 1'000'000'000'000},
                                                  {"PB", 1'000'000'000'000'000},
                                                  {"KiB", std::int64_t{1} << 10},
                                                  {"MiB", std::int64_t{1} << 20},
                                                  {"GiB", std::int64_t{1} << 30},
                                                  {"TiB", std::int64_t{1} << 40},
                                                  {"PiB", std::int64_t{1} << 50}}};

constexpr std::array<IntegerUnit, 8> kDurationUnits{{{"ps", 1},
                                                     {"ns", 1'000},
                                                     {"us", 1'000'000},
                                                     {"ms", 1'000'000'000},
                                                     {"s", 1'000'000'000'000},
                                                     {"min", 60'000'000'000'000},
                                                     {"h", 3'600'000'000'000'000},
                                                     {"d", 86'400'000'000'000'000}}};

/// A unit of a quantity held in a double: value = number * 10^decimal_power * factor, where
/// `factor` is a power of two (exact), so that the result is the double nearest to the text.
struct RealUnit {
  std::string_view name;
  int decimal_power;
  double factor;
};

constexpr std::array<RealUnit, 14> kRateUnits{{{"bit/s", 0, 1},
                                               {"kbit/s", 3, 1},
                                               {"Mbit/s", 6, 1},
                                               {"Gbit/s", 9, 1},
                                               {"Tbit/s", 12, 1},
                                               {"B/s", 0, 8},
                                               {"kB/s", 3, 8},
                                               {"MB/s", 6, 8},
                                               {"GB/s", 9, 8},
                                               {"TB/s", 12, 8},
                                               {"KiB/s", 0, 8 * 0x1p10},
                                               {"MiB/s", 0, 8 * 0x1p20},
                                               {"GiB/s", 0, 8 * 0x1p30},
                                               {"TiB/s", 0, 8 * 0x1p40}}};

template <class Units>
const typename Units::value_type* find_unit(const Units& units, std::string_view name) {
  const auto at = std::find_if(units.begin(), units.end(),
                               [name](const auto& unit) { return unit.name == name; });
  return at == units.end() ? nullptr : &*at;
}

/// digits * 10^exponent * ticks, rounded up to an integer, without going through double.
UnitResult<std::int64_t> to_integer(const Measure& measure, std::int64_t ticks) {
  const Decimal& number = measure.number;
  constexpr auto kMax = static_cast<Wide>(std::numeric_limits<std::int64_t>::max());
  if (number.digits.empty()) return 0;
  if (number.digits.size() > kMaxSignificantDigits) {
    return error(fmt::format("{} has more than {} significant digits", quote(number.text),
                             kMaxSignificantDigits));
  }
  Wide value = 0;
  for (const char c : number.digits) value = value * 10 + static_cast<Wide>(c - '0');
  value *= static_cast<Wide>(ticks);
  for (int i = 0; i < number.exponent && value <= kMax; ++i) value *= 10;
  bool remainder = false;
  for (int i = 0; i > number.exponent && value > 0; --i) {
    remainder = remainder || value % 10 != 0;
    value /= 10;
  }
  if (remainder && ticks == 1) {
    return error(fmt::format("\"{} {}\" is not a whole number of {}", number.text, measure.unit,
                             measure.unit));
  }
  value += remainder ? 1 : 0;
  if (value > kMax) {
    return error(fmt::format("\"{} {}\" is out of range", number.text, measure.unit));
  }
  return static_cast<std::int64_t>(value);
}

/// The double nearest to number * 10^decimal_power, times `factor`.
UnitResult<double> to_real(const Measure& measure, int decimal_power, double factor) {
  const Decimal& number = measure.number;
  if (number.digits.empty()) return 0.0;
  const std::string text = fmt::format("{}e{}", number.digits, number.exponent + decimal_power);
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  value *= factor;
  if (code != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return error(fmt::format("\"{} {}\" is out of range", number.text, measure.unit));
  }
  return value;
}

/// SI prefix letter of a unit, in its right case, or nothing. "K", "k" → "k".
std::optional<std::string> prefix_of(std::string_view lower_unit) {
  if (lower_unit.empty()) return std::nullopt;
  switch (lower_unit.front()) {
    case 'k': return "k";
    case 'm': return "M";
    case 'g': return "G";
    case 't': return "T";
    case 'p': return "P";
    default: return std::nullopt;
  }
}

std::string binary_prefix(const std::string& prefix) {
  return (prefix == "k" ? std::string("K") : prefix) + "i";
}

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

tl::unexpected<UnitError> bad_size_unit(const Measure& measure) {
  const std::string unit = lower(measure.unit);
  if (one_of(unit, {"b", "byte", "bytes", "o"})) {
    return error(fmt::format("unit {} is not known", quote(measure.unit)),
                 write_one(measure.number, "B"));
  }
  const auto prefix = prefix_of(unit);
  const std::string rest = unit.substr(prefix ? 1 : 0);
  if (prefix && one_of(rest, {"", "b", "i", "ib", "byte", "bytes", "bit", "bits", "o"})) {
    return ambiguous_unit(measure, *prefix + "B", binary_prefix(*prefix) + "B");
  }
  return unknown_unit(measure, kSizeWords);
}

tl::unexpected<UnitError> bad_rate_unit(const Measure& measure) {
  const std::string unit = lower(measure.unit);
  const auto prefix = prefix_of(unit);
  const std::string rest = unit.substr(prefix ? 1 : 0);
  const std::string letter = (prefix && *prefix != "P") ? *prefix : std::string(prefix ? "T" : "");
  if (measure.unit == "KB/s") return ambiguous_unit(measure, "kB/s", "KiB/s");
  if (one_of(rest, {"", "b", "bps", "b/s", "bit", "bits", "bits/s", "bit/s", "bitps", "bytes/s",
                    "byte/s", "b/sec", "bit/sec", "ps", "/s"}) &&
      !unit.empty()) {
    return ambiguous_unit(measure, letter + "bit/s", letter + "B/s");
  }
  if (prefix && one_of(rest, {"i", "ib", "ibps", "ib/s", "ibit/s", "ib/sec"})) {
    return ambiguous_unit(measure, binary_prefix(letter) + "B/s", letter + "B/s");
  }
  return unknown_unit(measure, kRateWords);
}

tl::unexpected<UnitError> bad_duration_unit(const Measure& measure) {
  struct Spelling {
    std::string_view wrong;
    const char* right;
  };
  static constexpr std::array<Spelling, 22> kSpellings{
      {{"sec", "s"},           {"secs", "s"},        {"second", "s"}, {"seconds", "s"},
       {"minute", "min"},      {"minutes", "min"},   {"mins", "min"}, {"hr", "h"},
       {"hrs", "h"},           {"hour", "h"},        {"hours", "h"},  {"day", "d"},
       {"days", "d"},          {"usec", "us"},       {"msec", "ms"},  {"nsec", "ns"},
       {"\u00b5s", "us"},      {"\u03bcs", "us"},    {"mus", "us"},   {"microseconds", "us"},
       {"milliseconds", "ms"}, {"nanoseconds", "ns"}}};
  const std::string unit = lower(measure.unit);
  if (unit == "m") return ambiguous_unit(measure, "min", "ms");
  if (unit == "u") return ambiguous_unit(measure, "us", "ms");
  if (unit == "n") return ambiguous_unit(measure, "ns", "min");
  if (measure.unit == "Ms") return ambiguous_unit(measure, "ms", "min");
  for (const Spelling& spelling : kSpellings) {
    if (unit == spelling.wrong) {
      return error(fmt::format("unit {} is not known", quote(measure.unit)),
                   write_one(measure.number, spelling.right));
    }
  }
  if (const IntegerUnit* known = find_unit(kDurationUnits, unit)) {
    return error(fmt::format("unit {} is not known", quote(measure.unit)),
                 write_one(measure.number, std::string(known->name).c_str()));
  }
  return unknown_unit(measure, kDurationWords);
}

tl::unexpected<UnitError> bad_flop_unit(const Measure& measure) {
  const std::string unit = lower(measure.unit);
  const auto prefix = prefix_of(unit);
  const std::string rest = unit.substr(prefix ? 1 : 0);
  if (prefix && *prefix != "k" && *prefix != "M" &&
      one_of(rest, {"", "flop", "flops", "flop/s", "flops/s", "flopps", "f", "f/s"})) {
    return error(
        fmt::format("unit {} is ambiguous: a number of operations or a rate", quote(measure.unit)),
        write_one(measure.number, (*prefix + "FLOP/s").c_str()));
  }
  return unknown_unit(measure, kFlopWords);
}

tl::unexpected<UnitError> bad_power_unit(const Measure& measure) {
  const std::string unit = lower(measure.unit);
  if (measure.unit == "mW") return ambiguous_unit(measure, "MW", "W");
  if (one_of(unit, {"k", "kw"})) return ambiguous_unit(measure, "kW", "W");
  if (one_of(unit, {"m", "mw"})) return ambiguous_unit(measure, "MW", "kW");
  if (one_of(unit, {"w", "watt", "watts"})) return ambiguous_unit(measure, "W", "kW");
  return unknown_unit(measure, kPowerWords);
}

UnitResult<double> positive(UnitResult<double> value, std::string_view text) {
  if (value && !(*value > 0.0)) {
    return error(fmt::format("{} must be greater than zero", quote(trim(text))));
  }
  return value;
}

}  // namespace

UnitResult<Bytes> parse_bytes(std::string_view text) {
  const UnitResult<Measure> measure = split(text, kSizeWords.what);
  if (!measure) return tl::make_unexpected(measure.error());
  if (measure->unit.empty()) return missing_unit(measure->number, kSizeWords);
  const IntegerUnit* unit = find_unit(kSizeUnits, measure->unit);
  if (unit == nullptr) return bad_size_unit(*measure);
  return to_integer(*measure, unit->ticks).map([](std::int64_t count) { return Bytes{count}; });
}

UnitResult<DataRate> parse_data_rate(std::string_view text) {
  const UnitResult<Measure> measure = split(text, kRateWords.what);
  if (!measure) return tl::make_unexpected(measure.error());
  if (measure->unit.empty()) return missing_unit(measure->number, kRateWords);
  const RealUnit* unit = find_unit(kRateUnits, measure->unit);
  if (unit == nullptr) return bad_rate_unit(*measure);
  return positive(to_real(*measure, unit->decimal_power, unit->factor), text).map([](double bits) {
    return DataRate::from_bits_per_second(bits);
  });
}

UnitResult<SimDuration> parse_duration(std::string_view text) {
  const UnitResult<Measure> measure = split(text, kDurationWords.what);
  if (!measure) return tl::make_unexpected(measure.error());
  if (measure->unit.empty()) return missing_unit(measure->number, kDurationWords);
  const IntegerUnit* unit = find_unit(kDurationUnits, measure->unit);
  if (unit == nullptr) return bad_duration_unit(*measure);
  return to_integer(*measure, unit->ticks).map([](std::int64_t ticks) {
    return SimDuration{ticks};
  });
}

UnitResult<FlopRate> parse_flop_rate(std::string_view text) {
  static constexpr std::array<RealUnit, 3> kUnits{
      {{"GFLOP/s", 9, 1}, {"TFLOP/s", 12, 1}, {"PFLOP/s", 15, 1}}};
  const UnitResult<Measure> measure = split(text, kFlopWords.what);
  if (!measure) return tl::make_unexpected(measure.error());
  if (measure->unit.empty()) return missing_unit(measure->number, kFlopWords);
  const RealUnit* unit = find_unit(kUnits, measure->unit);
  if (unit == nullptr) return bad_flop_unit(*measure);
  return positive(to_real(*measure, unit->decimal_power, unit->factor), text).map([](double rate) {
    return FlopRate{rate};
  });
}

UnitResult<Power> parse_power(std::string_view text) {
  static constexpr std::array<RealUnit, 3> kUnits{{{"W", 0, 1}, {"kW", 3, 1}, {"MW", 6, 1}}};
  const UnitResult<Measure> measure = split(text, kPowerWords.what);
  if (!measure) return tl::make_unexpected(measure.error());
  if (measure->unit.empty()) return missing_unit(measure->number, kPowerWords);
  const RealUnit* unit = find_unit(kUnits, measure->unit);
  if (unit == nullptr) return bad_power_unit(*measure);
  return to_real(*measure, unit->decimal_power, unit->factor).map([](double watts) {
    return Power{watts};
  });
}

UnitResult<double> parse_percent(std::string_view text) {
  const UnitResult<Measure> measure = split(text, "a percentage");
  if (!measure) return tl::make_unexpected(measure.error());
  if (measure->unit == "%") return to_real(*measure, -2, 1);
  if (!measure->unit.empty()) {
    return error(fmt::format("unit {} is not a percentage", quote(measure->unit)),
                 write_one(measure->number, "%"));
  }
  // 0.5 may be a fraction or half a percent: name both.
  UnitResult<double> hundredfold = to_real(*measure, 2, 1);
  if (!hundredfold) return hundredfold;
  return error(fmt::format("{} needs a unit", quote(measure->number.text)),
               fmt::format("write \"{} %\" or \"{:g} %\"", measure->number.text, *hundredfold));
}

UnitResult<Ratio> parse_ratio(std::string_view text) {
  const UnitResult<double> value = parse_percent(text);
  if (!value) return tl::make_unexpected(value.error());
  if (*value > 1.0) {
    return error(fmt::format("{} must lie between 0 % and 100 %", quote(trim(text))));
  }
  return Ratio::of(*value);
}

}  // namespace foretrain
