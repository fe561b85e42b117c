// Duration of one operator on one GPU.
#pragma once

#include <memory>

#include "sim/compute/operator.h"
#include "sim/core/diagnostics.h"
#include "sim/hardware/device_spec.h"

namespace foretrain {

/// A predicted time. `relative_sigma` is one standard deviation of the error as held-out data show
/// it, relative to the time; errors of one kind of operator are taken as common to all its uses.
struct TimeEstimate {
  double seconds = 0;
  double relative_sigma = 0;
  bool extrapolated = false;  // outside the measured range, or no measurement for this GPU
};

class ComputeModel {
 public:
  virtual ~ComputeModel() = default;
  [[nodiscard]] virtual TimeEstimate time(const Operator& op) const = 0;
  /// Host-side cost of one kernel launch, and the GPU-side gap between back-to-back kernels.
  [[nodiscard]] virtual double launch_seconds() const = 0;
  [[nodiscard]] virtual double kernel_gap_seconds() const = 0;
  /// Factor on GEMM time while a collective holds `sms` of the GPU's SMs (>= 1).
  [[nodiscard]] virtual double gemm_slowdown(int sms) const = 0;
  [[nodiscard]] virtual const GpuSpec& gpu() const = 0;
  /// Name and fingerprint of the profile, for the manifest.
  [[nodiscard]] virtual std::string provenance() const = 0;
};

/// `within_step`: kernels run within a training step, where the power limit slows large GEMMs and
/// the casts of fp8 operands are operators of their own. Otherwise each time is that of a kernel
/// measured alone in a short loop, as the tables hold it (fp8 with the cast of A).
struct ComputeModelOptions {
  bool within_step = true;
};

/// Model over a calibrated profile file (JSON, see scenarios/profiles/README.md).
[[nodiscard]] Result<std::unique_ptr<ComputeModel>> load_compute_model(
    const std::string& path, const GpuSpec& gpu, ComputeModelOptions options = {});
/// Roofline over catalog rates with the efficiencies of scenarios/catalog/efficiency.yaml
/// (path given), for GPUs without a profile: wide intervals, always `extrapolated`.
[[nodiscard]] Result<std::unique_ptr<ComputeModel>> make_catalog_model(
    const std::string& catalog_dir, const GpuSpec& gpu, ComputeModelOptions options = {});

}  // namespace foretrain
