// What a GPU, a NIC, a switch and a node are: plain data read from scenarios/catalog (files, never
// code). Peak rates are dense (no sparsity). Bandwidths are one direction unless the name says so.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/core/units.h"

namespace foretrain {

/// Where one number of an entry comes from, if not from the entry's own source.
struct FieldSource {
  std::string field;   // key of the catalog file, e.g. "memory"
  std::string source;  // document or page
  std::string url;     // may be empty
  std::string date;    // ISO date
  std::string basis;   // "read" on that date | "recalled": known, not read again | "assumed"
  bool operator==(const FieldSource&) const = default;
};

/// Where a catalog entry's numbers come from.
struct Provenance {
  std::string source;  // document or page
  std::string date;    // ISO date on which it was read
  std::string url;
  std::string basis;                // as FieldSource
  std::vector<FieldSource> fields;  // in file order
  std::string note;  // what a reader should know: variants, contradictions, assumptions
  bool operator==(const Provenance&) const = default;
};

struct GpuSpec {
  std::string name;            // "h100-sxm"
  std::string description;     // "NVIDIA H100 SXM5 80 GB"
  std::string architecture;    // volta | ampere | ada | hopper | blackwell
  int compute_capability = 0;  // 70, 80, 89, 90, 100, 103
  int sm_count = 0;
  Bytes memory;  // usable size as the driver reports it
  DataRate memory_bandwidth;
  Bytes l2_cache;
  FlopRate peak_fp32;  // outside the tensor cores
  FlopRate peak_tf32;  // 0 where the GPU has none
  FlopRate peak_bf16;  // 0 on Volta
  FlopRate peak_fp16;
  FlopRate peak_fp8;          // 0 before Ada and Hopper
  FlopRate peak_fp4;          // 0 before Blackwell
  int nvlink_links = 0;       // 0: no NVLink
  DataRate nvlink_bandwidth;  // sum of the links, one direction
  int pcie_generation = 0;
  Power tdp;
  std::string profile;  // name of the shipped profile, or empty: catalog rates serve
  Provenance provenance;
};

struct NicSpec {
  std::string name;  // "cx7-400g"
  std::string description;
  DataRate bandwidth;        // one direction, as sold: 400 Gbit/s
  std::string transport;     // infiniband | roce | efa | tcpx | tcp
  SimDuration latency;       // one side, verbs post to wire
  Ratio payload_efficiency;  // share of the bandwidth left to payload after headers
  Provenance provenance;
};

struct SwitchSpec {
  std::string name;  // "quantum-2"
  std::string description;
  int ports = 0;
  DataRate port_bandwidth;
  SimDuration latency;    // port to port
  std::string transport;  // infiniband | ethernet
  Provenance provenance;
};

enum class NodeInterconnect { kNvSwitch, kNvlinkMesh, kPcie };

/// One host (or one NVLink domain of several trays, as NVL72, which NCCL treats as one node).
struct NodeSpec {
  std::string name;  // "dgx-h100"; "custom" if written in the scenario
  std::string description;
  GpuSpec gpu;
  int gpus = 0;
  NodeInterconnect interconnect = NodeInterconnect::kNvSwitch;
  NicSpec nic;
  int nics = 0;     // 0: a single-node cluster without a fabric
  std::string cpu;  // "intel" | "amd" | "arm": NCCL's constants depend on it
  int pcie_generation = 0;
  Bytes host_memory;    // of all hosts of the node
  Bytes local_storage;  // 0: unknown or none
  Provenance provenance;
};

/// "nvswitch", "nvlink-mesh" or "pcie", as scenarios spell it.
[[nodiscard]] std::string to_string(NodeInterconnect interconnect);
[[nodiscard]] std::optional<NodeInterconnect> parse_interconnect(const std::string& text);

}  // namespace foretrain
