#include "sim/network/rate_memo.h"

#include <algorithm>

#include "sim/network/hash_mix.h"

namespace foretrain {
namespace {

constexpr std::size_t kMaxWords = std::size_t{1} << 20U;  // 16 MiB of keys and rates

std::uint64_t hash_key(std::span<const std::uint64_t> key) {
  std::uint64_t hash = key.size();
  for (const std::uint64_t word : key) hash = mix_bits(hash + 0x9e3779b97f4a7c15ULL) ^ word;
  return mix_bits(hash);
}

}  // namespace

std::span<const double> RateMemo::find(std::span<const std::uint64_t> key) const {
  const std::int32_t found = index_.find(hash_key(key), [&](std::int32_t id) {
    const Record& record = records_[static_cast<std::size_t>(id)];
    return record.size == key.size() &&
           std::equal(key.begin(), key.end(),
                      keys_.begin() + static_cast<std::ptrdiff_t>(record.begin));
  });
  if (found == InternTable::kNone) return {};
  const Record& record = records_[static_cast<std::size_t>(found)];
  return std::span<const double>{rates_}.subspan(record.begin, record.size);
}

void RateMemo::remember(std::span<const std::uint64_t> key, std::span<const double> rates) {
  if (key.size() > kMaxWords / 4) return;  // one set must not push out all others
  if (keys_.size() + key.size() > kMaxWords) clear();
  index_.insert(hash_key(key), static_cast<std::int32_t>(records_.size()));
  records_.push_back({keys_.size(), key.size()});
  keys_.insert(keys_.end(), key.begin(), key.end());
  rates_.insert(rates_.end(), rates.begin(), rates.end());
}

void RateMemo::clear() {
  records_.clear();
  keys_.clear();
  rates_.clear();
  index_.clear();
}

}  // namespace foretrain
