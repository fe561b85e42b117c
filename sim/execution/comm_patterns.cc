#include "sim/execution/comm_patterns.h"

#include <algorithm>
#include <cmath>

#include "sim/core/fingerprint.h"

namespace foretrain {
namespace {

/// Weights that differ only by rounding must look the same.
std::uint64_t quantized(double weight) {
  if (weight <= 0) return 0;
  int exponent = 0;
  const double mantissa = std::frexp(weight, &exponent);
  return static_cast<std::uint64_t>(std::llround(mantissa * 1e10)) * 4096 +
         static_cast<std::uint64_t>(exponent + 2048);
}

bool same_pace(const RawPattern& a, const RawPattern& b) {
  return a.latency == b.latency && a.work_bytes == b.work_bytes &&
         quantized(a.rate_cap.bits_per_second()) == quantized(b.rate_cap.bits_per_second());
}

}  // namespace

RawPattern unite(const PatternClass& pattern_class) {
  std::map<LinkId, double> sum;
  RawPattern result;
  for (const RawPattern& instance : pattern_class.instances) {
    for (const LinkShare& use : instance.usage) sum[use.link] += use.share;
    result.work_bytes = std::max(result.work_bytes, instance.work_bytes);
    result.latency = std::max(result.latency, instance.latency);
    if (instance.choice.channels > result.choice.channels) result.choice = instance.choice;
    const bool capped = instance.rate_cap.bits_per_second() > 0;
    if (capped && (result.rate_cap.bits_per_second() <= 0 || instance.rate_cap < result.rate_cap)) {
      result.rate_cap = instance.rate_cap;
    }
  }
  result.usage.reserve(sum.size());
  for (const auto& [link, share] : sum) result.usage.push_back({link, share});
  return result;
}

bool is_symmetric(const std::vector<PatternClass>& classes, const LinkCapacities& capacities) {
  // Colour of a link: its capacity and, class by class, how much of it the class as a whole uses.
  std::vector<std::vector<std::pair<int, double>>> columns(capacities.size());
  for (std::size_t c = 0; c < classes.size(); ++c) {
    for (const RawPattern& instance : classes[c].instances) {
      for (const LinkShare& use : instance.usage) {
        auto& column = columns[use.link.position()];
        if (column.empty() || column.back().first != static_cast<int>(c)) {
          column.emplace_back(static_cast<int>(c), 0.0);
        }
        column.back().second += use.share;
      }
    }
  }
  std::vector<std::uint64_t> colour(capacities.size(), 0);
  for (std::size_t l = 0; l < columns.size(); ++l) {
    if (columns[l].empty()) continue;
    Fingerprint hash;
    hash.add(quantized(capacities[l].bits_per_second()));
    for (const auto& [c, weight] : columns[l]) {
      hash.add(static_cast<std::uint64_t>(c));
      hash.add(quantized(weight));
    }
    colour[l] = hash.value();
  }
  for (const PatternClass& pattern_class : classes) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> first;
    for (std::size_t i = 0; i < pattern_class.instances.size(); ++i) {
      const RawPattern& instance = pattern_class.instances[i];
      const RawPattern& reference = pattern_class.instances.front();
      if (!same_pace(instance, reference)) return false;
      std::vector<std::pair<std::uint64_t, std::uint64_t>> signature;
      signature.reserve(instance.usage.size());
      for (const LinkShare& use : instance.usage) {
        signature.emplace_back(colour[use.link.position()], quantized(use.share));
      }
      std::sort(signature.begin(), signature.end());
      if (i == 0) {
        first = std::move(signature);
      } else if (signature != first) {
        return false;
      }
    }
  }
  return true;
}

bool alike(const std::vector<PatternClass>& classes) {
  return std::all_of(classes.begin(), classes.end(), [](const PatternClass& pattern_class) {
    return std::all_of(
        pattern_class.instances.begin(), pattern_class.instances.end(),
        [&](const RawPattern& one) { return same_pace(one, pattern_class.instances.front()); });
  });
}

CompressedLinks compress_links(const std::vector<std::vector<LinkShare>>& usages,
                               const LinkCapacities& capacities) {
  std::vector<std::vector<std::pair<int, double>>> columns(capacities.size());
  for (std::size_t p = 0; p < usages.size(); ++p) {
    for (const LinkShare& use : usages[p]) {
      if (use.share > 0) columns[use.link.position()].emplace_back(static_cast<int>(p), use.share);
    }
  }
  CompressedLinks result;
  result.patterns.resize(usages.size());
  std::map<std::vector<std::pair<int, double>>, int> known;
  for (std::size_t l = 0; l < columns.size(); ++l) {
    if (columns[l].empty()) continue;
    const auto [entry, inserted] =
        known.try_emplace(columns[l], static_cast<int>(result.members.size()));
    const auto index = static_cast<std::size_t>(entry->second);
    if (inserted) {
      result.members.emplace_back();
      result.capacities.push_back(capacities[l]);
      for (const auto& [pattern, weight] : columns[l]) {
        result.patterns[static_cast<std::size_t>(pattern)].usage.push_back(
            {LinkId{entry->second}, weight});
      }
    }
    result.members[index].push_back(LinkId{static_cast<std::int32_t>(l)});
    result.capacities[index] = std::min(result.capacities[index], capacities[l]);
  }
  return result;
}

}  // namespace foretrain
