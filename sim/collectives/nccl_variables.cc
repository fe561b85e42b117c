#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collectives/collective.h"
#include "sim/collectives/nccl_lists.h"

namespace foretrain {
namespace {

/// How a value is checked.
enum class ValueKind { kText, kFlag, kInteger, kWords, kLists };

struct Variable {
  const char* name;
  ValueKind kind = ValueKind::kText;
  long least = 0, most = 0;  // of integers
  const char* words = "";    // separated by blanks
};

constexpr long kAny = 1L << 40;

// Names read by NCCL 2.18 to 2.30. @source NCCL_PARAM and getenv in the releases' sources; NVIDIA
// NCCL user guide, "Environment Variables" (2.28), read 2026-12-01.
constexpr Variable kVariables[] = {
    {"NCCL_ALGO", ValueKind::kLists},
    {"NCCL_PROTO", ValueKind::kLists},
    {"NCCL_MIN_NCHANNELS", ValueKind::kInteger, 1, 64},
    {"NCCL_MAX_NCHANNELS", ValueKind::kInteger, 1, 64},
    {"NCCL_MIN_NRINGS", ValueKind::kInteger, 1, 64},
    {"NCCL_MAX_NRINGS", ValueKind::kInteger, 1, 64},
    {"NCCL_MIN_CTAS", ValueKind::kInteger, 1, 64},
    {"NCCL_MAX_CTAS", ValueKind::kInteger, 1, 64},
    {"NCCL_NVLS_NCHANNELS", ValueKind::kInteger, 1, 64},
    {"NCCL_NTHREADS", ValueKind::kWords, 0, 0, "64 128 256 512"},
    {"NCCL_LL128_NTHREADS", ValueKind::kInteger, 160, 640},
    {"NCCL_THREAD_THRESHOLDS"},
    {"NCCL_BUFFSIZE", ValueKind::kInteger, 1, kAny},
    {"NCCL_LL_BUFFSIZE", ValueKind::kInteger, 1, kAny},
    {"NCCL_LL128_BUFFSIZE", ValueKind::kInteger, 1, kAny},
    {"NCCL_P2P_NET_CHUNKSIZE", ValueKind::kInteger, 1, kAny},
    {"NCCL_P2P_PCI_CHUNKSIZE", ValueKind::kInteger, 1, kAny},
    {"NCCL_P2P_NVL_CHUNKSIZE", ValueKind::kInteger, 1, kAny},
    {"NCCL_CHUNK_SIZE", ValueKind::kInteger, 0, kAny},
    {"NCCL_NVLS_CHUNKSIZE", ValueKind::kInteger, 1, kAny},
    {"NCCL_NVLSTREE_MAX_CHUNKSIZE", ValueKind::kInteger, 1, kAny},
    {"NCCL_CROSS_NIC", ValueKind::kInteger, 0, 2},
    {"NCCL_PXN_DISABLE", ValueKind::kFlag},
    {"NCCL_P2P_PXN_LEVEL", ValueKind::kInteger, 0, 2},
    {"NCCL_PXN_C2C", ValueKind::kFlag},
    {"NCCL_NVLS_ENABLE", ValueKind::kInteger, 0, 2},
    {"NCCL_COLLNET_ENABLE", ValueKind::kFlag},
    {"NCCL_COLLNET_NODE_THRESHOLD", ValueKind::kInteger, 1, kAny},
    {"NCCL_PAT_ENABLE", ValueKind::kInteger, 0, 2},
    {"NCCL_P2P_DISABLE", ValueKind::kFlag},
    {"NCCL_P2P_LEVEL", ValueKind::kWords, 0, 0, "LOC NVL PIX PXB PHB SYS 0 1 2 3 4 5"},
    {"NCCL_P2P_DIRECT_DISABLE", ValueKind::kFlag},
    {"NCCL_P2P_USE_CUDA_MEMCPY", ValueKind::kFlag},
    {"NCCL_P2P_READ_ENABLE", ValueKind::kInteger, -2, 1},
    {"NCCL_SHM_DISABLE", ValueKind::kFlag},
    {"NCCL_SHM_USE_CUDA_MEMCPY", ValueKind::kFlag},
    {"NCCL_SHM_MEMCPY_MODE", ValueKind::kInteger, 1, 3},
    {"NCCL_SHM_LOCALITY", ValueKind::kInteger, 1, 2},
    {"NCCL_NET_GDR_LEVEL", ValueKind::kWords, 0, 0, "LOC PIX PXB P2C PXN PHB SYS 0 1 2 3 4 5"},
    {"NCCL_NET_GDR_READ", ValueKind::kInteger, -2, 1},
    {"NCCL_NET_GDR_C2C", ValueKind::kFlag},
    {"NCCL_NET_SHARED_BUFFERS", ValueKind::kInteger, -2, 1},
    {"NCCL_NET_SHARED_COMMS", ValueKind::kFlag},
    {"NCCL_NET_DISABLE_INTRA", ValueKind::kInteger, -2, 1},
    {"NCCL_NET_FORCE_FLUSH", ValueKind::kFlag},
    {"NCCL_NET_OVERHEAD", ValueKind::kInteger, -2, kAny},
    {"NCCL_NET_MERGE_LEVEL"},
    {"NCCL_NET_FORCE_MERGE"},
    {"NCCL_NET_OPTIONAL_RECV_COMPLETION", ValueKind::kFlag},
    {"NCCL_NETDEVS_POLICY"},
    {"NCCL_IB_DISABLE", ValueKind::kFlag},
    {"NCCL_IB_HCA"},
    {"NCCL_IB_GID_INDEX", ValueKind::kInteger, -1, 255},
    {"NCCL_IB_ADDR_FAMILY"},
    {"NCCL_IB_ADDR_RANGE"},
    {"NCCL_IB_ROCE_VERSION_NUM", ValueKind::kInteger, 1, 2},
    {"NCCL_IB_TC", ValueKind::kInteger, -1, 255},
    {"NCCL_IB_FIFO_TC", ValueKind::kInteger, -1, 255},
    {"NCCL_IB_SL", ValueKind::kInteger, -1, 15},
    {"NCCL_IB_TIMEOUT", ValueKind::kInteger, 0, 31},
    {"NCCL_IB_RETRY_CNT", ValueKind::kInteger, 0, 7},
    {"NCCL_IB_PKEY", ValueKind::kInteger, 0, 65535},
    {"NCCL_IB_USE_INLINE", ValueKind::kFlag},
    {"NCCL_IB_CUDA_SUPPORT"},
    {"NCCL_IB_QPS_PER_CONNECTION", ValueKind::kInteger, 1, 128},
    {"NCCL_IB_SPLIT_DATA_ON_QPS", ValueKind::kFlag},
    {"NCCL_IB_ADAPTIVE_ROUTING", ValueKind::kInteger, -2, 1},
    {"NCCL_IB_AR_THRESHOLD", ValueKind::kInteger, 0, kAny},
    {"NCCL_IB_PCI_RELAXED_ORDERING", ValueKind::kInteger, 0, 2},
    {"NCCL_IB_MERGE_NICS", ValueKind::kFlag},
    {"NCCL_IB_MERGE_VFS", ValueKind::kFlag},
    {"NCCL_IB_DATA_DIRECT", ValueKind::kInteger, 0, 2},
    {"NCCL_IB_RETURN_ASYNC_EVENTS", ValueKind::kFlag},
    {"NCCL_IB_ASYNC_EVENTS", ValueKind::kFlag},
    {"NCCL_IB_ECE_ENABLE", ValueKind::kFlag},
    {"NCCL_IB_GDR_FLUSH_DISABLE", ValueKind::kFlag},
    {"NCCL_IB_WARN_RAIL_LOCAL", ValueKind::kFlag},
    {"NCCL_IB_MLX5_DISABLE", ValueKind::kFlag},
    {"NCCL_GDR_FLUSH_DISABLE", ValueKind::kFlag},
    {"NCCL_GDRCOPY_ENABLE", ValueKind::kFlag},
    {"NCCL_GDRCOPY_FIFO_ENABLE", ValueKind::kFlag},
    {"NCCL_GDRCOPY_FLUSH_ENABLE", ValueKind::kFlag},
    {"NCCL_GDRCOPY_SYNC_ENABLE", ValueKind::kFlag},
    {"NCCL_DMABUF_ENABLE", ValueKind::kFlag},
    {"NCCL_NET"},
    {"NCCL_NET_PLUGIN"},
    {"NCCL_TUNER_PLUGIN"},
    {"NCCL_TUNER_CONFIG_FILE"},
    {"NCCL_PROFILER_PLUGIN"},
    {"NCCL_ENV_PLUGIN"},
    {"NCCL_GIN_ENABLE", ValueKind::kFlag},
    {"NCCL_GIN_TYPE"},
    {"NCCL_PROFILE_EVENT_MASK"},
    {"NCCL_SOCKET_IFNAME"},
    {"NCCL_SOCKET_FAMILY", ValueKind::kWords, 0, 0, "AF_INET AF_INET6"},
    {"NCCL_SOCKET_NTHREADS", ValueKind::kInteger, 1, 16},
    {"NCCL_NSOCKS_PERTHREAD", ValueKind::kInteger, 1, 64},
    {"NCCL_SOCKET_RETRY_CNT", ValueKind::kInteger, 0, kAny},
    {"NCCL_SOCKET_RETRY_SLEEP_MSEC", ValueKind::kInteger, 0, kAny},
    {"NCCL_SOCKET_POLL_TIMEOUT_MSEC", ValueKind::kInteger, 0, kAny},
    {"NCCL_SOCKET_INLINE", ValueKind::kInteger, 0, kAny},
    {"NCCL_SOCKET_MIN_TASKSIZE", ValueKind::kInteger, 1, kAny},
    {"NCCL_NCHANNELS_PER_NET_PEER", ValueKind::kInteger, -1, 64},
    {"NCCL_NCHANNELS_PER_PEER", ValueKind::kInteger, -2, 64},
    {"NCCL_P2P_PER_CHANNEL_NET_BW", ValueKind::kInteger, 1, kAny},
    {"NCCL_MIN_P2P_NCHANNELS", ValueKind::kInteger, 1, 64},
    {"NCCL_MAX_P2P_NCHANNELS", ValueKind::kInteger, 1, 64},
    {"NCCL_P2P_LL_THRESHOLD", ValueKind::kInteger, 0, kAny},
    {"NCCL_P2P_EPOCH_ENABLE", ValueKind::kFlag},
    {"NCCL_P2P_SCHEDULE_GROUP_SIZE", ValueKind::kInteger, 1, kAny},
    {"NCCL_ALLOC_P2P_NET_LL_BUFFERS", ValueKind::kFlag},
    {"NCCL_LL128_C2C", ValueKind::kFlag},
    {"NCCL_TOPO_FILE"},
    {"NCCL_TOPO_DUMP_FILE"},
    {"NCCL_TOPO_DUMP_FILE_RANK", ValueKind::kInteger, 0, kAny},
    {"NCCL_GRAPH_FILE"},
    {"NCCL_GRAPH_DUMP_FILE"},
    {"NCCL_GRAPH_DUMP_FILE_RANK", ValueKind::kInteger, 0, kAny},
    {"NCCL_HOSTID"},
    {"NCCL_COMM_ID"},
    {"NCCL_CONF_FILE"},
    {"NCCL_MULTI_RANK_GPU_ENABLE", ValueKind::kFlag},
    {"NCCL_MNNVL_ENABLE", ValueKind::kInteger, 0, 2},
    {"NCCL_MNNVL_UUID"},
    {"NCCL_MNNVL_CLIQUE_ID"},
    {"NCCL_MNNVL_SCATTER_NETS_ENABLE", ValueKind::kFlag},
    {"NCCL_MNNVL_RAIL_PER_HOST"},
    {"NCCL_CTA_POLICY"},
    {"NCCL_CGA_CLUSTER_SIZE", ValueKind::kInteger, 0, 8},
    {"NCCL_DEBUG", ValueKind::kWords, 0, 0, "VERSION WARN INFO ABORT TRACE NONE"},
    {"NCCL_DEBUG_SUBSYS"},
    {"NCCL_DEBUG_FILE"},
    {"NCCL_DEBUG_TIMESTAMP_FORMAT"},
    {"NCCL_DEBUG_TIMESTAMP_LEVELS"},
    {"NCCL_WARN_ENABLE_DEBUG_INFO", ValueKind::kFlag},
    {"NCCL_SET_THREAD_NAME", ValueKind::kFlag},
    {"NCCL_LAUNCH_MODE", ValueKind::kWords, 0, 0, "PARALLEL GROUP"},
    {"NCCL_LAUNCH_ORDER_IMPLICIT", ValueKind::kFlag},
    {"NCCL_LAUNCH_RACE_FATAL", ValueKind::kFlag},
    {"NCCL_NVB_DISABLE", ValueKind::kFlag},
    {"NCCL_NVB_PRECONNECT", ValueKind::kFlag},
    {"NCCL_CUMEM_ENABLE", ValueKind::kInteger, -2, 1},
    {"NCCL_CUMEM_HOST_ENABLE", ValueKind::kInteger, -1, 1},
    {"NCCL_LEGACY_CUDA_REGISTER", ValueKind::kFlag},
    {"NCCL_SET_STACK_SIZE", ValueKind::kFlag},
    {"NCCL_RAS_ENABLE", ValueKind::kFlag},
    {"NCCL_RAS_ADDR"},
    {"NCCL_RAS_TIMEOUT_FACTOR", ValueKind::kInteger, 1, kAny},
    {"NCCL_RUNTIME_CONNECT", ValueKind::kFlag},
    {"NCCL_GRAPH_REGISTER", ValueKind::kFlag},
    {"NCCL_LOCAL_REGISTER", ValueKind::kInteger, 0, 2},
    {"NCCL_GRAPH_MIXING_SUPPORT", ValueKind::kFlag},
    {"NCCL_GRAPH_HELPER_DISABLE", ValueKind::kFlag},
    {"NCCL_IGNORE_CPU_AFFINITY", ValueKind::kFlag},
    {"NCCL_IGNORE_DISABLED_P2P", ValueKind::kInteger, 0, 2},
    {"NCCL_WIN_ENABLE", ValueKind::kFlag},
    {"NCCL_WIN_STRIDE", ValueKind::kInteger, -1, kAny},
    {"NCCL_SYM_CTAS", ValueKind::kInteger, 0, 64},
    {"NCCL_SYM_KERNEL"},
    {"NCCL_SINGLE_RING_THRESHOLD", ValueKind::kInteger, 0, kAny},
    {"NCCL_SINGLE_PROC_MEM_REG_ENABLE", ValueKind::kFlag},
    {"NCCL_PROGRESS_APPENDOP_FREQ", ValueKind::kInteger, 1, kAny},
    {"NCCL_CHECK_POINTERS", ValueKind::kFlag},
    {"NCCL_CHECK_MODE"},
    {"NCCL_CHECKS_DISABLE", ValueKind::kFlag},
    {"NCCL_COMM_BLOCKING", ValueKind::kInteger, -2, 1},
    {"NCCL_COMM_SPLIT_SHARE_RESOURCES", ValueKind::kInteger, -2, 1},
    {"NCCL_COMM_SHRINK_SHARE_RESOURCES", ValueKind::kInteger, -2, 1},
    {"NCCL_CREATE_THREAD_CONTEXT", ValueKind::kFlag},
    {"NCCL_DEV_FUNC_TABLE"},
    {"NCCL_DISABLE_GRAPH_HELPER", ValueKind::kFlag},
    {"NCCL_OOB_NET_ENABLE", ValueKind::kFlag},
    {"NCCL_OOB_NET_IFNAME"},
    {"NCCL_SHARP_DISABLE", ValueKind::kFlag},
    {"NCCL_SHARP_GROUP_SIZE_THRESH", ValueKind::kInteger, 0, kAny},
    {"NCCL_UID_STAGGER_RATE", ValueKind::kInteger, 0, kAny},
    {"NCCL_UID_STAGGER_THRESHOLD", ValueKind::kInteger, 0, kAny},
    {"NCCL_WORK_FIFO_BYTES", ValueKind::kInteger, 0, kAny},
    {"NCCL_WORK_ARGS_BYTES", ValueKind::kInteger, 0, kAny},
    {"NCCL_NVLINK_UTIL_CENTRIC_SCHED_ENABLE", ValueKind::kFlag},
    {"NCCL_AGG_CHANNEL_SIZE", ValueKind::kInteger, 0, kAny},
    {"NCCL_MEM_SYNC_DOMAIN", ValueKind::kInteger, 0, 1},
    {"NCCL_ENABLE_VERSION_CHECK", ValueKind::kFlag},
    {"NCCL_L1_SHARED_MEMORY_CARVEOUT", ValueKind::kInteger, 0, 100},
    {"NCCL_CROSS_CLIQUE"},
};

// Variables that the planner reads.
constexpr const char* kModelled[] = {"NCCL_ALGO",
                                     "NCCL_PROTO",
                                     "NCCL_MIN_NCHANNELS",
                                     "NCCL_MAX_NCHANNELS",
                                     "NCCL_MIN_NRINGS",
                                     "NCCL_MAX_NRINGS",
                                     "NCCL_MIN_CTAS",
                                     "NCCL_MAX_CTAS",
                                     "NCCL_NVLS_NCHANNELS",
                                     "NCCL_NTHREADS",
                                     "NCCL_LL128_NTHREADS",
                                     "NCCL_CROSS_NIC",
                                     "NCCL_NVLS_ENABLE",
                                     "NCCL_PAT_ENABLE",
                                     "NCCL_NET_OVERHEAD",
                                     "NCCL_NCHANNELS_PER_NET_PEER",
                                     "NCCL_P2P_LL_THRESHOLD",
                                     "NCCL_P2P_PER_CHANNEL_NET_BW",
                                     "NCCL_MIN_P2P_NCHANNELS",
                                     "NCCL_MAX_P2P_NCHANNELS"};

// Beginnings of names that change what is printed, found or set up, and no time of a collective.
constexpr const char* kWithoutEffectOnTime[] = {"NCCL_DEBUG",
                                                "NCCL_TOPO_DUMP",
                                                "NCCL_GRAPH_DUMP",
                                                "NCCL_RAS_",
                                                "NCCL_UID_",
                                                "NCCL_OOB_",
                                                "NCCL_COMM_ID",
                                                "NCCL_HOSTID",
                                                "NCCL_WARN_",
                                                "NCCL_SET_THREAD_NAME",
                                                "NCCL_CONF_FILE",
                                                "NCCL_PROFILE",
                                                "NCCL_CHECK",
                                                "NCCL_IB_RETRY_",
                                                "NCCL_IB_TIMEOUT",
                                                "NCCL_IB_ASYNC_EVENTS",
                                                "NCCL_IB_RETURN_ASYNC_EVENTS",
                                                "NCCL_ENABLE_VERSION_CHECK"};

bool is_modelled(std::string_view name) {
  return std::find(std::begin(kModelled), std::end(kModelled), name) != std::end(kModelled);
}

bool is_without_effect_on_time(std::string_view name) {
  return std::any_of(std::begin(kWithoutEffectOnTime), std::end(kWithoutEffectOnTime),
                     [&](const char* begin) { return name.starts_with(begin); });
}

struct InventedName {
  const char* name;
  const char* meant;
};

/// Names that circulate and that no release of NCCL reads.
constexpr InventedName kInvented[] = {
    {"NCCL_ORDER_VIA_NVLINK",
     "nothing like it exists: NCCL orders rings by topology; NCCL_TOPO_FILE and NCCL_GRAPH_FILE "
     "describe them"},
    {"NCCL_MAX_CHUNK_SIZE", "NCCL_BUFFSIZE, or NCCL_P2P_NET_CHUNKSIZE for sends and receives"},
    {"NCCL_MIN_CHUNK_SIZE", "NCCL_BUFFSIZE, or NCCL_P2P_NET_CHUNKSIZE for sends and receives"},
    {"NCCL_IB_DISABLE_DIRECT", "NCCL_IB_DISABLE, NCCL_NET_GDR_LEVEL=LOC or NCCL_IB_DATA_DIRECT"},
    {"NCCL_TIMEOUT", "NCCL has no timeout of its own; PyTorch has init_process_group(timeout=...)"},
};

Diagnostic report(const std::string& name, std::string message, std::string hint) {
  return {Severity::kWarning, {}, "nccl." + name, std::move(message), std::move(hint)};
}

std::optional<long> integer(const std::string& text) {
  if (text.empty()) return std::nullopt;
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 0);
  if (end != text.c_str() + text.size()) return std::nullopt;
  return value;
}

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

std::optional<Diagnostic> check_value(const Variable& variable, const std::string& value) {
  const std::string name = variable.name;
  switch (variable.kind) {
    case ValueKind::kText: return std::nullopt;
    case ValueKind::kLists: {
      const std::string problem = nccl_list_problem(name, value);
      if (problem.empty()) return std::nullopt;
      return report(name, "value '" + value + "': " + problem,
                    name == "NCCL_ALGO"
                        ? "Tree, Ring, CollnetDirect, CollnetChain, NVLS, NVLSTree, PAT; ^ excludes"
                        : "LL, LL128, Simple; ^ excludes");
    }
    case ValueKind::kWords:
      if (has_word(variable.words, value)) return std::nullopt;
      return report(name, "value '" + value + "' is not legal",
                    std::string{"one of "} + variable.words);
    case ValueKind::kFlag:
    case ValueKind::kInteger: {
      const long least = variable.kind == ValueKind::kFlag ? 0 : variable.least;
      const long most = variable.kind == ValueKind::kFlag ? 1 : variable.most;
      const auto number = integer(value);
      if (number && least <= *number && *number <= most) return std::nullopt;
      std::string hint = "a whole number from " + std::to_string(least);
      if (most < kAny) hint += " to " + std::to_string(most);
      if (name == "NCCL_IB_TIMEOUT") hint += ": the verbs field has 5 bits; 20 to 23 are usual";
      return report(name, "value '" + value + "' is not legal", hint);
    }
  }
  return std::nullopt;
}

}  // namespace

const std::vector<std::string>& known_nccl_variables() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Variable& variable : kVariables) all.emplace_back(variable.name);
    return all;
  }();
  return names;
}

std::optional<Diagnostic> check_nccl_variable(const std::string& name, const std::string& value) {
  for (const Variable& variable : kVariables) {
    if (name != variable.name) continue;
    if (auto problem = check_value(variable, value)) return problem;
    if (is_modelled(name) || is_without_effect_on_time(name)) return std::nullopt;
    Diagnostic unmodelled = report(name, "is not modelled: it changes nothing of this result", "");
    unmodelled.severity = Severity::kNote;
    return unmodelled;
  }
  for (const InventedName& invented : kInvented) {
    if (name == invented.name) {
      return report(name, "NCCL has no such variable and ignores it",
                    std::string{"meant: "} + invented.meant);
    }
  }
  const std::string nearest = nearest_name(name, known_nccl_variables());
  return report(name, "NCCL has no such variable and ignores it",
                nearest.empty() ? std::string{} : "did you mean " + nearest + "?");
}

}  // namespace foretrain
