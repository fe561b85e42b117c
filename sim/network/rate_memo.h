// Rates of sets of active classes that were solved before. A training step repeats few sets often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/network/intern_table.h"

namespace foretrain {

/// Maps a set of (class, multiplicity) to the rates of its classes. Keys are compared in full, so a
/// hit is always right. Bounded: when full it forgets everything and starts again.
class RateMemo {
 public:
  /// One word per class of the set, in a canonical order.
  [[nodiscard]] static std::uint64_t word(std::int32_t class_id, std::uint32_t multiplicity) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(class_id)) << 32U) | multiplicity;
  }
  /// The remembered rates in the key's order, or an empty span. Valid until the next `remember`.
  [[nodiscard]] std::span<const double> find(std::span<const std::uint64_t> key) const;
  void remember(std::span<const std::uint64_t> key, std::span<const double> rates);
  void clear();

 private:
  struct Record {
    std::size_t begin = 0;
    std::size_t size = 0;
  };
  std::vector<Record> records_;
  std::vector<std::uint64_t> keys_;
  std::vector<double> rates_;
  InternTable index_;
};

}  // namespace foretrain
