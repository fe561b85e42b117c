#include "calibrate/fit_profile.h"

#include <fmt/format.h>

#include <array>

#include "calibrate/fit_attention.h"
#include "calibrate/fit_gemm.h"
#include "sim/hardware/catalog.h"

namespace foretrain {
namespace {

constexpr std::size_t kFewestSamples = 100;

ProfiledGpu profiled(const GpuSpec& gpu) {
  ProfiledGpu result;
  result.name = gpu.name;
  result.architecture = gpu.architecture;
  result.sm_count = gpu.sm_count;
  result.memory_bytes_per_s = gpu.memory_bandwidth.bytes_per_second();
  for (const DataType type : {DataType::kBf16, DataType::kFp8}) {
    if (type == DataType::kFp8 && gpu.peak_fp8.value() <= 0) continue;
    result.peak_flops_per_s[to_string(type)] = peak_flops_per_s(gpu, type);
  }
  return result;
}

void add_gemm(Profile& profile, const std::vector<GemmSample>& samples, const GpuSpec& gpu) {
  for (const DataType type : {DataType::kBf16, DataType::kFp8, DataType::kFp8Block}) {
    std::vector<GemmSample> chosen;
    for (const GemmSample& sample : samples) {
      if (sample.type == type) chosen.push_back(sample);
    }
    if (chosen.size() < kFewestSamples) continue;
    GemmMachine rates;
    rates.sm_count = gpu.sm_count;
    rates.peak_flops_per_s = peak_flops_per_s(gpu, type);
    rates.memory_bytes_per_s = gpu.memory_bandwidth.bytes_per_second();
    profile.gemm.push_back(fit_gemm(chosen, rates));
  }
}

}  // namespace

Result<Profile> fit_profile(const TableFitRequest& request) {
  const Result<HardwareCatalog> catalog = HardwareCatalog::load(request.catalog_dir);
  if (!catalog) return tl::make_unexpected(catalog.error());
  const GpuSpec* gpu = catalog->gpu(request.catalog_gpu);
  if (gpu == nullptr) {
    const std::string nearest = nearest_name(request.catalog_gpu, catalog->gpu_names());
    return fail(fmt::format("'{}' is no GPU of the catalog", request.catalog_gpu),
                nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest));
  }
  const Result<EfficiencyTable> efficiency =
      EfficiencyTable::load(request.catalog_dir + "/efficiency.yaml");
  if (!efficiency) return tl::make_unexpected(efficiency.error());
  const auto gemm = read_gemm_table(request.gemm_path, request.table_gpu);
  if (!gemm) return tl::make_unexpected(gemm.error());
  const auto attention = read_attention_table(request.attention_path, request.table_gpu);
  if (!attention) return tl::make_unexpected(attention.error());

  Profile profile;
  profile.name = gpu->name;
  profile.gpu = profiled(*gpu);
  profile.constants = efficiency->all_of(gpu->architecture);
  profile.source.title =
      "NVIDIA AIConfigurator, aic-core systems data: gemm and context_attention tables "
      "(TensorRT-LLM kernels, forward), fitted; constants from the catalog's efficiency.yaml";
  profile.source.url = "https://github.com/ai-dynamo/aiconfigurator";
  profile.source.licence = "Apache-2.0, Copyright NVIDIA Corporation and affiliates";
  profile.source.date = request.source_date;
  profile.source.command = fmt::format(
      "foretrain calibrate --fit-tables --gemm gemm.csv.gz --attention context_attention.csv.gz "
      "--gpu {} --catalog-gpu {} -o {}.json",
      request.table_gpu, gpu->name, gpu->name);
  add_gemm(profile, *gemm, *gpu);
  AttentionMachine rates;
  rates.sm_count = gpu->sm_count;
  rates.memory_bytes_per_s = gpu->memory_bandwidth.bytes_per_second() *
                             efficiency->value("memory_efficiency", gpu->architecture);
  rates.tile_rows = efficiency->value("attention_tile_rows", gpu->architecture);
  profile.attention = fit_attention(*attention, *gpu, rates);
  return profile;
}

}  // namespace foretrain
