// The shipped catalog: promised names, published figures, and relations that physics or the
// vendors' own arithmetic require of every entry.
#include "sim/hardware/catalog.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace foretrain {
namespace {

const HardwareCatalog& shipped() {
  static const HardwareCatalog catalog = [] {
    auto loaded = HardwareCatalog::load(FORETRAIN_SOURCE_DIR "/scenarios/catalog");
    EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : to_string(loaded.error()));
    return loaded ? *loaded : HardwareCatalog{};
  }();
  return catalog;
}

TEST(HardwareCatalog, HasThePromisedNames) {
  for (const char* name : {"v100-16",   "v100-32",       "a100-40",  "a100-80",      "h100-sxm",
                           "h100-pcie", "h100-nvl",      "h200-sxm", "h800-sxm",     "h20",
                           "b200",      "b300",          "gb200",    "gb300",        "l40s",
                           "a800-80",   "h100-96-hbm2e", "h200-nvl", "a100-80-pcie", "l4"}) {
    EXPECT_NE(shipped().gpu(name), nullptr) << name;
  }
  for (const char* name :
       {"dgx-1v",      "dgx-2",        "dgx-a100-40g", "dgx-a100",    "dgx-h100",    "hgx-h200",
        "hgx-h800",    "dgx-b200",     "dgx-b300",     "gb200-nvl72", "gb300-nvl72", "aws-p4d",
        "aws-p4de",    "aws-p5",       "aws-p5en",     "aws-p6-b200", "azure-ndv4",  "azure-ndv5",
        "gcp-a3-mega", "gcp-a3-ultra", "gcp-a4",       "l40s-pcie-8", "h100-pcie-8", "a100-pcie-4",
        "hgx-a100-4",  "hgx-h20"}) {
    EXPECT_NE(shipped().node(name), nullptr) << name;
  }
  for (const char* name : {"cx7-400g", "cx8-800g", "cx6-200g", "edr-100g", "roce-400g", "efa-100g",
                           "efa-400g", "gvnic-tcpx-200g", "opa-100g"}) {
    EXPECT_NE(shipped().nic(name), nullptr) << name;
  }
  for (const char* name : {"quantum-hdr", "quantum-2", "quantum-x800", "spectrum-2", "spectrum-3",
                           "spectrum-4", "tomahawk-3", "tomahawk-4", "tomahawk-5", "rosetta"}) {
    EXPECT_NE(shipped().fabric_switch(name), nullptr) << name;
  }
  EXPECT_EQ(shipped().gpu("h100"), nullptr);
}

// Dense peaks as papers use them for MFU: A100 312, H100 989.4 and 1978.9 at FP8, H200 the same.
TEST(HardwareCatalog, QuotesDensePeaks) {
  const std::map<std::string, double> bf16{
      {"a100-40", 312},    {"a100-80", 312},    {"h100-sxm", 989.4}, {"h100-pcie", 756},
      {"h200-sxm", 989.4}, {"h100-nvl", 835.5}, {"b200", 2250},      {"gb200", 2500},
      {"l40s", 362.05},    {"h20", 148},        {"v100-32", 0}};
  for (const auto& [name, teraflops_per_s] : bf16) {
    EXPECT_DOUBLE_EQ(shipped().gpu(name)->peak_bf16.value(), teraflops_per_s * 1e12) << name;
  }
  EXPECT_DOUBLE_EQ(shipped().gpu("h100-sxm")->peak_fp8.value(), 1978.9e12);
  EXPECT_DOUBLE_EQ(shipped().gpu("v100-16")->peak_fp16.value(), 125e12);
}

// NVLink of one GPU is links x 25 GB/s a direction up to the fourth generation, x 50 in the fifth.
TEST(HardwareCatalog, NvlinkIsTheSumOfItsLinks) {
  for (const std::string& name : shipped().gpu_names()) {
    const GpuSpec& gpu = *shipped().gpu(name);
    const double per_link = gpu.architecture == "blackwell" ? 50e9 : 25e9;
    EXPECT_DOUBLE_EQ(gpu.nvlink_bandwidth.bytes_per_second(), gpu.nvlink_links * per_link) << name;
  }
}

