#include "sim/core/units.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <limits>

#include "sim/core/ids.h"

namespace foretrain {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a == b;
};
template <class A, class B>
concept Convertible = std::is_convertible_v<A, B>;

// What must not compile: a sum of unlike quantities, a bare number taken for a quantity.
static_assert(Addable<Bytes, Bytes> && !Addable<Bytes, DataRate> && !Addable<Bytes, int>);
static_assert(!Addable<FlopCount, FlopRate> && !Addable<Power, FlopRate>);
static_assert(!Addable<SimTime, SimTime> && Addable<SimTime, SimDuration>);
static_assert(!Convertible<double, DataRate> && !Convertible<int, Bytes>);
static_assert(!Convertible<double, Ratio> && !Convertible<double, FlopRate>);
static_assert(Comparable<RankId, RankId> && !Comparable<RankId, LinkId>);
static_assert(!Comparable<RankId, int> && !Convertible<int, RankId>);

// 4 MiB over 400 Gbit/s: 4194304 * 8 / 400e9 s = 83.88608 us, exactly 83886080 ps.
TEST(Units, TransferTimeOfFourMebibytes) {
  EXPECT_EQ(transfer_time(mebibytes(4), gigabits_per_second(400)), SimDuration{83'886'080});
}

// 1 byte at 3 bytes/s takes a third of a second, which is no whole number of picoseconds.
TEST(Units, TransferTimeRoundsUp) {
  EXPECT_EQ(transfer_time(Bytes{1}, DataRate::from_bytes_per_second(3)),
            SimDuration{333'333'333'334});
}

TEST(Units, WorkNeverTakesZeroTime) {
  EXPECT_EQ(transfer_time(Bytes{1}, DataRate::from_bytes_per_second(1e30)), SimDuration{1});
  EXPECT_EQ(compute_time(FlopCount{1}, FlopRate{1e30}), SimDuration{1});
  EXPECT_EQ(duration_from_seconds(std::numeric_limits<double>::denorm_min()), SimDuration{1});
}

TEST(Units, NoWorkTakesNoTime) {
  EXPECT_EQ(transfer_time(Bytes{0}, gigabits_per_second(1)), SimDuration{0});
  EXPECT_EQ(compute_time(FlopCount{0}, teraflops(1)), SimDuration{0});
}

// 989.4e12 operations at 989.4 TFLOP/s: one second.
TEST(Units, ComputeTimeOfOneSecond) {
  EXPECT_EQ(compute_time(FlopCount{989.4e12}, teraflops(989.4)), std::chrono::seconds{1});
}

TEST(Units, BitsAndBytesDifferByEight) {
  EXPECT_EQ(gigabits_per_second(400), gigabytes_per_second(50));
  EXPECT_DOUBLE_EQ(gigabytes_per_second(900).bits_per_second(), 7.2e12);
}

TEST(Units, DecimalAndBinaryPrefixesDiffer) {
  EXPECT_EQ(gibibytes(1).count(), 1'073'741'824);
  EXPECT_EQ(gigabytes(1).count(), 1'000'000'000);
  EXPECT_EQ(mebibytes(1), kibibytes(1024));
}

TEST(Units, StandardDurationsAreExact) {
  EXPECT_EQ(SimDuration{std::chrono::microseconds{3}}.count(), 3'000'000);
  EXPECT_DOUBLE_EQ(to_seconds(SimTime{} + SimDuration{std::chrono::seconds{2}}), 2.0);
}

TEST(Units, DefaultIdIsNotAnEntity) {
  EXPECT_EQ(RankId{}.index(), -1);
  EXPECT_LT(RankId{3}, RankId{4});
  EXPECT_EQ(RankId{3}.position(), 3U);
}

// Limits are contracts: a duration of 104 days is the largest that a step may take.
TEST(UnitsDeathTest, OutOfRangeAborts) {
  EXPECT_DEATH(static_cast<void>(duration_from_seconds(9.0e6)), "duration out of range");
  EXPECT_DEATH(static_cast<void>(duration_from_seconds(-1.0)), "duration out of range");
  EXPECT_DEATH(static_cast<void>(duration_from_seconds(std::numeric_limits<double>::quiet_NaN())),
               "duration out of range");
  EXPECT_DEATH(static_cast<void>(transfer_time(Bytes{1}, DataRate{})), "positive rate");
  EXPECT_DEATH(static_cast<void>(compute_time(FlopCount{1}, FlopRate{})), "positive rate");
  EXPECT_DEATH(static_cast<void>(transfer_time(Bytes{-1}, gigabits_per_second(1))),
               "duration out of range");
  EXPECT_DEATH(static_cast<void>(Ratio::of(1.5)), "ratio");
  EXPECT_DEATH(static_cast<void>(Ratio::of(std::numeric_limits<double>::quiet_NaN())), "ratio");
}

// The parts of a buffer cover it, and one part fewer would not.
RC_GTEST_PROP(Units, PartsCoverTheWhole, ()) {
  const Bytes whole{*rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 50)};
  const auto parts = *rc::gen::inRange<std::int64_t>(1, 100'000);
  const Bytes part = divide_up(whole, parts);
  RC_ASSERT(part * parts >= whole);
  RC_ASSERT(whole.count() == 0 || (part - Bytes{1}) * parts < whole);
}

// Against exact integer arithmetic: ceil(bytes * 8e12 / rate), to the error of two roundings.
RC_GTEST_PROP(Units, TransferTimeAgreesWithIntegers, ()) {
  __extension__ using Wide = __int128;
  const auto bytes = *rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 40);
  const auto rate = *rc::gen::inRange<std::int64_t>(1'000'000'000, 8'000'000'000'000);
  const Wide exact =
      (static_cast<Wide>(bytes) * 8'000'000'000'000 + rate - 1) / static_cast<Wide>(rate);
  const auto got =
      transfer_time(Bytes{bytes}, DataRate::from_bits_per_second(static_cast<double>(rate)))
          .count();
  const Wide slack = 1 + (exact >> 51);  // 1 ps, or 4 units in the last place of a double
  RC_ASSERT(got >= exact - slack);
  RC_ASSERT(got <= exact + slack);
}

// More data never takes less time; more rate never more.
RC_GTEST_PROP(Units, TransferTimeIsMonotone, ()) {
  const auto bytes = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 40);
  const auto more = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 40);
  const double rate = *rc::gen::inRange(1, 10'000);
  RC_ASSERT(transfer_time(Bytes{bytes}, gigabits_per_second(rate)) <=
            transfer_time(Bytes{bytes + more}, gigabits_per_second(rate)));
  RC_ASSERT(transfer_time(Bytes{bytes}, gigabits_per_second(rate + 1)) <=
            transfer_time(Bytes{bytes}, gigabits_per_second(rate)));
}

}  // namespace
}  // namespace foretrain
