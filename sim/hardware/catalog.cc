#include "sim/hardware/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/document/document.h"
#include "sim/hardware/entry_reader.h"

namespace foretrain {
namespace {

constexpr std::int64_t kMostGpusPerNode = 1024;
constexpr std::int64_t kMostPorts = 4096;

std::vector<std::string> architectures() {
  return {"volta", "ampere", "ada", "hopper", "blackwell"};
}
std::vector<std::string> nic_transports() { return {"infiniband", "roce", "efa", "tcpx", "tcp"}; }
std::vector<std::string> interconnects() { return {"nvswitch", "nvlink-mesh", "pcie"}; }

/// YYYY-MM-DD with plausible month and day.
bool is_iso_date(const std::string& text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i != 4 && i != 7 && !digit(text[i])) return false;
  }
  const int month = (text[5] - '0') * 10 + (text[6] - '0');
  const int day = (text[8] - '0') * 10 + (text[9] - '0');
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

bool is_catalog_name(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), allowed) && name.front() != '-';
}

/// {title, url, date, basis}; without `basis` the source was read on that date.
FieldSource read_source(const DocumentNode& map, const std::string& path,
                        Diagnostics& diagnostics) {
  EntryReader reader{map, path, diagnostics};
  FieldSource source;
  source.source = reader.text("title");
  source.url = reader.optional_text("url");
  source.date = reader.text("date");
  source.basis = reader.optional_choice("basis", {"read", "recalled", "assumed"}, "read");
  if (!source.date.empty() && !is_iso_date(source.date)) {
    reader.report("date",
                  fmt::format("must be a date such as 2026-12-01, not \"{}\"", source.date));
  }
  reader.finish();
  return source;
}

/// `source`, `sources` (by key) and `note`. Call last: `sources` may name any key asked for before.
Provenance read_provenance(EntryReader& entry, Diagnostics& diagnostics) {
  Provenance provenance;
  const std::vector<std::string> fields = entry.known_keys();
  if (const DocumentNode* node = entry.map("source", true)) {
    FieldSource source = read_source(*node, entry.path() + ".source", diagnostics);
    provenance.source = std::move(source.source);
    provenance.url = std::move(source.url);
    provenance.date = std::move(source.date);
    provenance.basis = std::move(source.basis);
  }
  if (const DocumentNode* node = entry.map("sources", false)) {
    for (const DocumentEntry& item : node->entries) {
      const std::string path = entry.path() + ".sources." + item.key;
      if (std::find(fields.begin(), fields.end(), item.key) == fields.end()) {
        const std::string nearest = nearest_name(item.key, fields);
        diagnostics.push_back(Diagnostic{
            Severity::kError, item.key_location, path, "is no key of this entry",
            nearest.empty() ? std::string{} : fmt::format("did you mean \"{}\"?", nearest)});
      }
      FieldSource source = read_source(item.value, path, diagnostics);
      source.field = item.key;
      provenance.fields.push_back(std::move(source));
    }
  }
  provenance.note = entry.optional_text("note");
  entry.finish();
  return provenance;
}

