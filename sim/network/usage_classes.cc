#include "sim/network/usage_classes.h"

#include <algorithm>
#include <bit>

#include "sim/network/hash_mix.h"

namespace foretrain {
namespace {

std::uint64_t hash_usage(std::span<const LinkUse> usage) {
  // One multiplication deep per link; the constants are odd words without structure.
  std::uint64_t hash = usage.size();
  for (const LinkUse& use : usage) {
    const std::uint64_t word = std::uint64_t{use.link.position()} * 0x9e3779b97f4a7c15ULL +
                               std::bit_cast<std::uint64_t>(use.weight) * 0xc2b2ae3d27d4eb4fULL;
    hash = (std::rotl(hash, 29) ^ word) * 0xff51afd7ed558ccdULL;
  }
  return mix_bits(hash);
}

bool is_same(std::span<const LinkUse> a, std::span<const LinkUse> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const LinkUse& x, const LinkUse& y) {
    return x.link == y.link && x.weight == y.weight;
  });
}

}  // namespace

std::int32_t UsageClasses::acquire(std::span<const LinkUse> usage, double cap, double share,
                                   bool& is_new_usage) {
  return acquire_class(find_or_add_pattern(usage, is_new_usage), cap, share);
}

std::int32_t UsageClasses::acquire_with_cap(std::int32_t id, double cap) {
  const Class& base = classes_[position(id)];
  return acquire_class(base.pattern, cap, base.share);
}

std::int32_t UsageClasses::find_or_add_pattern(std::span<const LinkUse> usage, bool& is_new) {
  const std::uint64_t hash = hash_usage(usage);
  const std::int32_t found = pattern_index_.find(
      hash, [&](std::int32_t id) { return is_same(patterns_[position(id)].usage, usage); });
  is_new = found == InternTable::kNone;
  if (!is_new) return found;
  std::int32_t id = 0;
  if (free_patterns_.empty()) {
    id = static_cast<std::int32_t>(patterns_.size());
    patterns_.emplace_back();
  } else {
    id = free_patterns_.back();
    free_patterns_.pop_back();
  }
  Pattern& pattern = patterns_[position(id)];
  pattern.usage.assign(usage.begin(), usage.end());
  pattern.hash = hash;
  pattern.references = 0;
  pattern_index_.insert(hash, id);
  return id;
}

std::int32_t UsageClasses::acquire_class(std::int32_t pattern, double cap, double share) {
  const auto is_wanted = [&](std::int32_t other) {
    const Class& known = classes_[position(other)];
    return known.pattern == pattern && known.cap == cap && known.share == share;
  };
  Pattern& owner = patterns_[position(pattern)];
  std::int32_t id = owner.latest_class;
  if (owner.references > 0 && classes_[position(id)].known && is_wanted(id)) {
    if (classes_[position(id)].references++ == 0) ++num_referenced_;
    return id;
  }
  const std::uint64_t content = mix_pair(mix_pair(owner.hash, cap), share);
  id = class_index_.find(content, is_wanted);
  if (id == InternTable::kNone) {
    if (free_classes_.empty()) {
      id = static_cast<std::int32_t>(classes_.size());
      classes_.emplace_back();
    } else {
      id = free_classes_.back();
      free_classes_.pop_back();
    }
    classes_[position(id)] = {pattern, cap, share, content, 0, true};
    class_index_.insert(content, id);
    ++owner.references;
    ++num_known_;
  }
  owner.latest_class = id;
  if (classes_[position(id)].references++ == 0) ++num_referenced_;
  return id;
}

void UsageClasses::release(std::int32_t id) {
  if (--classes_[position(id)].references == 0) --num_referenced_;
}

bool UsageClasses::has_garbage() const {
  constexpr std::size_t kWorthCollecting = 16384;  // a step's classes stay known well below it
  const std::size_t garbage = num_known_ - num_referenced_;
  return garbage > kWorthCollecting && garbage > num_referenced_;
}

void UsageClasses::collect() {
  pattern_index_.clear();
  class_index_.clear();
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    Class& known = classes_[i];
    if (!known.known) continue;
    if (known.references > 0) {
      class_index_.insert(known.content, static_cast<std::int32_t>(i));
      continue;
    }
    known.known = false;
    free_classes_.push_back(static_cast<std::int32_t>(i));
    Pattern& pattern = patterns_[position(known.pattern)];
    if (--pattern.references == 0) free_patterns_.push_back(known.pattern);
  }
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    if (patterns_[i].references > 0) {
      pattern_index_.insert(patterns_[i].hash, static_cast<std::int32_t>(i));
    }
  }
  num_known_ = num_referenced_;
}

}  // namespace foretrain
