#include "sim/collectives/fabric_load.h"

#include <algorithm>
#include <cmath>

#include "sim/core/contracts.h"
#include "sim/core/random_stream.h"

namespace foretrain {
namespace {

/// About standard normal: eight 16-bit uniforms from two draws. The same bits on every machine, as
/// no library function is involved that may round differently.
double normal(const RandomStream& stream, LinkId link, std::uint64_t direction) {
  double sum = 0;
  for (std::uint64_t draw = 0; draw < 2; ++draw) {
    const std::uint64_t bits =
        stream.bits(static_cast<std::uint64_t>(link.index()), 2 * direction + draw);
    for (int part = 0; part < 4; ++part)
      sum += (static_cast<double>((bits >> (16 * part)) & 0xffff) + 0.5) / 65536;
  }
  const double deviation = std::sqrt(8.0 / 12);
  return (sum - 4) / deviation;
}

/// The other direction of a cable: its two links have neighbouring ids.
LinkId reverse_of(const Topology& topology, LinkId link) {
  const LinkId other{link.index() ^ 1};
  FORETRAIN_ASSERT(topology.link(other).to == topology.link(link).from,
                   "cables are pairs of links");
  return other;
}

struct Uplink {
  LinkId link;
  double fraction = 0;
};

std::vector<Uplink> uplinks(const Topology& topology, DeviceId at) {
  std::vector<Uplink> result;
  double cables = 0;
  for (const LinkId id : topology.links_from(at)) {
    const Link& link = topology.link(id);
    if (topology.device(link.to).tier <= topology.device(at).tier) continue;
    result.push_back({id, static_cast<double>(link.cables)});
    cables += link.cables;
  }
  for (Uplink& uplink : result) uplink.fraction /= cables;
  return result;
}

/// What of the flows each uplink gets, in units of its fraction; sums to what all have.
std::vector<double> hashed_factors(const std::vector<Uplink>& links, double flows,
                                   const RandomStream& stream, std::uint64_t direction) {
  std::vector<double> factors;
  double sum = 0;
  for (const Uplink& uplink : links) {
    const double mean = flows * uplink.fraction;
    const double variance = mean * (1 - uplink.fraction);
    const double z = normal(stream, uplink.link, direction);
    // Binomial counts lean to the right; the worst link is out there (Cornish and Fisher, 1938).
    const double skewness = variance > 0 ? (1 - 2 * uplink.fraction) / std::sqrt(variance) : 0;
    const double deviate = z + (z * z - 1) * skewness / 6;
    factors.push_back(std::max(0.0, 1 + std::sqrt(variance) / mean * deviate));
    sum += factors.back() * uplink.fraction;
  }
  if (sum <= 0) return std::vector<double>(links.size(), 1.0);
  for (double& factor : factors) factor /= sum;
  return factors;
}

}  // namespace

FabricLoad::Load& FabricLoad::Load::operator+=(const Load& other) {
  up += other.up;
  down += other.down;
  flows += other.flows;
  return *this;
}

void FabricLoad::add_endpoint(std::size_t column, DeviceId leaf, double bytes_per_peer,
                              bool receives) {
  if (columns_.size() <= column) columns_.resize(column + 1);
  Group& group = columns_[column][leaf];
  group.bytes += bytes_per_peer;
  if (receives) group.count += 1;
}

void FabricLoad::spread(DeviceId at, const Load& load, const Load& far, bool hashed,
                        std::uint64_t seed, std::vector<LinkShare>& usage,
                        LoadOfSwitch& next) const {
  if (load.up <= 0 && load.down <= 0) return;
  const std::vector<Uplink> links = uplinks(topology_, at);
  FORETRAIN_ASSERT(!links.empty(), "the fabric joins the leaves of a column");
  std::vector<double> up(links.size(), 1.0);
  std::vector<double> down = up;
  if (hashed && load.flows > 0) {
    const RandomStream stream{seed, RandomPurpose::kEcmpHash};
    up = hashed_factors(links, load.flows, stream, 0);
    down = hashed_factors(links, load.flows, stream, 1);
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    const auto& [link, fraction] = links[i];
    if (load.up > 0 && up[i] > 0) usage.push_back({link, load.up * fraction * up[i]});
    if (load.down > 0 && down[i] > 0)
      usage.push_back({reverse_of(topology_, link), load.down * fraction * down[i]});
    if (far.up <= 0 && far.down <= 0) continue;
    // A spine that hashes give more than its part has more to pass on.
    next[topology_.link(link).to] +=
        Load{far.up * up[i], far.down * down[i], far.flows * up[i]}.times(fraction);
  }
}

void FabricLoad::take(bool hashed, std::uint64_t seed, std::vector<LinkShare>& usage) const {
  LoadOfSwitch leaves, leaves_far, spines, none;
  for (const auto& column : columns_) {
    Group all;
    std::map<int, Group> pods;
    for (const auto& [leaf, group] : column) {
      Group& pod = pods[topology_.device(leaf).pod];
      for (Group* sum : {&all, &pod}) {
        sum->bytes += group.bytes;
        sum->count += group.count;
      }
    }
    const auto beyond = [&](const Group& here, const Group& within) {
      const double peers = all.count - within.count;
      return Load{here.bytes * peers, here.count * (all.bytes - within.bytes), here.count * peers};
    };
    for (const auto& [leaf, group] : column) {
      leaves[leaf] += beyond(group, group);
      leaves_far[leaf] += beyond(group, pods[topology_.device(leaf).pod]);
    }
  }
  for (const auto& [leaf, load] : leaves)
    spread(leaf, load, leaves_far[leaf], hashed, seed, usage, spines);
  for (const auto& [spine, load] : spines) spread(spine, load, {}, hashed, seed, usage, none);
}

}  // namespace foretrain
