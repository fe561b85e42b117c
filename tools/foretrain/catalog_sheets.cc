#include "tools/foretrain/catalog_sheets.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "sim/core/unit_parser.h"
#include "sim/hardware/catalog.h"
#include "sim/workload/model_catalog.h"

namespace foretrain {
namespace {

std::string flops(FlopRate rate) {
  return rate.value() > 0 ? fmt::format("{:.5g} TFLOP/s", rate.value() / 1e12) : std::string{};
}
std::string parameters(std::int64_t count) {
  const auto value = static_cast<double>(count);
  return value >= 1e12  ? fmt::format("{:.3g} T", value / 1e12)
         : value >= 1e9 ? fmt::format("{:.4g} B", value / 1e9)
                        : fmt::format("{:.4g} M", value / 1e6);
}
/// 1234567 as 1,234,567.
std::string grouped(std::int64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}
std::string yes_no(bool value) { return value ? "yes" : "no"; }

void add_provenance(Sheet& sheet, const Provenance& provenance) {
  sheet.sources.push_back(
      FieldSource{{}, provenance.source, provenance.url, provenance.date, provenance.basis});
  sheet.sources.insert(sheet.sources.end(), provenance.fields.begin(), provenance.fields.end());
  sheet.note = provenance.note;
}

void add_rate(Sheet& sheet, const std::string& format, FlopRate rate) {
  sheet.facts.push_back({"peak_" + format + "_flop_per_s",
                         rate.value() > 0 ? Json(rate.value()) : Json(nullptr),
                         "peak " + format + ", dense", flops(rate)});
}

Sheet gpu_sheet(const GpuSpec& gpu, const std::string& data_dir) {
  Sheet sheet;
  sheet.name = gpu.name;
  std::error_code ignored;
  const bool shipped =
      !gpu.profile.empty() &&
      std::filesystem::exists(data_dir + "/profiles/" + gpu.profile + ".json", ignored);
  sheet.facts = {{"description", gpu.description, "description", gpu.description},
                 {"architecture", gpu.architecture, "architecture", gpu.architecture},
                 {"compute_capability", gpu.compute_capability, "compute capability",
                  fmt::format("{}.{}", gpu.compute_capability / 10, gpu.compute_capability % 10)},
                 {"sm_count", gpu.sm_count, "SMs", std::to_string(gpu.sm_count)},
                 {"memory_bytes", gpu.memory.count(), "usable memory",
                  fmt::format("{:.2f} GiB", gpu.memory / gibibytes(1))},
                 {"memory_bandwidth_bytes_per_s", gpu.memory_bandwidth.bytes_per_second(),
                  "memory bandwidth", format_byte_rate(gpu.memory_bandwidth)},
                 {"l2_cache_bytes", gpu.l2_cache.count(), "L2 cache",
                  fmt::format("{:g} MiB", gpu.l2_cache / mebibytes(1))}};
  add_rate(sheet, "fp32", gpu.peak_fp32);
  add_rate(sheet, "tf32", gpu.peak_tf32);
  add_rate(sheet, "bf16", gpu.peak_bf16);
  add_rate(sheet, "fp16", gpu.peak_fp16);
  add_rate(sheet, "fp8", gpu.peak_fp8);
  add_rate(sheet, "fp4", gpu.peak_fp4);
  const double nvlink = gpu.nvlink_bandwidth.bytes_per_second();
  sheet.facts.push_back({"nvlink_links", gpu.nvlink_links, "NVLink links",
                         gpu.nvlink_links > 0 ? std::to_string(gpu.nvlink_links) : "none"});
  sheet.facts.push_back({"nvlink_bandwidth_bytes_per_s", nvlink, "NVLink, one direction",
                         nvlink > 0 ? format_byte_rate(gpu.nvlink_bandwidth) : std::string{}});
  sheet.facts.push_back({"pcie_generation", gpu.pcie_generation, "PCIe generation",
                         std::to_string(gpu.pcie_generation)});
  sheet.facts.push_back(
      {"tdp_w", gpu.tdp.value(), "power", fmt::format("{:g} W", gpu.tdp.value())});
  sheet.facts.push_back({"profile", shipped ? Json(gpu.profile) : Json(nullptr), "kernel profile",
                         shipped ? gpu.profile : "none: rates above and typical efficiencies"});
  add_provenance(sheet, gpu.provenance);
  return sheet;
}

Sheet nic_sheet(const NicSpec& nic) {
  Sheet sheet;
  sheet.name = nic.name;
  const double efficiency = nic.payload_efficiency.value();
  sheet.facts = {
      {"description", nic.description, "description", nic.description},
      {"bandwidth_bit_per_s", nic.bandwidth.bits_per_second(), "bandwidth, one direction",
       format_bit_rate(nic.bandwidth)},
      {"payload_efficiency", efficiency, "payload share",
       fmt::format("{:.2f} %", 100 * efficiency)},
      {"payload_bytes_per_s", nic.bandwidth.bytes_per_second() * efficiency, "payload",
       format_byte_rate(nic.bandwidth * efficiency)},
      {"latency_s", to_seconds(nic.latency), "latency, one side", format_duration(nic.latency)},
      {"transport", nic.transport, "transport", nic.transport}};
  add_provenance(sheet, nic.provenance);
  return sheet;
}

Sheet switch_sheet(const SwitchSpec& spec) {
  Sheet sheet;
  sheet.name = spec.name;
  sheet.facts = {{"description", spec.description, "description", spec.description},
                 {"ports", spec.ports, "ports", std::to_string(spec.ports)},
                 {"port_bandwidth_bit_per_s", spec.port_bandwidth.bits_per_second(),
                  "port, one direction", format_bit_rate(spec.port_bandwidth)},
                 {"latency_s", to_seconds(spec.latency), "latency, port to port",
                  format_duration(spec.latency)},
                 {"transport", spec.transport, "transport", spec.transport}};
  add_provenance(sheet, spec.provenance);
  return sheet;
}

Sheet node_sheet(const NodeSpec& node) {
  Sheet sheet;
  sheet.name = node.name;
  const double total = node.nic.bandwidth.bits_per_second() * node.nics;
  const bool has_storage = node.local_storage.count() > 0;
  sheet.facts = {
      {"description", node.description, "description", node.description},
      {"gpu", node.gpu.name, "GPU", node.gpu.name},
      {"gpus", node.gpus, "GPUs", std::to_string(node.gpus)},
      {"interconnect", to_string(node.interconnect), "interconnect", to_string(node.interconnect)},
      {"nic", node.nic.name, "NIC", node.nic.name},
      {"nics", node.nics, "NICs", std::to_string(node.nics)},
      {"network_bit_per_s", total, "network, one direction",
       format_bit_rate(DataRate::from_bits_per_second(total))},
      {"cpu", node.cpu, "CPU", node.cpu},
      {"pcie_generation", node.pcie_generation, "PCIe generation",
       std::to_string(node.pcie_generation)},
      {"host_memory_bytes", node.host_memory.count(), "host memory",
       format_bytes(node.host_memory)},
      {"local_storage_bytes", has_storage ? Json(node.local_storage.count()) : Json(nullptr),
       "local storage", has_storage ? format_bytes(node.local_storage) : std::string{}}};
  add_provenance(sheet, node.provenance);
  return sheet;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

void add_experts_and_latents(Sheet& sheet, const ModelSpec& spec) {
  if (spec.moe) {
    const MoeSpec& moe = *spec.moe;
    sheet.facts.push_back({"moe",
                           Json{{"experts", moe.experts},
                                {"top_k", moe.top_k},
                                {"shared_experts", moe.shared_experts},
                                {"expert_ffn_hidden", moe.expert_ffn_hidden},
                                {"first_dense_layers", moe.first_dense_layers}},
                           "experts",
                           fmt::format("{}, top {}, {} shared, width {}, first {} layers dense",
                                       moe.experts, moe.top_k, moe.shared_experts,
                                       moe.expert_ffn_hidden, moe.first_dense_layers)});
  }
  if (spec.mla) {
    const MlaSpec& mla = *spec.mla;
    sheet.facts.push_back(
        {"mla",
         Json{{"q_lora_rank", mla.q_lora_rank},
              {"kv_lora_rank", mla.kv_lora_rank},
              {"qk_nope_head_dim", mla.qk_nope_head_dim},
              {"qk_rope_head_dim", mla.qk_rope_head_dim},
              {"v_head_dim", mla.v_head_dim}},
         "latent attention",
         fmt::format("query rank {}, key-value rank {}, head {} + {} rotary, value head {}",
                     mla.q_lora_rank, mla.kv_lora_rank, mla.qk_nope_head_dim, mla.qk_rope_head_dim,
                     mla.v_head_dim)});
  }
  if (!spec.attention_window.empty()) {
    const bool mixed = spec.attention_window.size() > 1;
    sheet.facts.push_back({"attention_window", spec.attention_window, "attention window",
                           fmt::format("{} tokens{}", spec.attention_window.front(),
                                       mixed ? ", not in every layer" : "")});
  }
}

Sheet model_sheet(const CatalogModel& model) {
  const ModelSpec& spec = model.spec;
  const ParameterCounts counts = count_parameters(spec);
  Sheet sheet;
  sheet.name = spec.name;
  const std::string kv = fmt::format("{}/{}", spec.heads, spec.kv_heads);
  sheet.facts = {
      {"title", model.title, "title", model.title},
      {"aliases", model.aliases, "also called", joined(model.aliases)},
      {"parameters", counts.total, "parameters", grouped(counts.total)},
      {"active_parameters", counts.active, "active per token", grouped(counts.active)},
      {"non_embedding_parameters", counts.non_embedding, "without embeddings",
       grouped(counts.non_embedding)},
      {"short_parameters", nullptr, "", parameters(counts.total)},
      {"short_active", nullptr, "",
       counts.active == counts.total ? std::string{} : parameters(counts.active)},
      {"published_parameters",
       model.published_parameters > 0 ? Json(model.published_parameters) : Json(nullptr),
       "published",
       model.published_parameters > 0 ? grouped(model.published_parameters)
                                      : model.published_rounded},
      {"layers", spec.layers, "layers", std::to_string(spec.layers)},
      {"hidden", spec.hidden, "hidden size", std::to_string(spec.hidden)},
      {"heads", spec.heads, "query heads", std::to_string(spec.heads)},
      {"kv_heads", spec.kv_heads, "key-value heads", std::to_string(spec.kv_heads)},
      {"short_heads", nullptr, "", kv},
      {"head_dim", spec.head_dim, "head size", std::to_string(spec.head_dim)},
      {"ffn_hidden", spec.ffn_hidden, "MLP width", std::to_string(spec.ffn_hidden)},
      {"vocab", spec.vocab, "vocabulary", std::to_string(spec.vocab)},
      {"gated", is_gated(spec.activation), "gated MLP", yes_no(is_gated(spec.activation))},
      {"tied_embeddings", spec.tied_embeddings, "tied embeddings", yes_no(spec.tied_embeddings)}};
  add_experts_and_latents(sheet, spec);
  sheet.sources.push_back(FieldSource{{}, model.source, {}, model.date, "read"});
  return sheet;
}

/// Kernel measurements: the top-level single values of each JSON file.
std::vector<Sheet> profile_sheets(const std::string& data_dir) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(data_dir + "/profiles", error)) {
    if (file.path().extension() == ".json") files.push_back(file.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Sheet> sheets;
  for (const auto& path : files) {
    Sheet sheet;
    sheet.name = path.stem().string();
    std::ifstream stream{path};
    const Json document = Json::parse(stream, nullptr, false);
    if (document.is_discarded()) {
      sheet.facts.push_back({"error", "not JSON", "error", "not JSON"});
    } else {
      for (const auto& [key, value] : document.items()) {
        if (!value.is_primitive()) continue;
        sheet.facts.push_back(
            {key, value, key, value.is_string() ? value.get<std::string>() : value.dump()});
      }
    }
    const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
    sheet.facts.push_back({"file_bytes", size, "file size", format_bytes(Bytes{size})});
    sheets.push_back(std::move(sheet));
  }
  return sheets;
}

std::vector<Column> columns_of(const std::string& kind) {
  if (kind == "gpus") {
    return {{"memory", "memory_bytes"},
            {"bandwidth", "memory_bandwidth_bytes_per_s"},
            {"bf16", "peak_bf16_flop_per_s"},
            {"fp8", "peak_fp8_flop_per_s"},
            {"NVLink/dir", "nvlink_bandwidth_bytes_per_s"},
            {"power", "tdp_w"},
            {"description", "description", false}};
  }
  if (kind == "nodes") {
    return {{"GPUs", "gpus"},
            {"GPU", "gpu", false},
            {"interconnect", "interconnect", false},
            {"NICs", "nics"},
            {"NIC", "nic", false},
            {"network", "network_bit_per_s"},
            {"description", "description", false}};
  }
  if (kind == "nics") {
    return {{"bandwidth", "bandwidth_bit_per_s"},
            {"payload", "payload_bytes_per_s"},
            {"latency", "latency_s"},
            {"transport", "transport", false},
            {"description", "description", false}};
  }
  if (kind == "switches") {
    return {{"ports", "ports"},
            {"port", "port_bandwidth_bit_per_s"},
            {"latency", "latency_s"},
            {"transport", "transport", false},
            {"description", "description", false}};
  }
  if (kind == "models") {
    return {{"parameters", "short_parameters"},
            {"active", "short_active"},
            {"layers", "layers"},
            {"hidden", "hidden"},
            {"heads/kv", "short_heads"},
            {"MLP", "ffn_hidden"},
            {"vocab", "vocab"},
            {"also called", "aliases", false}};
  }
  return {{"size", "file_bytes"}};
}

template <class Names, class Find, class MakeSheet>
Kind make_kind(std::string name, std::string singular, const Names& names, Find find,
               MakeSheet make_sheet) {
  Kind kind{std::move(name), std::move(singular), {}, {}, names};
  for (const std::string& entry : names) kind.sheets.push_back(make_sheet(*find(entry)));
  return kind;
}

}  // namespace

Result<std::vector<Kind>> load_kinds(const std::string& data_dir) {
  auto hardware = HardwareCatalog::load(data_dir + "/catalog");
  auto models = ModelCatalog::load(data_dir + "/catalog");
  Diagnostics problems;
  if (!hardware) problems = hardware.error();
  if (!models) problems.insert(problems.end(), models.error().begin(), models.error().end());
  if (!problems.empty()) return tl::make_unexpected(std::move(problems));
  std::vector<Kind> kinds;
  kinds.push_back(make_kind(
      "gpus", "GPU", hardware->gpu_names(), [&](const auto& n) { return hardware->gpu(n); },
      [&](const GpuSpec& gpu) { return gpu_sheet(gpu, data_dir); }));
  kinds.push_back(make_kind(
      "nodes", "node", hardware->node_names(), [&](const auto& n) { return hardware->node(n); },
      node_sheet));
  kinds.push_back(make_kind(
      "nics", "NIC", hardware->nic_names(), [&](const auto& n) { return hardware->nic(n); },
      nic_sheet));
  kinds.push_back(make_kind(
      "switches", "switch", hardware->switch_names(),
      [&](const auto& n) { return hardware->fabric_switch(n); }, switch_sheet));
  kinds.push_back(make_kind(
      "models", "model", models->names(), [&](const auto& n) { return models->find(n); },
      model_sheet));
  kinds.back().candidates = models->names_and_aliases();
  Kind profiles{"profiles", "profile", {}, profile_sheets(data_dir), {}};
  for (const Sheet& sheet : profiles.sheets) profiles.candidates.push_back(sheet.name);
  kinds.push_back(std::move(profiles));
  for (Kind& kind : kinds) kind.columns = columns_of(kind.name);
  return kinds;
}

const Sheet* find_sheet(const Kind& kind, const std::string& name) {
  for (const Sheet& sheet : kind.sheets) {
    if (sheet.name == name) return &sheet;
  }
  for (const Sheet& sheet : kind.sheets) {
    for (const Fact& fact : sheet.facts) {
      if (fact.key != "aliases") continue;
      if (std::find(fact.value.begin(), fact.value.end(), Json(name)) != fact.value.end()) {
        return &sheet;
      }
    }
  }
  return nullptr;
}

}  // namespace foretrain
