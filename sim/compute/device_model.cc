#include "sim/compute/device_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <utility>

#include "sim/core/contracts.h"
#include "sim/core/fingerprint.h"

namespace foretrain {
namespace {

// A median absolute error of a normal distribution is 0.6745 standard deviations, its 90th
// percentile 1.6449: the wider of the two estimates is taken.
double sigma_of(const HeldOutError& error) {
  return std::max(error.median / 0.6745, error.p90 / 1.6449);
}

std::string gemm_efficiency_name(DataType type) {
  switch (type) {
    case DataType::kFp8:
    case DataType::kFp4: return "gemm_efficiency_fp8";
    case DataType::kFp8Block: return "gemm_efficiency_fp8_block";
    case DataType::kFp32: return "gemm_efficiency_fp32";
    case DataType::kTf32:
    case DataType::kFp16:
    case DataType::kBf16: return "gemm_efficiency_bf16";
  }
  return "gemm_efficiency_bf16";
}

AttentionImplementation library_kernel(int number) {
  switch (number) {
    case 1: return AttentionImplementation::kFlash1;
    case 2: return AttentionImplementation::kFlash2;
    case 3: return AttentionImplementation::kFlash3;
    case 4: return AttentionImplementation::kCudnn;
    default: return AttentionImplementation::kAuto;  // none: the general efficiencies serve
  }
}

constexpr double kLargeFlops = 1e9;
// Tables of sliding windows hold windows of at most this many keys; wider ones behave as full ones.
constexpr std::int64_t kLargestSmallWindow = 512;

bool near(double a, double b) { return std::abs(a - b) <= 0.01 * std::max(a, b); }

}  // namespace

DeviceModel::DeviceModel(GpuSpec gpu, std::map<std::string, EfficiencyValue> constants,
                         std::optional<Profile> profile, ComputeModelOptions options)
    : gpu_(std::move(gpu)),
      constants_(std::move(constants)),
      profile_(std::move(profile)),
      options_(options) {
  if (profile_) {
    const ProfiledGpu& measured = profile_->gpu;
    other_gpu_ = measured.sm_count != gpu_.sm_count ||
                 !near(measured.memory_bytes_per_s, gpu_.memory_bandwidth.bytes_per_second());
    for (const auto& [type, peak] : measured.peak_flops_per_s) {
      const std::optional<DataType> known = parse_data_type(type);
      if (known && !near(peak, peak_flops_per_s(gpu_, *known))) other_gpu_ = true;
    }
  }
}

double DeviceModel::constant(const std::string& name) const {
  const auto found = constants_.find(name);
  FORETRAIN_EXPECTS(found != constants_.end(), "constants are checked when they are read");
  return found->second.value;
}

std::optional<double> DeviceModel::find_constant(const std::string& name) const {
  const auto found = constants_.find(name);
  if (found == constants_.end()) return std::nullopt;
  return found->second.value;
}

TimeEstimate DeviceModel::time(const Operator& op) const {
  return std::visit(
      [this](const auto& o) {
        using T = std::decay_t<decltype(o)>;
        if constexpr (std::is_same_v<T, GemmOp>) {
          return gemm_time(o);
        } else if constexpr (std::is_same_v<T, AttentionOp>) {
          return attention_time(o);
        } else {
          return memory_time(o);
        }
      },
      op);
}

const GemmTable* DeviceModel::gemm_table(DataType type) const {
  if (!profile_) return nullptr;
  const DataType wanted = type == DataType::kFp16 ? DataType::kBf16 : type;
  for (const GemmTable& table : profile_->gemm) {
    if (table.type == wanted) return &table;
  }
  return nullptr;
}

GemmMachine DeviceModel::gemm_machine(DataType type, const GemmTable* table) const {
  GemmMachine machine;
  machine.sm_count = gpu_.sm_count;
  machine.peak_flops_per_s = peak_flops_per_s(gpu_, type);
  machine.memory_bytes_per_s = gpu_.memory_bandwidth.bytes_per_second();
  if (table != nullptr) {
    machine.memory_efficiency = table->memory_efficiency;
    machine.fixed_seconds = table->fixed_seconds;
    machine.fill_k = table->fill_k;
    machine.split_seconds = table->split_seconds;
    if (options_.within_step) {
      machine.fixed_seconds = std::min(table->fixed_seconds, constant("gemm_fixed_seconds"));
    } else {
      machine.cast_seconds_per_element = table->cast_seconds_per_element;
    }
    machine.tiles = table->tiles;
    return machine;
  }
  machine.memory_efficiency = constant("gemm_memory_efficiency");
  machine.fixed_seconds = constant("gemm_fixed_seconds");
  machine.fill_k = constant("gemm_fill_k");
  machine.split_seconds = machine.fixed_seconds;
  const int m = static_cast<int>(constant("gemm_tile_m"));
  const int n = static_cast<int>(constant("gemm_tile_n"));
  const double efficiency = constant(gemm_efficiency_name(type));
  machine.tiles = {{m, n, efficiency}, {n, m, efficiency}, {m / 2, n / 2, 0.8 * efficiency}};
  return machine;
}

TimeEstimate DeviceModel::gemm_time(const GemmOp& op) const {
  const GemmTable* table = gemm_table(op.type);
  const GemmMachine machine = gemm_machine(op.type, table);
  TimeEstimate estimate;
  // What accumulation adds is known better than the table could tell: see below.
  GemmOp plain_op = op;
  plain_op.accumulate = false;
  estimate.seconds = gemm_mechanism_seconds(machine, plain_op);
  double sigma = constant("gemm_relative_sigma");
  estimate.extrapolated = table == nullptr || other_gpu_;
  if (table != nullptr) {
    const std::array<double, 3> point = {static_cast<double>(op.m) * static_cast<double>(op.batch),
                                         static_cast<double>(op.n), static_cast<double>(op.k)};
    estimate.seconds *= std::exp2(table->log2_ratio.at(point));
    const bool large = flops(op).value() > kLargeFlops;
    sigma = sigma_of(large ? table->held_out_large : table->held_out);
    estimate.extrapolated = estimate.extrapolated || !table->log2_ratio.covers(point);
  }
  const double work = flops(op).value();
  const double peak = machine.peak_flops_per_s;
  const double factor = sustained_factor(work / (peak * estimate.seconds));
  estimate.seconds *= factor;
  if (op.accumulate) {
    estimate.seconds += constant("accumulate_exposed_share") *
                        (gemm_bytes(op) - gemm_bytes(plain_op)) /
                        (machine.memory_efficiency * machine.memory_bytes_per_s);
  }
  estimate.seconds = std::max(estimate.seconds, work / peak);
  sigma = std::hypot(sigma, constant("layout_relative_sigma"));
  if (options_.within_step) sigma = std::hypot(sigma, constant("sustained_relative_sigma"));
  estimate.relative_sigma = sigma;
  return estimate;
}

double DeviceModel::sustained_factor(double share_of_peak) const {
  if (!options_.within_step) return 1;
  // The power limit slows what keeps the tensor cores busy; a kernel far from the peak keeps its
  // clock. The slow-down grows linearly with the share of the peak that is reached.
  const double busy = std::min(1.0, share_of_peak / constant("sustained_reference_share"));
  return 1 + (1 / constant("sustained_gemm_factor") - 1) * busy;
}

const AttentionTable* DeviceModel::attention_table(const AttentionOp& op) const {
  if (!profile_ || op.backward || !op.causal || op.query_length != op.key_length) return nullptr;
  const DataType wanted = op.type == DataType::kFp16 ? DataType::kBf16 : op.type;
  const bool small_window = op.window > 0 && op.window <= kLargestSmallWindow;
  const AttentionTable* best = nullptr;
  const auto distance = [&](const AttentionTable& table) {
    const double ratio = static_cast<double>(table.head_dim) / static_cast<double>(op.head_dim);
    return std::abs(std::log2(ratio)) + ((table.window > 0) == small_window ? 0 : 10);
  };
  for (const AttentionTable& table : profile_->attention) {
    if (table.type != wanted) continue;
    if (best == nullptr || distance(table) < distance(*best)) best = &table;
  }
  return best;
}

AttentionMachine DeviceModel::attention_machine(const AttentionOp& op) const {
  AttentionMachine machine;
  machine.sm_count = gpu_.sm_count;
  machine.peak_flops_per_s = peak_flops_per_s(gpu_, op.type);
  machine.memory_bytes_per_s =
      gpu_.memory_bandwidth.bytes_per_second() * constant("memory_efficiency");
  machine.tile_rows = constant("attention_tile_rows");
  return machine;
}

TimeEstimate DeviceModel::attention_time(const AttentionOp& op) const {
  const AttentionTable* table =
      op.implementation == AttentionImplementation::kProfiled ? attention_table(op) : nullptr;
  TimeEstimate estimate =
      table != nullptr ? table_attention_time(op, *table) : library_attention_time(op);
  estimate.seconds =
      std::max(estimate.seconds, flops(op).value() / peak_flops_per_s(gpu_, op.type));
  return estimate;
}

TimeEstimate DeviceModel::table_attention_time(const AttentionOp& op,
                                               const AttentionTable& table) const {
  AttentionMachine machine = attention_machine(op);
  machine.efficiency = table.efficiency;
  machine.fixed_seconds = table.fixed_seconds;
  const std::array<double, 2> point = {
      static_cast<double>(op.key_length),
      static_cast<double>(op.batch) * static_cast<double>(op.heads)};
  TimeEstimate estimate;
  estimate.seconds =
      attention_mechanism_seconds(machine, op) * std::exp2(table.log2_ratio.at(point));
  const bool own_window = table.window == 0 ? op.window == 0 : op.window == table.window;
  estimate.extrapolated =
      other_gpu_ || !table.log2_ratio.covers(point) || table.head_dim != op.head_dim || !own_window;
  const bool large = flops(op).value() > kLargeFlops;
  estimate.relative_sigma = sigma_of(large ? table.held_out_large : table.held_out);
  if (estimate.extrapolated) {
    estimate.relative_sigma =
        std::hypot(estimate.relative_sigma, constant("attention_relative_sigma"));
  }
  return estimate;
}

TimeEstimate DeviceModel::library_attention_time(const AttentionOp& op) const {
  AttentionImplementation kernel = op.implementation;
  if (kernel == AttentionImplementation::kAuto || kernel == AttentionImplementation::kProfiled) {
    kernel = library_kernel(static_cast<int>(constant("attention_auto")));
  }
  const std::string stem =
      fmt::format("attention_{}_{}_", to_string(kernel), op.backward ? "backward" : "forward");
  const std::string dim = op.head_dim <= 80 ? "64" : op.head_dim <= 160 ? "128" : "256";
  std::optional<double> efficiency = find_constant(stem + "efficiency_" + dim);
  std::optional<double> fill = find_constant(stem + "fill_keys_" + dim);
  if (!efficiency && dim == "256") {
    efficiency = find_constant(stem + "efficiency_128");
    fill = find_constant(stem + "fill_keys_128");
  }
  TimeEstimate estimate;
  estimate.extrapolated = !profile_ || other_gpu_ || !efficiency;
  AttentionMachine machine = attention_machine(op);
  const double ratio = op.backward ? constant("attention_backward_rate_ratio") : 1.0;
  machine.efficiency = efficiency.value_or(constant("attention_forward_efficiency") * ratio);
  machine.fill_keys = fill.value_or(constant("attention_fill_keys"));
  if (element_bytes(op.type) <= 1 && machine.peak_flops_per_s > gpu_.peak_bf16.value()) {
    machine.efficiency =
        std::min(1.0, machine.efficiency * constant("attention_fp8_efficiency_ratio"));
  }
  machine.fixed_seconds = constant("attention_fixed_seconds");
  estimate.seconds = attention_mechanism_seconds(machine, op);
  estimate.relative_sigma = constant("attention_relative_sigma");
  return estimate;
}

TimeEstimate DeviceModel::memory_time(const MemoryOp& op) const {
  const double rate = gpu_.memory_bandwidth.bytes_per_second() * constant("memory_efficiency");
  TimeEstimate estimate;
  estimate.seconds = std::max(op.launches, 0) * constant("memory_fixed_seconds") +
                     (op.bytes_read + op.bytes_written) / rate;
  estimate.relative_sigma = constant("memory_relative_sigma");
  estimate.extrapolated = !profile_ || other_gpu_;
  return estimate;
}

double DeviceModel::gemm_slowdown(int sms) const {
  // Many waves: W(S - n) / W(S) tends to S / (S - n). At least one SM is left.
  const int left = std::max(gpu_.sm_count - std::max(sms, 0), 1);
  return static_cast<double>(gpu_.sm_count) / left;
}

std::string DeviceModel::provenance() const {
  if (profile_) return fmt::format("{} {}", profile_->name, profile_->fingerprint);
  Fingerprint fingerprint;
  for (const auto& [name, value] : constants_) {
    fingerprint.add(name);
    fingerprint.add(fmt::format("{:.17g}", value.value));
  }
  return fmt::format("catalog {:016x}", fingerprint.value());
}

Result<std::unique_ptr<ComputeModel>> load_compute_model(const std::string& path,
                                                         const GpuSpec& gpu,
                                                         ComputeModelOptions options) {
  Result<Profile> profile = load_profile(path);
  if (!profile) return tl::make_unexpected(profile.error());
  auto constants = profile->constants;
  return std::make_unique<DeviceModel>(gpu, std::move(constants), std::move(*profile), options);
}

Result<std::unique_ptr<ComputeModel>> make_catalog_model(const std::string& catalog_dir,
                                                         const GpuSpec& gpu,
                                                         ComputeModelOptions options) {
  Result<EfficiencyTable> table = EfficiencyTable::load(catalog_dir + "/efficiency.yaml");
  if (!table) return tl::make_unexpected(table.error());
  return std::make_unique<DeviceModel>(gpu, table->all_of(gpu.architecture), std::nullopt, options);
}

}  // namespace foretrain
