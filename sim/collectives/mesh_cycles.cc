#include <algorithm>
#include <cmath>
#include <cstddef>

#include "sim/collectives/usage_builder.h"

namespace foretrain {
namespace {

/// Links between GPUs as multiples of the narrowest, used up by cycles.
class MeshSearch {
 public:
  explicit MeshSearch(std::vector<std::vector<int>> room) : room_(std::move(room)) {}

  /// A cycle through all GPUs over links with room, widest first; empty if there is none.
  std::vector<std::size_t> find() {
    path_.assign(1, 0);
    used_.assign(room_.size(), false);
    used_[0] = true;
    return extend() ? path_ : std::vector<std::size_t>{};
  }
  void take(const std::vector<std::size_t>& cycle) {
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const std::size_t a = cycle[i], b = cycle[(i + 1) % cycle.size()];
      --room_[a][b];
      if (cycle.size() > 2) --room_[b][a];
    }
  }

 private:
  bool extend() {
    const std::size_t at = path_.back();
    if (path_.size() == room_.size()) return room_[at][0] > 0;
    std::vector<std::size_t> next;
    for (std::size_t to = 0; to < room_.size(); ++to) {
      if (!used_[to] && room_[at][to] > 0) next.push_back(to);
    }
    std::stable_sort(next.begin(), next.end(),
                     [&](std::size_t a, std::size_t b) { return room_[at][a] > room_[at][b]; });
    for (const std::size_t to : next) {
      path_.push_back(to);
      used_[to] = true;
      if (extend()) return true;
      used_[to] = false;
      path_.pop_back();
    }
    return false;
  }

  std::vector<std::vector<int>> room_;
  std::vector<std::size_t> path_;
  std::vector<bool> used_;
};

}  // namespace

std::vector<std::vector<std::size_t>> mesh_cycles(const Topology& topology,
                                                  const std::vector<DeviceId>& gpus) {
  const std::size_t n = gpus.size();
  if (n > 8) return {};
  std::vector<std::vector<double>> width(n, std::vector<double>(n, 0));
  double narrowest = 0;
  for (std::size_t from = 0; from < n; ++from) {
    for (const LinkId id : topology.links_from(gpus[from])) {
      const Link& link = topology.link(id);
      const auto to = std::find(gpus.begin(), gpus.end(), link.to);
      if (link.tier != LinkTier::kNvlink || to == gpus.end()) continue;
      const double bandwidth = link.bandwidth.bytes_per_second();
      width[from][static_cast<std::size_t>(to - gpus.begin())] += bandwidth;
      narrowest = narrowest > 0 ? std::min(narrowest, bandwidth) : bandwidth;
    }
  }
  if (narrowest <= 0) return {};
  // Two cycles to a narrowest link: in a full mesh of four, three cycles use each link twice.
  std::vector<std::vector<int>> room(n, std::vector<int>(n, 0));
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b)
      room[a][b] = static_cast<int>(std::lround(2 * width[a][b] / narrowest));
  }
  MeshSearch search{std::move(room)};
  std::vector<std::vector<std::size_t>> cycles;
  for (std::vector<std::size_t> cycle = search.find(); !cycle.empty(); cycle = search.find()) {
    search.take(cycle);
    cycles.push_back(cycle);
    if (n > 2) cycles.emplace_back(cycle.rbegin(), cycle.rend());
  }
  return cycles;
}

}  // namespace foretrain
