#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <cmath>

#include "sim/core/unit_parser.h"

namespace foretrain {
namespace {

TEST(UnitFormat, Bytes) {
  EXPECT_EQ(format_bytes(Bytes{0}), "0 B");
  EXPECT_EQ(format_bytes(Bytes{1023}), "1023 B");
  EXPECT_EQ(format_bytes(kibibytes(4)), "4.00 KiB");
  EXPECT_EQ(format_bytes(mebibytes(1536)), "1.50 GiB");
  EXPECT_EQ(format_bytes(gibibytes(80)), "80.0 GiB");
  EXPECT_EQ(format_bytes(gibibytes(1) - Bytes{1}), "1.00 GiB");
  EXPECT_EQ(format_bytes(Bytes{-2048}), "-2.00 KiB");
}

TEST(UnitFormat, Rates) {
  EXPECT_EQ(format_bit_rate(gigabits_per_second(400)), "400 Gbit/s");
  EXPECT_EQ(format_bit_rate(gigabits_per_second(1600)), "1.60 Tbit/s");
  EXPECT_EQ(format_byte_rate(gigabytes_per_second(3350)), "3.35 TB/s");
  EXPECT_EQ(format_byte_rate(gigabits_per_second(400)), "50.0 GB/s");
}

TEST(UnitFormat, Durations) {
  EXPECT_EQ(format_duration(SimDuration{0}), "0 s");
  EXPECT_EQ(format_duration(SimDuration{600'000}), "600 ns");
  EXPECT_EQ(format_duration(SimDuration{1'500'000}), "1.50 us");
  EXPECT_EQ(format_seconds(0.0123), "12.3 ms");
  EXPECT_EQ(format_seconds(0.99996), "1.00 s");
  EXPECT_EQ(format_seconds(7.61), "7.61 s");
  EXPECT_EQ(format_seconds(90), "90.0 s");
  EXPECT_EQ(format_seconds(1800), "30.0 min");
  EXPECT_EQ(format_seconds(86400 * 7), "7.00 d");
}

// Three digits lose at most 0.5 % (1.005 printed as 1.00 or 1.01) – and the unit survives.
RC_GTEST_PROP(UnitFormat, ReadsBackToThreeDigits, ()) {
  constexpr double kThreeDigits = 0.00501;
  const auto exponent = *rc::gen::inRange(4, 49);
  const Bytes size{(std::int64_t{1} << exponent) +
                   *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << exponent)};
  const auto back = parse_bytes(format_bytes(size));
  RC_ASSERT(back.has_value());
  RC_ASSERT(std::abs(back->as_double() / size.as_double() - 1) <= kThreeDigits);
  const auto duration = parse_duration(format_duration(SimDuration{size.count()}));
  RC_ASSERT(duration.has_value());
  RC_ASSERT(std::abs(to_seconds(*duration) * 1e12 / size.as_double() - 1) <= kThreeDigits);
}

}  // namespace
}  // namespace foretrain
