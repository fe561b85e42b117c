#include <algorithm>
#include <charconv>

#include "sim/collectives/collective.h"

namespace foretrain {

const std::vector<std::string>& known_nccl_variables() {
  static const std::vector<std::string> kNames = {
      "NCCL_ALGO", "NCCL_PROTO", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_MIN_NRINGS", "NCCL_MAX_NRINGS",
      "NCCL_MIN_CTAS", "NCCL_MAX_CTAS", "NCCL_NVLS_NCHANNELS", "NCCL_NTHREADS", "NCCL_LL128_NTHREADS",
      "NCCL_THREAD_THRESHOLDS", "NCCL_BUFFSIZE", "NCCL_LL_BUFFSIZE", "NCCL_LL128_BUFFSIZE", "NCCL_P2P_NET_CHUNKSIZE",
      "NCCL_P2P_PCI_CHUNKSIZE", "NCCL_P2P_NVL_CHUNKSIZE", "NCCL_CHUNK_SIZE", "NCCL_CROSS_NIC", "NCCL_PXN_DISABLE",
      "NCCL_P2P_PXN_LEVEL", "NCCL_PXN_C2C", "NCCL_NVLS_ENABLE", "NCCL_NVLS_CHUNKSIZE", "NCCL_NVLSTREE_MAX_CHUNKSIZE",
      "NCCL_COLLNET_ENABLE", "NCCL_COLLNET_NODE_THRESHOLD", "NCCL_PAT_ENABLE", "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL",
      "NCCL_P2P_USE_CUDA_MEMCPY", "NCCL_P2P_READ_ENABLE", "NCCL_P2P_DIRECT_DISABLE", "NCCL_SHM_DISABLE",
      "NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_READ", "NCCL_NET_GDR_C2C", "NCCL_IB_DISABLE", "NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_TC",
      "NCCL_IB_SL", "NCCL_IB_ROCE_VERSION_NUM", "NCCL_IB_TIMEOUT", "NCCL_IB_RETRY_CNT", "NCCL_IB_QPS_PER_CONNECTION",
      "NCCL_IB_SPLIT_DATA_ON_QPS", "NCCL_IB_ADAPTIVE_ROUTING", "NCCL_IB_AR_THRESHOLD", "NCCL_IB_PCI_RELAXED_ORDERING",
      "NCCL_IB_MERGE_NICS", "NCCL_NET_MERGE_LEVEL", "NCCL_NET_FORCE_MERGE", "NCCL_IB_DATA_DIRECT", "NCCL_NET",
      "NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN", "NCCL_TUNER_CONFIG_FILE", "NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY", "NCCL_SOCKET_NTHREADS",
      "NCCL_NSOCKS_PERTHREAD", "NCCL_NCHANNELS_PER_NET_PEER", "NCCL_P2P_PER_CHANNEL_NET_BW", "NCCL_MIN_P2P_NCHANNELS",
      "NCCL_MAX_P2P_NCHANNELS", "NCCL_P2P_LL_THRESHOLD", "NCCL_TOPO_FILE", "NCCL_TOPO_DUMP_FILE", "NCCL_TOPO_DUMP_FILE_RANK",
      "NCCL_GRAPH_FILE", "NCCL_GRAPH_DUMP_FILE", "NCCL_GRAPH_DUMP_FILE_RANK", "NCCL_HOSTID", "NCCL_MULTI_RANK_GPU_ENABLE",
      "NCCL_MNNVL_ENABLE", "NCCL_MNNVL_UUID", "NCCL_MNNVL_CLIQUE_ID", "NCCL_NET_OVERHEAD", "NCCL_CTA_POLICY", "NCCL_DEBUG",
      "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE", "NCCL_COMM_ID", "NCCL_CONF_FILE", "NCCL_LAUNCH_MODE", "NCCL_NVB_DISABLE",
      "NCCL_NVB_PRECONNECT", "NCCL_CUMEM_ENABLE", "NCCL_CUMEM_HOST_ENABLE", "NCCL_SET_STACK_SIZE", "NCCL_CGA_CLUSTER_SIZE", "NCCL_RAS_ENABLE",
      "NCCL_RUNTIME_CONNECT", "NCCL_GRAPH_REGISTER", "NCCL_LOCAL_REGISTER", "NCCL_LL128_C2C", "NCCL_NETDEVS_POLICY",
      "NCCL_IGNORE_CPU_AFFINITY", "NCCL_DMABUF_ENABLE", "NCCL_WIN_ENABLE", "NCCL_SYM_CTAS", "NCCL_PROGRESS_APPENDOP_FREQ", "NCCL_CHECK_POINTERS",
      "NCCL_COMM_BLOCKING", "NCCL_COMM_SPLIT_SHARE_RESOURCES", "NCCL_IB_CUDA_SUPPORT", "NCCL_IB_PKEY", "NCCL_IB_USE_INLINE", "NCCL_OOB_NET_ENABLE", "NCCL_SHARP_DISABLE",
      "NCCL_SHARP_GROUP_SIZE_THRESH", "NCCL_UID_STAGGER_RATE", "NCCL_UID_STAGGER_THRESHOLD", "NCCL_WORK_FIFO_BYTES", "NCCL_NVLINK_UTIL_CENTRIC_SCHED_ENABLE"};
  return kNames;
}

namespace {

struct InventedName {
  const char* name;
  const char* meant;
};

/// Names that circulate and that no release of NCCL reads.
constexpr InventedName kInvented[] = {
    {"NCCL_ORDER_VIA_NVLINK", "nothing like it exists"},
    {"NCCL_MAX_CHUNK_SIZE", "NCCL_BUFFSIZE, or the NCCL_P2P_*_CHUNKSIZE of the transport"},
    {"NCCL_MIN_CHUNK_SIZE", "NCCL_BUFFSIZE, or the NCCL_P2P_*_CHUNKSIZE of the transport"},
    {"NCCL_IB_DISABLE_DIRECT", "NCCL_IB_DISABLE, NCCL_NET_GDR_LEVEL=LOC or NCCL_IB_DATA_DIRECT"},
};

std::optional<Diagnostic> limit(const std::string& name, const std::string& value, long least, long most,
                                const char* hint) {
  long number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc{} && end == value.data() + value.size() && number >= least && number <= most) {
    return std::nullopt;
  }
  return Diagnostic{Severity::kWarning, {}, "nccl." + name, "value '" + value + "' is not legal", hint};
}

}  // namespace

std::optional<Diagnostic> check_nccl_variable(const std::string& name, const std::string& value) {
  for (const InventedName& invented : kInvented) {
    if (name == invented.name) {
      return Diagnostic{Severity::kWarning, {}, "nccl." + name, "NCCL has no such variable and ignores it",
                        std::string{"meant: "} + invented.meant};
    }
  }
  const auto& known = known_nccl_variables();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    const std::string nearest = nearest_name(name, known);
    return Diagnostic{Severity::kWarning, {}, "nccl." + name, "NCCL has no such variable and ignores it",
                      nearest.empty() ? std::string{} : "did you mean " + nearest + "?"};
  }
  if (name == "NCCL_IB_TIMEOUT") return limit(name, value, 0, 31, "5 bits: 0 to 31; 20 to 23 are usual");
  if (name == "NCCL_IB_RETRY_CNT") return limit(name, value, 0, 7, "0 to 7");
  if (name == "NCCL_IB_QPS_PER_CONNECTION") return limit(name, value, 1, 128, "1 to 128");
  if (name == "NCCL_CROSS_NIC") return limit(name, value, 0, 2, "0, 1 or 2");
  return std::nullopt;
}

}  // namespace foretrain
