#include "sim/core/random_stream.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <array>
#include <set>

namespace foretrain {
namespace {

// The purpose is mixed into the high key word; this seed undoes it, so that the key is
// `high`:`low`.
RandomStream stream_with_key(std::uint32_t low, std::uint32_t high) {
  constexpr std::uint32_t kMixed = 2U * 0x9E3779B9U;  // RandomPurpose::kTest
  return {(static_cast<std::uint64_t>(high ^ kMixed) << 32) | low, RandomPurpose::kTest};
}

// Known answers of philox4x32-10 from Random123's tests/kat_vectors (first two of the four words).
TEST(RandomStream, KnownAnswersOfPhilox) {
  EXPECT_EQ(stream_with_key(0, 0).bits(0, 0), 0xe169c58d'6627e8d5ULL);
  EXPECT_EQ(stream_with_key(0xffffffff, 0xffffffff).bits(~0ULL, ~0ULL), 0x41c83b0e'408f276dULL);
  EXPECT_EQ(stream_with_key(0xa4093822, 0x299f31d0).bits(0x85a308d3'243f6a88, 0x03707344'13198a2e),
            0x94fdcceb'd16cfe09ULL);
}

TEST(RandomStream, DrawDependsOnAddressOnly) {
  const RandomStream stream(7, RandomPurpose::kEcmpHash);
  const std::uint64_t first = stream.bits(3, 5);
  for (std::uint64_t i = 0; i < 100; ++i) static_cast<void>(stream.bits(i, i));
  EXPECT_EQ(stream.bits(3, 5), first);
  EXPECT_EQ(RandomStream(7, RandomPurpose::kEcmpHash).bits(3, 5), first);
}

// Swapping entity and index, or changing any part of the address, gives another draw.
TEST(RandomStream, EveryPartOfTheAddressCounts) {
  std::set<std::uint64_t> draws;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (const auto purpose :
         {RandomPurpose::kEcmpHash, RandomPurpose::kTest, RandomPurpose::kBisection}) {
      const RandomStream stream(seed, purpose);
      for (std::uint64_t entity = 0; entity < 8; ++entity) {
        for (std::uint64_t index = 0; index < 8; ++index) draws.insert(stream.bits(entity, index));
      }
    }
  }
  EXPECT_EQ(draws.size(), 4U * 3U * 8U * 8U);
}

// Chi-square with 63 degrees of freedom: the 99.9 % quantile is 103.4. The draws are fixed, so the
// test either always passes or never does.
constexpr double kChiSquare63 = 103.4;

template <class Draw>
double chi_square_64(int draws, const Draw& bin_of) {
  std::array<int, 64> counts{};
  for (int i = 0; i < draws; ++i) ++counts[bin_of(static_cast<std::uint64_t>(i))];
  const double expected = draws / 64.0;
  double sum = 0;
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST(RandomStream, UniformIsUniformAlongIndexAndEntity) {
  const RandomStream stream(2026, RandomPurpose::kTest);
  EXPECT_LT(chi_square_64(64'000,
                          [&](std::uint64_t i) {
                            return static_cast<std::size_t>(stream.uniform(1, i) * 64);
                          }),
            kChiSquare63);
  EXPECT_LT(chi_square_64(64'000,
                          [&](std::uint64_t i) {
                            return static_cast<std::size_t>(stream.uniform(i, 1) * 64);
                          }),
            kChiSquare63);
  EXPECT_LT(chi_square_64(
                64'000,
                [&](std::uint64_t i) { return static_cast<std::size_t>(stream.below(64, i, i)); }),
            kChiSquare63);
}

// Neighbouring seeds are not correlated: the pair of their draws fills an 8 x 8 grid evenly.
TEST(RandomStream, NeighbouringSeedsAreIndependent) {
  const RandomStream one(1, RandomPurpose::kTest);
  const RandomStream two(2, RandomPurpose::kTest);
  EXPECT_LT(
      chi_square_64(64'000,
                    [&](std::uint64_t i) {
                      return static_cast<std::size_t>(one.below(8, 0, i) * 8 + two.below(8, 0, i));
                    }),
      kChiSquare63);
}

RC_GTEST_PROP(RandomStream, DrawsStayInRange,
              (std::uint64_t seed, std::uint64_t entity, std::uint64_t index)) {
  const RandomStream stream(seed, RandomPurpose::kTest);
  const auto bound = *rc::gen::suchThat<std::uint64_t>([](std::uint64_t b) { return b > 0; });
  RC_ASSERT(stream.below(bound, entity, index) < bound);
  RC_ASSERT(stream.below(1, entity, index) == 0U);
  RC_ASSERT(stream.uniform(entity, index) >= 0.0);
  RC_ASSERT(stream.uniform(entity, index) < 1.0);
}

TEST(RandomStreamDeathTest, EmptyRangeAborts) {
  EXPECT_DEATH(static_cast<void>(RandomStream(1, RandomPurpose::kTest).below(0, 0, 0)), "bound");
}

}  // namespace
}  // namespace foretrain
