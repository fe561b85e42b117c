// Bytes on the links between switches when many endpoints exchange data with each other: by counts,
// not flow by flow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "topologies/router.h"
#include "topologies/topology.h"

namespace foretrain {

/// All endpoints of a column send to all others of it. What leaves a leaf is what its endpoints
/// have for endpoints below other leaves, what leaves a spine is what is for other pods; both are
/// split over uplinks by cables, and so is what comes down.
///
///   up(leaf) = sum over columns of a (B - b),   far(leaf) = sum over columns of a (B - b_pod)
///
/// with a the bytes per peer of the leaf's endpoints, b, b_pod, B the endpoints below the leaf, of
/// its pod and of the column. With hashing, each flow takes one uplink: the counts of a switch are
/// drawn as if multinomial (normal approximation with skewness).
/// @note  Exact for spraying on folded Clos fabrics whose leaves meet the same spines.
class FabricLoad {
 public:
  explicit FabricLoad(const Topology& topology) : topology_(topology) {}

  /// @param bytes_per_peer  what the endpoint sends to each other endpoint of its column that
  ///                        receives.
  void add_endpoint(std::size_t column, DeviceId leaf, double bytes_per_peer, bool receives);
  /// Appends the shares to `usage`. `seed` is that of the draws.
  void take(bool hashed, std::uint64_t seed, std::vector<LinkShare>& usage) const;

 private:
  struct Group {
    double bytes = 0;  // per peer
    double count = 0;  // that receive
  };
  /// Of one switch, to and from above.
  struct Load {
    double up = 0, down = 0, flows = 0;
    Load& operator+=(const Load& other);
    [[nodiscard]] Load times(double factor) const {
      return {up * factor, down * factor, flows * factor};
    }
  };
  using LoadOfSwitch = std::map<DeviceId, Load>;

  /// Splits a switch's load over its uplinks; `far`, the part that goes on, over the next switches.
  void spread(DeviceId at, const Load& load, const Load& far, bool hashed, std::uint64_t seed,
              std::vector<LinkShare>& usage, LoadOfSwitch& next) const;

  const Topology& topology_;
  std::vector<std::map<DeviceId, Group>> columns_;
};

}  // namespace foretrain
