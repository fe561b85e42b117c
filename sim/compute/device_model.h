// The compute model: mechanism, measured tables where there are any, and published constants.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "sim/compute/attention_tiles.h"
#include "sim/compute/compute_model.h"
#include "sim/compute/profile.h"

namespace foretrain {

class DeviceModel : public ComputeModel {
 public:
  /// Without a profile `constants` and the catalog's rates serve, and every time is extrapolated.
  DeviceModel(GpuSpec gpu, std::map<std::string, EfficiencyValue> constants,
              std::optional<Profile> profile, ComputeModelOptions options = {});

  [[nodiscard]] TimeEstimate time(const Operator& op) const override;
  [[nodiscard]] double launch_seconds() const override { return constant("launch_seconds"); }
  [[nodiscard]] double kernel_gap_seconds() const override {
    return constant("kernel_gap_seconds");
  }
  [[nodiscard]] double gemm_slowdown(int sms) const override;
  [[nodiscard]] const GpuSpec& gpu() const override { return gpu_; }
  [[nodiscard]] std::string provenance() const override;

 private:
  [[nodiscard]] TimeEstimate gemm_time(const GemmOp& op) const;
  [[nodiscard]] TimeEstimate attention_time(const AttentionOp& op) const;
  [[nodiscard]] TimeEstimate memory_time(const MemoryOp& op) const;
  [[nodiscard]] double constant(const std::string& name) const;
  [[nodiscard]] double sustained_factor(double share_of_peak) const;
  [[nodiscard]] std::optional<double> find_constant(const std::string& name) const;
  [[nodiscard]] AttentionMachine attention_machine(const AttentionOp& op) const;
  [[nodiscard]] TimeEstimate table_attention_time(const AttentionOp& op,
                                                  const AttentionTable& table) const;
  [[nodiscard]] TimeEstimate library_attention_time(const AttentionOp& op) const;
  [[nodiscard]] const GemmTable* gemm_table(DataType type) const;
  [[nodiscard]] const AttentionTable* attention_table(const AttentionOp& op) const;
  [[nodiscard]] GemmMachine gemm_machine(DataType type, const GemmTable* table) const;

  GpuSpec gpu_;
  std::map<std::string, EfficiencyValue> constants_;
  std::optional<Profile> profile_;
  ComputeModelOptions options_;
  bool other_gpu_ = false;  // the profile was measured on a GPU with other rates
};

}  // namespace foretrain
