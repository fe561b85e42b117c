// Addressed random numbers: a draw is a pure function of (seed, purpose, entity, index), so that a
// new component never shifts another's draws and any order of evaluation gives the same numbers.
#pragma once

#include <cstdint>

namespace foretrain {

/// What the draws are for. A value, once given, keeps its meaning.
enum class RandomPurpose : std::uint32_t {
  kEcmpHash = 1,
  kTest = 2,
  kBisection = 3,
};

/// Philox4x32-10 keyed by (seed, purpose); the counter is (entity, index).
/// @source Salmon et al., SC'11, "Parallel random numbers: as easy as 1, 2, 3".
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, RandomPurpose purpose) : seed_(seed), purpose_(purpose) {}
  /// 64 uniform bits.
  [[nodiscard]] std::uint64_t bits(std::uint64_t entity, std::uint64_t index) const;
  /// Uniform in [0, 1), 53 bits.
  [[nodiscard]] double uniform(std::uint64_t entity, std::uint64_t index) const;
  /// Uniform in 0 … bound - 1, without modulo bias beyond 2^-64. @pre bound > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound, std::uint64_t entity,
                                    std::uint64_t index) const;

 private:
  std::uint64_t seed_;
  RandomPurpose purpose_;
};

}  // namespace foretrain
