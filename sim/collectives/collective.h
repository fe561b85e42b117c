// Collectives as NCCL names them, and the choice NCCL makes for a call.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collectives/nccl_tables.h"
#include "sim/core/diagnostics.h"
#include "sim/core/ids.h"
#include "sim/core/units.h"
#include "topologies/router.h"

namespace foretrain {

enum class CollectiveKind {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kSendRecv
};
enum class CollectiveAlgorithm {
  kTree,
  kRing,
  kCollNetDirect,
  kCollNetChain,
  kNvls,
  kNvlsTree,
  kPat,
  kPeerToPeer
};
enum class CollectiveProtocol { kLl, kLl128, kSimple };

[[nodiscard]] std::string_view to_string(CollectiveKind kind);  // "all_reduce"
[[nodiscard]] std::string_view to_string(
    CollectiveAlgorithm algorithm);                                     // "Ring" (NCCL's spelling)
[[nodiscard]] std::string_view to_string(CollectiveProtocol protocol);  // "LL128"

/// The scenario's `nccl:` map: version planned for and NCCL's own variables, already checked.
struct NcclSettings {
  int version_major = 2;
  int version_minor = 28;
  std::map<std::string, std::string> environment;  // NCCL_ALGO: Ring …
};

/// A variable name or value that NCCL does not know: reported, with the real one probably meant.
[[nodiscard]] std::optional<Diagnostic> check_nccl_variable(const std::string& name,
                                                            const std::string& value);
[[nodiscard]] const std::vector<std::string>& known_nccl_variables();

/// What the planner needs to know of a machine.
struct NcclMachine {
  int compute_capability = 90;
  int gpus_per_node = 8;
  bool nvswitch = true;
  bool nvlink = true;
  int nvlink_links = 18;
  int nics_per_node = 8;
  double nic_gbytes_per_s = 50;  // as sold: 400 Gbit/s = 50
  int pcie_generation = 5;
  std::string cpu = "intel";  // intel | amd | arm
  bool multicast = true;      // NVLS possible
};

/// A process group: GPUs in rank order.
struct ProcessGroup {
  std::vector<DeviceId> gpus;
};

/// What NCCL would do for one call and what it costs.
struct CollectiveChoice {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  CollectiveProtocol protocol = CollectiveProtocol::kSimple;
  int channels = 1;      // = SMs taken on each GPU while it runs
  int max_channels = 1;  // what NCCL plans with before it splits a small call over fewer
  bool available =
      true;  // false: NCCL_ALGO or NCCL_PROTO leave the call nothing; NCCL would refuse it
  SimDuration latency{};         // the part that does not depend on the size
  DataRate algorithm_bandwidth;  // NCCL's size / time, asymptotic, alone on a healthy machine
  double estimated_us = 0;       // as ncclGroupSimulateEnd would print it
};

/// A collective lowered to the fluid network: one coupled activity.
struct LoweredCollective {
  std::vector<LinkShare> usage;  // bytes on each link per byte of `work`
  double work_bytes = 0;         // the collective's size S as nccl-tests counts it
  DataRate rate_cap;             // protocol, channel and SM limits, in bytes of `work` per second
  SimDuration latency{};
  CollectiveChoice choice;
};

struct CommunicationSchedule;  // chunk_schedule.h

/// Chooses and lowers collectives of one machine. Thread-compatible, const after construction.
class CollectivePlanner {
 public:
  CollectivePlanner(const Topology& topology, const Router& router, NcclMachine machine,
                    NcclSettings settings, NcclTables tables);
  ~CollectivePlanner();
  CollectivePlanner(CollectivePlanner&&) noexcept;

  /// The algorithm, protocol and channels for `size` (S as nccl-tests counts it: all-gather and
  /// reduce-scatter the total over ranks, all-to-all what one rank sends) on a group that has
  /// `num_nodes` nodes with equal ranks per node.
  /// Without a graph for it, `algorithm` kPeerToPeer is returned for all-to-all and send/recv.
  [[nodiscard]] CollectiveChoice choose(CollectiveKind kind, Bytes size, int num_ranks,
                                        int num_nodes) const;
  /// The same, bound to GPUs and links. `label` seeds ECMP hashes. A group of one rank has no work.
  [[nodiscard]] LoweredCollective lower(CollectiveKind kind, Bytes size, const ProcessGroup& group,
                                        std::uint64_t label) const;

  /// The same chunk by chunk, for the fidelity `chunk`.
  /// @return diagnostics if that takes more than `most_transfers`, or for CollNet, PAT and
  /// NVLSTree.
  [[nodiscard]] Result<CommunicationSchedule> schedule(CollectiveKind kind, Bytes size,
                                                       const ProcessGroup& group,
                                                       std::uint64_t label,
                                                       std::size_t most_transfers) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace foretrain
