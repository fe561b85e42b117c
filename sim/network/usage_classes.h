// Interned kinds of activities: what has the same usage, cap and share weight is one class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/network/intern_table.h"
#include "sim/network/network_model.h"

namespace foretrain {

/// Classes by dense id, counted by reference. Unreferenced classes stay known until `collect`, so
/// that a recurring transfer costs one hash of its usage and no allocation.
class UsageClasses {
 public:
  /// Adds a reference. `cap` in bytes per second, infinite: none. O(usage).
  /// `is_new_usage` is set if no known class has this usage.
  std::int32_t acquire(std::span<const LinkUse> usage, double cap, double share,
                       bool& is_new_usage);
  /// Adds a reference to the class that differs from `id` in its cap only. O(1).
  std::int32_t acquire_with_cap(std::int32_t id, double cap);
  void release(std::int32_t id);

  [[nodiscard]] std::span<const LinkUse> usage(std::int32_t id) const {
    return patterns_[position(classes_[position(id)].pattern)].usage;
  }
  [[nodiscard]] double cap(std::int32_t id) const { return classes_[position(id)].cap; }
  [[nodiscard]] double share(std::int32_t id) const { return classes_[position(id)].share; }
  /// Hash of the class's content: an order of classes that does not depend on who came first.
  [[nodiscard]] std::uint64_t content(std::int32_t id) const {
    return classes_[position(id)].content;
  }
  [[nodiscard]] bool is_referenced(std::int32_t id) const {
    return classes_[position(id)].references > 0;
  }
  [[nodiscard]] std::size_t num_ids() const { return classes_.size(); }

  /// True if forgotten classes outnumber the living ones and are worth collecting.
  [[nodiscard]] bool has_garbage() const;
  /// Forgets all unreferenced classes; their ids may be given out again.
  void collect();

 private:
  struct Pattern {
    std::vector<LinkUse> usage;
    std::uint64_t hash = 0;
    std::int32_t references = 0;    // classes that have it
    std::int32_t latest_class = 0;  // most usages only ever have one
  };
  struct Class {
    std::int32_t pattern = 0;
    double cap = 0;
    double share = 1;
    std::uint64_t content = 0;
    std::int32_t references = 0;
    bool known = false;
  };

  [[nodiscard]] static std::size_t position(std::int32_t id) {
    return static_cast<std::size_t>(id);
  }
  std::int32_t find_or_add_pattern(std::span<const LinkUse> usage, bool& is_new);
  std::int32_t acquire_class(std::int32_t pattern, double cap, double share);

  std::vector<Pattern> patterns_;
  std::vector<Class> classes_;
  std::vector<std::int32_t> free_patterns_;
  std::vector<std::int32_t> free_classes_;
  InternTable pattern_index_;
  InternTable class_index_;
  std::size_t num_referenced_ = 0;
  std::size_t num_known_ = 0;
};

}  // namespace foretrain
