// Identities as strong types: a RankId cannot be compared with a LinkId.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace foretrain {

/// Dense index of an entity, starting at 0. The tag makes each kind its own type.
template <class Tag>
class StrongId {
 public:
  constexpr StrongId() = default;
  constexpr explicit StrongId(std::int32_t index) : index_(index) {}
  [[nodiscard]] constexpr std::int32_t index() const { return index_; }
  [[nodiscard]] constexpr std::size_t position() const { return static_cast<std::size_t>(index_); }
  constexpr auto operator<=>(const StrongId&) const = default;

 private:
  std::int32_t index_ = -1;
};

using RankId = StrongId<struct RankIdTag>;          // a process of the job, one per GPU
using NodeId = StrongId<struct NodeIdTag>;          // a host
using DeviceId = StrongId<struct DeviceIdTag>;      // vertex of a topology (GPU, NIC, switch)
using LinkId = StrongId<struct LinkIdTag>;          // directed link of a topology
using ActivityId = StrongId<struct ActivityIdTag>;  // a transfer in flight in the network model

}  // namespace foretrain
