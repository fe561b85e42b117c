#include "sim/collectives/collective.h"

namespace foretrain {

std::string_view to_string(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce: return "all_reduce";
    case CollectiveKind::kAllGather: return "all_gather";
    case CollectiveKind::kReduceScatter: return "reduce_scatter";
    case CollectiveKind::kBroadcast: return "broadcast";
    case CollectiveKind::kReduce: return "reduce";
    case CollectiveKind::kAllToAll: return "all_to_all";
    case CollectiveKind::kSendRecv: return "send_recv";
  }
  return "";
}

std::string_view to_string(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::kTree: return "Tree";
    case CollectiveAlgorithm::kRing: return "Ring";
    case CollectiveAlgorithm::kCollNetDirect: return "CollNetDirect";
    case CollectiveAlgorithm::kCollNetChain: return "CollNetChain";
    case CollectiveAlgorithm::kNvls: return "NVLS";
    case CollectiveAlgorithm::kNvlsTree: return "NVLSTree";
    case CollectiveAlgorithm::kPat: return "PAT";
    case CollectiveAlgorithm::kPeerToPeer: return "P2P";
  }
  return "";
}

std::string_view to_string(CollectiveProtocol protocol) {
  switch (protocol) {
    case CollectiveProtocol::kLl: return "LL";
    case CollectiveProtocol::kLl128: return "LL128";
    case CollectiveProtocol::kSimple: return "Simple";
  }
  return "";
}

}  // namespace foretrain
