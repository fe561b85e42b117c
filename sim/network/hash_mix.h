// Mixing of 64-bit words for hash tables and colours; the same on every machine.
#pragma once

#include <bit>
#include <cstdint>

namespace foretrain {

/// A bijection whose output bits each depend on all input bits.
/// @source Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
[[nodiscard]] constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Depends on the order of a and b.
[[nodiscard]] constexpr std::uint64_t mix_pair(std::uint64_t a, std::uint64_t b) {
  return mix_bits(a + 0x9e3779b97f4a7c15ULL + (mix_bits(b) << 1));
}
[[nodiscard]] inline std::uint64_t mix_pair(std::uint64_t a, double b) {
  return mix_pair(a, std::bit_cast<std::uint64_t>(b));
}

}  // namespace foretrain
