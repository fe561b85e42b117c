// NCCL_ALGO and NCCL_PROTO: lists of names, by function since 2.24.
#pragma once

#include <string>

#include "sim/collectives/collective.h"

namespace foretrain {

/// What the two lists leave for one collective.
/// Grammar: `[^]name,name…`, or since 2.24 `default;function:list;…` with functions broadcast,
/// reduce, allgather, reducescatter, allreduce. `^` takes names away. Up to 2.23 a list that leaves
/// nothing leaves Ring.
class NcclLists {
 public:
  NcclLists(const NcclSettings& settings, CollectiveKind kind);
  [[nodiscard]] bool allows(CollectiveAlgorithm algorithm) const;
  [[nodiscard]] bool allows(CollectiveProtocol protocol) const;
  /// LL128 by name switches its safety rule off.
  [[nodiscard]] bool names_ll128() const { return names_ll128_; }

 private:
  bool algorithms_[8];
  bool protocols_[3];
  bool names_ll128_ = false;
};

/// A problem of the value of NCCL_ALGO or NCCL_PROTO, empty if there is none.
[[nodiscard]] std::string nccl_list_problem(const std::string& variable, const std::string& value);

}  // namespace foretrain
