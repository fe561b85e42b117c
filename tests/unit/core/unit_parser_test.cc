#include "sim/core/unit_parser.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <limits>
#include <string>
#include <vector>

namespace foretrain {
namespace {

constexpr std::int64_t kMaxCount = std::numeric_limits<std::int64_t>::max();

TEST(UnitParser, ReadsEachUnitOfSize) {
  EXPECT_EQ(parse_bytes("4096 B")->count(), 4096);
  EXPECT_EQ(parse_bytes("1 kB")->count(), 1'000);
  EXPECT_EQ(parse_bytes("512 MB")->count(), 512'000'000);
  EXPECT_EQ(parse_bytes("80 GB")->count(), 80'000'000'000);
  EXPECT_EQ(parse_bytes("1 TB")->count(), 1'000'000'000'000);
  EXPECT_EQ(parse_bytes("1 PB")->count(), 1'000'000'000'000'000);
  EXPECT_EQ(parse_bytes("1 KiB")->count(), 1'024);
  EXPECT_EQ(*parse_bytes("3 MiB"), mebibytes(3));
  EXPECT_EQ(*parse_bytes("80 GiB"), gibibytes(80));
  EXPECT_EQ(*parse_bytes("2 TiB"), gibibytes(2048));
  EXPECT_EQ(*parse_bytes("1 PiB"), gibibytes(1 << 20));
}

TEST(UnitParser, ReadsEachUnitOfRate) {
  EXPECT_DOUBLE_EQ(parse_data_rate("7 bit/s")->bits_per_second(), 7);
  EXPECT_DOUBLE_EQ(parse_data_rate("7 kbit/s")->bits_per_second(), 7e3);
  EXPECT_DOUBLE_EQ(parse_data_rate("7 Mbit/s")->bits_per_second(), 7e6);
  EXPECT_EQ(*parse_data_rate("400 Gbit/s"), gigabits_per_second(400));
  EXPECT_DOUBLE_EQ(parse_data_rate("1.6 Tbit/s")->bits_per_second(), 1.6e12);
  EXPECT_DOUBLE_EQ(parse_data_rate("7 B/s")->bytes_per_second(), 7);
  EXPECT_DOUBLE_EQ(parse_data_rate("7 kB/s")->bytes_per_second(), 7e3);
  EXPECT_DOUBLE_EQ(parse_data_rate("7 MB/s")->bytes_per_second(), 7e6);
  EXPECT_EQ(*parse_data_rate("900 GB/s"), gigabytes_per_second(900));
  EXPECT_DOUBLE_EQ(parse_data_rate("3.35 TB/s")->bytes_per_second(), 3.35e12);
  EXPECT_DOUBLE_EQ(parse_data_rate("1 KiB/s")->bytes_per_second(), 1024);
  EXPECT_DOUBLE_EQ(parse_data_rate("32 GiB/s")->bytes_per_second(), 32.0 * (1 << 30));
}

TEST(UnitParser, ReadsEachUnitOfDuration) {
  EXPECT_EQ(parse_duration("7 ps")->count(), 7);
  EXPECT_EQ(*parse_duration("600 ns"), std::chrono::nanoseconds{600});
  EXPECT_EQ(parse_duration("1.5 us")->count(), 1'500'000);
  EXPECT_EQ(*parse_duration("12 ms"), std::chrono::milliseconds{12});
  EXPECT_EQ(*parse_duration("10 s"), std::chrono::seconds{10});
  EXPECT_EQ(*parse_duration("30 min"), std::chrono::minutes{30});
  EXPECT_EQ(*parse_duration("2 h"), std::chrono::hours{2});
  EXPECT_EQ(*parse_duration("7 d"), std::chrono::hours{24 * 7});
  EXPECT_EQ(*parse_duration("0 s"), SimDuration{0});
}

TEST(UnitParser, ReadsFlopRatesPowersAndPercentages) {
  EXPECT_EQ(parse_flop_rate("989.4 TFLOP/s")->value(), 989.4e12);
  EXPECT_EQ(parse_flop_rate("1.5 PFLOP/s")->value(), 1.5e15);
  EXPECT_EQ(parse_power("10.2 kW")->value(), 10'200);
  EXPECT_EQ(parse_power("1.4 MW")->value(), 1.4e6);
  EXPECT_EQ(parse_ratio("50 %")->value(), 0.5);
  EXPECT_EQ(parse_ratio("100%")->value(), 1.0);
  EXPECT_EQ(*parse_percent("250 %"), 2.5);
  EXPECT_EQ(*parse_percent("7.6 %"), 0.076);
}

TEST(UnitParser, SpacesAroundAndBetweenAreFree) {
  EXPECT_EQ(*parse_bytes("  1GiB "), gibibytes(1));
  EXPECT_EQ(*parse_bytes("1 \t GiB"), gibibytes(1));
}

TEST(UnitParser, ReadsExponents) {
  EXPECT_EQ(parse_bytes("1e3 GB")->count(), 1'000'000'000'000);
  EXPECT_EQ(parse_bytes("2500E-3 kB")->count(), 2'500);
  EXPECT_EQ(parse_duration("1e-6 s")->count(), 1'000'000);
}

// 2^53 + 1 is the first integer that a double cannot hold.
TEST(UnitParser, DoesNotGoThroughDouble) {
  EXPECT_EQ(parse_bytes("9007199254740993 B")->count(), 9'007'199'254'740'993);
  EXPECT_EQ(parse_bytes("9223372036854775807 B")->count(), kMaxCount);
  EXPECT_EQ(parse_duration("9007199.254740993 s")->count(), 9'007'199'254'740'993'000);
  EXPECT_EQ(parse_duration("0.1 us")->count(), 100'000);
}

// 0.1 GiB = 107374182.4 B; a part of a byte counts as one, and no work is lost.
TEST(UnitParser, RoundsUpToWholeUnits) {
  EXPECT_EQ(parse_bytes("0.1 GiB")->count(), 107'374'183);
  EXPECT_EQ(parse_duration("1.0001 ns")->count(), 1'001);
  EXPECT_EQ(parse_duration("1e-30 s")->count(), 1);
  EXPECT_FALSE(parse_bytes("1.5 B"));
  EXPECT_FALSE(parse_duration("0.5 ps"));
}

TEST(UnitParser, OverflowIsAnError) {
  EXPECT_FALSE(parse_bytes("9223372036854775808 B"));
  EXPECT_FALSE(parse_bytes("9007199254740992 KiB"));
  EXPECT_FALSE(parse_bytes("1e400 B"));
  EXPECT_FALSE(parse_bytes("1e99999999999999999999 B"));
  EXPECT_FALSE(parse_duration("107 d"));
  EXPECT_TRUE(parse_duration("106 d"));
  EXPECT_FALSE(parse_data_rate("1e308 GB/s"));
  EXPECT_FALSE(parse_bytes(std::string(1000, '9') + " B"));
}

TEST(UnitParser, RejectsWhatIsNoNumber) {
  for (const char* text :
       {"", "   ", "GB", "nan GB", "NaN", "inf GB", ".inf", "-inf", "infinity", "0x10 B", "1,000 B",
        "1 000 B", "1_000 B", "1.2.3 B", "--1 B", "e3 B", ". B", "one GB"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
    EXPECT_FALSE(parse_data_rate(text)) << text;
    EXPECT_FALSE(parse_duration(text)) << text;
    EXPECT_FALSE(parse_percent(text)) << text;
  }
}

TEST(UnitParser, RejectsNegativeAndUselessValues) {
  EXPECT_FALSE(parse_bytes("-1 GB"));
  EXPECT_FALSE(parse_duration("-0.5 us"));
  EXPECT_FALSE(parse_data_rate("0 GB/s"));
  EXPECT_FALSE(parse_flop_rate("0 TFLOP/s"));
  EXPECT_FALSE(parse_ratio("100.1 %"));
  EXPECT_TRUE(parse_power("0 W"));
}

struct BadSpelling {
  std::string text;
  std::string first;  // the hint names both, number included
  std::string second;
};

// A bare number or a spelling with two readings is answered with both of them.
TEST(UnitParser, NamesTheTwoReadingsOfARate) {
  const std::vector<BadSpelling> cases{
      {"400", "400 Gbit/s", "400 GB/s"},      {"400G", "400 Gbit/s", "400 GB/s"},
      {"400 Gbps", "400 Gbit/s", "400 GB/s"}, {"400 Gb/s", "400 Gbit/s", "400 GB/s"},
      {"50 GBps", "50 Gbit/s", "50 GB/s"},    {"50 GB", "50 Gbit/s", "50 GB/s"},
      {"10 Mbps", "10 Mbit/s", "10 MB/s"},    {"1 Tb/s", "1 Tbit/s", "1 TB/s"},
      {"1 K", "1 kbit/s", "1 kB/s"},          {"100 gbit/s", "100 Gbit/s", "100 GB/s"},
      {"100 KB/s", "100 kB/s", "100 KiB/s"},  {"1 Gi", "1 GiB/s", "1 GB/s"},
  };
  for (const auto& [text, first, second] : cases) {
    const auto result = parse_data_rate(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().hint, "write \"" + first + "\" or \"" + second + "\"") << text;
  }
}

TEST(UnitParser, NamesTheTwoReadingsOfASize) {
  const std::vector<BadSpelling> cases{
      {"80", "80 GB", "80 GiB"},    {"64K", "64 kB", "64 KiB"},   {"80 G", "80 GB", "80 GiB"},
      {"80 Gb", "80 GB", "80 GiB"}, {"80 KB", "80 kB", "80 KiB"}, {"1 Mi", "1 MB", "1 MiB"},
      {"1 gib", "1 GB", "1 GiB"},
  };
  for (const auto& [text, first, second] : cases) {
    const auto result = parse_bytes(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().hint, "write \"" + first + "\" or \"" + second + "\"") << text;
  }
}

TEST(UnitParser, HintsForOtherQuantities) {
  EXPECT_EQ(parse_duration("5 m").error().hint, "write \"5 min\" or \"5 ms\"");
  EXPECT_EQ(parse_duration("5").error().hint, "write \"5 s\" or \"5 us\"");
  EXPECT_EQ(parse_duration("5 sec").error().hint, "write \"5 s\"");
  EXPECT_EQ(parse_duration("5 \u00b5s").error().hint, "write \"5 us\"");
  EXPECT_EQ(parse_flop_rate("312 TFLOPS").error().hint, "write \"312 TFLOP/s\"");
  EXPECT_EQ(parse_power("1 mW").error().hint, "write \"1 MW\" or \"1 W\"");
  EXPECT_EQ(parse_percent("0.5").error().hint, "write \"0.5 %\" or \"50 %\"");
}

// A diagnostic stays on one short line, whatever the file holds.
TEST(UnitParser, MessagesAreShortAndPrintable) {
  const std::string rubbish = "5 \x01\n" + std::string(10'000, 'x');
  const auto result = parse_bytes(rubbish);
  ASSERT_FALSE(result);
  EXPECT_LT(result.error().message.size(), 200U);
  EXPECT_EQ(result.error().message.find('\n'), std::string::npos);
}

// Round trip of integers: what is written as whole bytes or picoseconds comes back exactly.
RC_GTEST_PROP(UnitParser, IntegersRoundTrip, ()) {
  const auto count = *rc::gen::inRange<std::int64_t>(0, kMaxCount);
  RC_ASSERT(parse_bytes(std::to_string(count) + " B") == Bytes{count});
  RC_ASSERT(parse_duration(std::to_string(count) + "ps") == SimDuration{count});
}

// A decimal point moves with the unit: "12.345 us" is "12345 ns".
RC_GTEST_PROP(UnitParser, ShiftedPointGivesTheSame, ()) {
  const auto count = *rc::gen::inRange<std::int64_t>(0, 9'000'000'000);
  std::string fraction = std::to_string(count % 1000);
  fraction.insert(0, 3 - fraction.size(), '0');
  const std::string shifted = std::to_string(count / 1000) + "." + fraction;
  RC_ASSERT(parse_duration(shifted + " us") == SimDuration{count * 1000});
  RC_ASSERT(parse_bytes(shifted + " MB") == Bytes{count * 1000});
  if (count == 0) return;  // a rate must be positive
  RC_ASSERT(parse_data_rate(shifted + " GB/s") ==
            DataRate::from_bytes_per_second(static_cast<double>(count * 1'000'000)));
}

// Any bytes at all are answered, never a crash.
RC_GTEST_PROP(UnitParser, AnyTextIsAnswered, (const std::string& text)) {
  static_cast<void>(parse_bytes(text));
  static_cast<void>(parse_data_rate(text));
  static_cast<void>(parse_duration(text));
  static_cast<void>(parse_flop_rate(text));
  static_cast<void>(parse_power(text));
  static_cast<void>(parse_ratio(text));
}

}  // namespace
}  // namespace foretrain