GpuSpec read_gpu(EntryReader& entry, Diagnostics& diagnostics) {
  GpuSpec gpu;
  gpu.description = entry.text("description");
  gpu.architecture = entry.choice("architecture", architectures());
  gpu.compute_capability = static_cast<int>(entry.integer("compute_capability", {70, 999}));
  gpu.sm_count = static_cast<int>(entry.integer("sm_count", {1, 100'000}));
  gpu.memory = entry.quantity("memory", parse_bytes);
  gpu.memory_bandwidth = entry.quantity("memory_bandwidth", parse_data_rate);
  gpu.l2_cache = entry.quantity("l2_cache", parse_bytes);
  gpu.peak_fp32 = entry.quantity("peak_fp32", parse_flop_rate);
  gpu.peak_tf32 = entry.optional_quantity("peak_tf32", parse_flop_rate);
  gpu.peak_bf16 = entry.optional_quantity("peak_bf16", parse_flop_rate);
  gpu.peak_fp16 = entry.quantity("peak_fp16", parse_flop_rate);
  gpu.peak_fp8 = entry.optional_quantity("peak_fp8", parse_flop_rate);
  gpu.peak_fp4 = entry.optional_quantity("peak_fp4", parse_flop_rate);
  gpu.nvlink_links = static_cast<int>(entry.integer("nvlink_links", {0, 1024}));
  gpu.nvlink_bandwidth = entry.optional_quantity("nvlink_bandwidth", parse_data_rate);
  gpu.pcie_generation = static_cast<int>(entry.integer("pcie", {1, 9}));
  gpu.tdp = entry.quantity("tdp", parse_power);
  gpu.profile = entry.optional_text("profile");
  if ((gpu.nvlink_links > 0) != (gpu.nvlink_bandwidth > DataRate{})) {
    entry.report("nvlink_bandwidth", "NVLink links and NVLink bandwidth must go together",
                 "leave nvlink_bandwidth out where nvlink_links is 0");
  }
  gpu.provenance = read_provenance(entry, diagnostics);
  return gpu;
}

NicSpec read_nic(EntryReader& entry, Diagnostics& diagnostics) {
  NicSpec nic;
  nic.description = entry.text("description");
  nic.bandwidth = entry.quantity("bandwidth", parse_data_rate);
  nic.transport = entry.choice("transport", nic_transports());
  nic.latency = entry.quantity("latency", parse_duration);
  nic.payload_efficiency = entry.quantity("payload_efficiency", parse_ratio);
  nic.provenance = read_provenance(entry, diagnostics);
  return nic;
}

SwitchSpec read_switch(EntryReader& entry, Diagnostics& diagnostics) {
  SwitchSpec spec;
  spec.description = entry.text("description");
  spec.ports = static_cast<int>(entry.integer("ports", {2, kMostPorts}));
  spec.port_bandwidth = entry.quantity("port_bandwidth", parse_data_rate);
  spec.latency = entry.quantity("latency", parse_duration);
  spec.transport = entry.choice("transport", {"infiniband", "ethernet"});
  spec.provenance = read_provenance(entry, diagnostics);
  return spec;
}

/// Reads the entries of the one top-level key `section` of `file`. `read` makes one value of a map.
template <class Spec, class Read>
std::vector<Spec> read_file(const std::string& dir, const std::string& section, Read read,
                            Diagnostics& diagnostics) {
  std::vector<Spec> specs;
  auto document = read_document(dir + "/" + section + ".yaml");
  if (!document) {
    diagnostics.insert(diagnostics.end(), document.error().begin(), document.error().end());
    return specs;
  }
  EntryReader top{*document, section + ".yaml", diagnostics};
  const DocumentNode* entries = top.map(section, true);
  top.finish();
  if (entries == nullptr) return specs;
  for (const DocumentEntry& item : entries->entries) {
    const std::string path = section + "." + item.key;
    if (!is_catalog_name(item.key)) {
      diagnostics.push_back(Diagnostic{
          Severity::kError, item.key_location, path, "a name has only a-z, 0-9, '-' and '.'", {}});
    }
    EntryReader entry{item.value, path, diagnostics};
    if (item.value.kind != DocumentNode::Kind::kMap) continue;  // already reported
    Spec spec = read(entry);
    spec.name = item.key;
    specs.push_back(std::move(spec));
  }
  return specs;
}

template <class Spec>
const Spec* find_by_name(const std::vector<Spec>& specs, const std::string& name) {
  for (const Spec& spec : specs) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

template <class Spec>
std::vector<std::string> names_of(const std::vector<Spec>& specs) {
  std::vector<std::string> names;
  names.reserve(specs.size());
  for (const Spec& spec : specs) names.push_back(spec.name);
  return names;
}

/// Looks up the entry that `key` names; a wrong name becomes a diagnostic with the nearest one.
template <class Spec>
Spec resolve(EntryReader& entry, const std::string& key, const std::vector<Spec>& specs) {
  const std::string name = entry.text(key);
  if (name.empty()) return {};
  if (const Spec* spec = find_by_name(specs, name)) return *spec;
  if (specs.empty()) return {};  // the other file could not be read, which is reported already
  const std::string nearest = nearest_name(name, names_of(specs));
  entry.report(key, fmt::format("\"{}\" is not in the catalog", name),
               nearest.empty() ? std::string{} : fmt::format("did you mean \"{}\"?", nearest));
  return {};
}

NodeSpec read_node(EntryReader& entry, const std::vector<GpuSpec>& gpus,
                   const std::vector<NicSpec>& nics, Diagnostics& diagnostics) {
  NodeSpec node;
  node.description = entry.text("description");
  node.gpu = resolve(entry, "gpu", gpus);
  node.gpus = static_cast<int>(entry.integer("gpus", {1, kMostGpusPerNode}));
  const std::string interconnect = entry.choice("interconnect", interconnects());
  node.interconnect = parse_interconnect(interconnect).value_or(NodeInterconnect::kPcie);
  node.nic = resolve(entry, "nic", nics);
  node.nics = static_cast<int>(entry.integer("nics", {1, kMostGpusPerNode}));
  node.cpu = entry.choice("cpu", {"intel", "amd", "arm"});
  node.pcie_generation = static_cast<int>(entry.integer("pcie", {1, 9}));
  node.host_memory = entry.quantity("host_memory", parse_bytes);
  node.local_storage = entry.optional_quantity("local_storage", parse_bytes);
  if (node.interconnect != NodeInterconnect::kPcie && !node.gpu.name.empty() &&
      node.gpu.nvlink_links == 0) {
    entry.report("interconnect", fmt::format("\"{}\" has no NVLink", node.gpu.name),
                 "write \"pcie\"");
  }
  node.provenance = read_provenance(entry, diagnostics);
  return node;
}

}  // namespace

std::string to_string(NodeInterconnect interconnect) {
  switch (interconnect) {
    case NodeInterconnect::kNvSwitch: return "nvswitch";
    case NodeInterconnect::kNvlinkMesh: return "nvlink-mesh";
    case NodeInterconnect::kPcie: return "pcie";
  }
  return "pcie";
}

std::optional<NodeInterconnect> parse_interconnect(const std::string& text) {
  for (const auto kind :
       {NodeInterconnect::kNvSwitch, NodeInterconnect::kNvlinkMesh, NodeInterconnect::kPcie}) {
    if (to_string(kind) == text) return kind;
  }
  return std::nullopt;
}

Result<HardwareCatalog> HardwareCatalog::load(const std::string& catalog_dir) {
  HardwareCatalog catalog;
  Diagnostics problems;
  catalog.gpus_ = read_file<GpuSpec>(
      catalog_dir, "gpus", [&](EntryReader& e) { return read_gpu(e, problems); }, problems);
  catalog.nics_ = read_file<NicSpec>(
      catalog_dir, "nics", [&](EntryReader& e) { return read_nic(e, problems); }, problems);
  catalog.switches_ = read_file<SwitchSpec>(
      catalog_dir, "switches", [&](EntryReader& e) { return read_switch(e, problems); }, problems);
  catalog.nodes_ = read_file<NodeSpec>(
      catalog_dir, "nodes",
      [&](EntryReader& e) { return read_node(e, catalog.gpus_, catalog.nics_, problems); },
      problems);
  if (has_errors(problems)) return tl::make_unexpected(std::move(problems));
  return catalog;
}

const GpuSpec* HardwareCatalog::gpu(const std::string& name) const {
  return find_by_name(gpus_, name);
}
const NicSpec* HardwareCatalog::nic(const std::string& name) const {
  return find_by_name(nics_, name);
}
const SwitchSpec* HardwareCatalog::fabric_switch(const std::string& name) const {
  return find_by_name(switches_, name);
}
const NodeSpec* HardwareCatalog::node(const std::string& name) const {
  return find_by_name(nodes_, name);
}
std::vector<std::string> HardwareCatalog::gpu_names() const { return names_of(gpus_); }
std::vector<std::string> HardwareCatalog::nic_names() const { return names_of(nics_); }
std::vector<std::string> HardwareCatalog::switch_names() const { return names_of(switches_); }
std::vector<std::string> HardwareCatalog::node_names() const { return names_of(nodes_); }

}  // namespace foretrain