// Each halving of the format doubles the dense rate (within 3 %, for rounded datasheets), a GPU
// hands out less memory than its box says, and no rate falls from one format to a narrower one.
TEST(HardwareCatalog, RatesDoubleWithEachHalvingOfTheFormat) {
  constexpr double kDatasheetRounding = 0.03;
  for (const std::string& name : shipped().gpu_names()) {
    const GpuSpec& gpu = *shipped().gpu(name);
    SCOPED_TRACE(name);
    EXPECT_GE(gpu.peak_fp16.value(), gpu.peak_fp32.value());
    if (gpu.peak_bf16.value() > 0) {
      EXPECT_DOUBLE_EQ(gpu.peak_bf16.value(), gpu.peak_fp16.value());
      EXPECT_NEAR(gpu.peak_bf16 / gpu.peak_tf32, 2.0, 2 * kDatasheetRounding);
    }
    if (gpu.peak_fp8.value() > 0) {
      EXPECT_NEAR(gpu.peak_fp8 / gpu.peak_fp16, 2.0, 2 * kDatasheetRounding);
    }
    if (gpu.peak_fp4.value() > 0) {
      EXPECT_GE(gpu.peak_fp4 / gpu.peak_fp8, 2.0);
    }
    EXPECT_GT(gpu.memory, gibibytes(10));
    EXPECT_GT(gpu.memory_bandwidth, gigabytes_per_second(100));
    EXPECT_GT(gpu.tdp.value(), 50.0);
  }
}

// The capability decides which formats exist: BF16 from 8.0, FP8 from 8.9, FP4 from 10.0.
TEST(HardwareCatalog, FormatsFollowTheComputeCapability) {
  for (const std::string& name : shipped().gpu_names()) {
    const GpuSpec& gpu = *shipped().gpu(name);
    EXPECT_EQ(gpu.peak_bf16.value() > 0, gpu.compute_capability >= 80) << name;
    EXPECT_EQ(gpu.peak_fp8.value() > 0, gpu.compute_capability >= 89) << name;
    EXPECT_EQ(gpu.peak_fp4.value() > 0, gpu.compute_capability >= 100) << name;
  }
}

// Boxes as their makers sell them: 8 x 400 Gbit/s is 3.2 Tbit/s, 32 x 100 the same.
TEST(HardwareCatalog, NodesHaveTheirPublishedNetworks) {
  const std::map<std::string, double> terabits{
      {"dgx-h100", 3.2},   {"aws-p5", 3.2},      {"aws-p5en", 3.2}, {"aws-p4d", 0.4},
      {"azure-ndv4", 1.6}, {"gcp-a3-mega", 1.6}, {"dgx-1v", 0.4},   {"dgx-b300", 6.4}};
  for (const auto& [name, total] : terabits) {
    const NodeSpec& node = *shipped().node(name);
    EXPECT_DOUBLE_EQ(node.nic.bandwidth.bits_per_second() * node.nics, total * 1e12) << name;
  }
  EXPECT_EQ(shipped().node("gb200-nvl72")->gpus, 72);
  EXPECT_EQ(shipped().node("gb200-nvl72")->nics, 72);
  EXPECT_EQ(shipped().node("dgx-2")->gpus, 16);
}

TEST(HardwareCatalog, NodesCarryTheirWholeGpuAndNic) {
  for (const std::string& name : shipped().node_names()) {
    const NodeSpec& node = *shipped().node(name);
    SCOPED_TRACE(name);
    EXPECT_EQ(node.gpu.memory, shipped().gpu(node.gpu.name)->memory);
    EXPECT_EQ(node.nic.bandwidth, shipped().nic(node.nic.name)->bandwidth);
    EXPECT_EQ(node.interconnect == NodeInterconnect::kPcie, node.gpu.nvlink_links == 0);
    EXPECT_TRUE(node.gpus % node.nics == 0 || node.nics % node.gpus == 0);
    EXPECT_GE(node.host_memory, gigabytes(256));
  }
}

// Framing closed forms: 4096 / 4122 on InfiniBand, 4096 / 4178 with RoCE v2.
TEST(HardwareCatalog, PayloadSharesFollowFromFraming) {
  constexpr double kWrittenDigits = 5e-5;  // the file gives hundredths of a per cent
  EXPECT_NEAR(shipped().nic("cx7-400g")->payload_efficiency.value(), 4096.0 / 4122, kWrittenDigits);
  EXPECT_NEAR(shipped().nic("roce-400g")->payload_efficiency.value(), 4096.0 / 4178,
              kWrittenDigits);
}

TEST(HardwareCatalog, EveryEntryNamesItsSourceAndDate) {
  const auto check = [](const std::string& name, const Provenance& provenance) {
    EXPECT_FALSE(provenance.source.empty()) << name;
    EXPECT_EQ(provenance.url.rfind("https://", 0), 0u) << name;
    EXPECT_EQ(provenance.date.size(), 10u) << name;
    for (const FieldSource& field : provenance.fields) {
      EXPECT_FALSE(field.source.empty() || field.date.empty()) << name << " " << field.field;
    }
  };
  for (const auto& name : shipped().gpu_names()) check(name, shipped().gpu(name)->provenance);
  for (const auto& name : shipped().nic_names()) check(name, shipped().nic(name)->provenance);
  for (const auto& name : shipped().node_names()) check(name, shipped().node(name)->provenance);
  for (const auto& name : shipped().switch_names()) {
    check(name, shipped().fabric_switch(name)->provenance);
  }
}

}  // namespace
}  // namespace foretrain
