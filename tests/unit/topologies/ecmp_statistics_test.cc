// Hash collisions as probability theory predicts them: n flows thrown at n cables.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "test_fabrics.h"
#include "topologies/router.h"

namespace foretrain {
namespace {

struct Collisions {
  double used = 0;     // share of the uplinks in use
  double largest = 0;  // flows on the busiest uplink
};

/// All n hosts of leaf 0 send to those of leaf 1 over n uplinks; mean over labels.
Collisions collide(int n, Routing cables) {
  TopologyRequest request = plain_hosts(2 * n, 2, 2 * n);
  request.fabric.routing = cables;  // decides whether parallel cables are one link
  const Topology topology = built(request);
  const Router router{topology, {}};
  Collisions mean;
  constexpr int kTrials = 2000;
  for (std::uint64_t label = 0; label < kTrials; ++label) {
    std::map<LinkId, int> flows;
    for (int i = 0; i < n; ++i) {
      for (const LinkShare& use : router.route(topology.gpu(i), topology.gpu(n + i), label).links) {
        const Link& link = topology.link(use.link);
        if (link.tier == LinkTier::kInterSwitch && topology.device(link.from).tier == 1)
          ++flows[use.link];
      }
    }
    int largest = 0;
    for (const auto& [link, count] : flows) largest = std::max(largest, count);
    mean.used += static_cast<double>(flows.size()) / n / kTrials;
    mean.largest += static_cast<double>(largest) / kTrials;
  }
  return mean;
}

// 1 - (1 - 1/n)^n: 8: 0.6564, 32: 0.6379. Mean largest bin 2.127 (4), 2.599 (8), 3.089 (16), 3.534
// (32).
TEST(EcmpStatistics, UsedFractionAndLargestBinMatchTheory) {
  const std::vector<std::pair<int, double>> largest{
      {4, 2.127}, {8, 2.599}, {16, 3.089}, {32, 3.534}};
  for (const auto& [n, expected] : largest) {
    const Collisions mean = collide(n, Routing::kEcmp);
    const double used = 1 - std::pow(1 - 1.0 / n, n);
    const double five_sigma_used = 5 * 0.5 / std::sqrt(n * 2000.0);
    const double five_sigma_largest = 5 * 0.8 / std::sqrt(2000.0);  // the largest bin varies by 0.8
    EXPECT_NEAR(mean.used, used, five_sigma_used) << n;
    EXPECT_NEAR(mean.largest, expected, five_sigma_largest) << n;
  }
}

// The hashes of two stages are independent: all k^2/4 paths are used, not k/2 as with one hash for
// both.
TEST(EcmpStatistics, StagesDoNotPolarise) {
  const Topology topology = built(plain_hosts(128, 3, 8));
  const Router router{topology, {}};
  std::map<DeviceId, int> cores;
  constexpr int kLabels = 3200;
  for (std::uint64_t label = 0; label < kLabels; ++label) {
    for (const LinkShare& use : router.route(topology.gpu(0), topology.gpu(127), label).links) {
      const DeviceId to = topology.link(use.link).to;
      if (topology.device(to).tier == 3) ++cores[to];
    }
  }
  ASSERT_EQ(cores.size(), 16U);
  double chi_square = 0;
  for (const auto& [core, count] : cores) chi_square += std::pow(count - 200.0, 2) / 200.0;
  EXPECT_LT(chi_square, 44.3);  // 15 degrees of freedom, p = 1e-4
}

}  // namespace
}  // namespace foretrain
