// Open-addressing index from hash to dense id; the caller compares the values themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace foretrain {

/// Linear probing at most half full. O(1) expected; grows by doubling. Entries leave only by
/// clear().
class InternTable {
 public:
  static constexpr std::int32_t kNone = -1;

  /// First id with this hash for which `equal(id)` holds, or kNone.
  template <class Equal>
  [[nodiscard]] std::int32_t find(std::uint64_t hash, Equal equal) const {
    if (buckets_.empty()) return kNone;
    for (std::size_t at = hash & mask();; at = (at + 1) & mask()) {
      const Bucket& bucket = buckets_[at];
      if (bucket.id == kNone) return kNone;
      if (bucket.hash == hash && equal(bucket.id)) return bucket.id;
    }
  }

  void insert(std::uint64_t hash, std::int32_t id) {
    if (2 * (size_ + 1) > buckets_.size()) grow();
    place(hash, id);
    ++size_;
  }

  void clear() {
    buckets_.assign(buckets_.size(), Bucket{});
    size_ = 0;
  }

 private:
  struct Bucket {
    std::uint64_t hash = 0;
    std::int32_t id = kNone;
  };

  [[nodiscard]] std::size_t mask() const { return buckets_.size() - 1; }

  void place(std::uint64_t hash, std::int32_t id) {
    std::size_t at = hash & mask();
    while (buckets_[at].id != kNone) at = (at + 1) & mask();
    buckets_[at] = {hash, id};
  }

  void grow() {
    std::vector<Bucket> old(buckets_.empty() ? 64 : 2 * buckets_.size());
    old.swap(buckets_);
    for (const Bucket& bucket : old) {
      if (bucket.id != kNone) place(bucket.hash, bucket.id);
    }
  }

  std::vector<Bucket> buckets_;
  std::size_t size_ = 0;
};

}  // namespace foretrain
