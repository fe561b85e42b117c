// Any text is answered; what is accepted is in range, and a refusal says something.
#include <string_view>

#include "sim/core/contracts.h"
#include "sim/core/unit_parser.h"
#include "tests/fuzz/fuzz_entry.h"

namespace {

template <class Value>
bool is_answered(const foretrain::UnitResult<Value>& result) {
  return result.has_value() || (!result.error().message.empty() &&
                                result.error().message.find('\n') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto bytes = foretrain::parse_bytes(text);
  const auto rate = foretrain::parse_data_rate(text);
  const auto duration = foretrain::parse_duration(text);
  const auto flops = foretrain::parse_flop_rate(text);
  const auto power = foretrain::parse_power(text);
  const auto ratio = foretrain::parse_ratio(text);
  FORETRAIN_ENSURES(is_answered(bytes) && is_answered(rate) && is_answered(duration) &&
                        is_answered(flops) && is_answered(power) && is_answered(ratio),
                    "a refusal is one line of text");
  FORETRAIN_ENSURES(!bytes || bytes->count() >= 0, "sizes are not negative");
  FORETRAIN_ENSURES(!duration || duration->count() >= 0, "durations are not negative");
  FORETRAIN_ENSURES(!rate || rate->bits_per_second() > 0, "rates are positive");
  if (bytes) static_cast<void>(foretrain::format_bytes(*bytes));
  if (rate) static_cast<void>(foretrain::format_bit_rate(*rate));
  if (duration) static_cast<void>(foretrain::format_duration(*duration));
  return 0;
}
