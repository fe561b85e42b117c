// The catalog: GPUs, NICs, switches and nodes by name, read from data files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/hardware/device_spec.h"

namespace foretrain {

class HardwareCatalog {
 public:
  /// Reads gpus.yaml, nics.yaml, switches.yaml and nodes.yaml in `catalog_dir`.
  [[nodiscard]] static Result<HardwareCatalog> load(const std::string& catalog_dir);
  /// Entry by name, or nullptr.
  [[nodiscard]] const GpuSpec* gpu(const std::string& name) const;
  [[nodiscard]] const NicSpec* nic(const std::string& name) const;
  [[nodiscard]] const SwitchSpec* fabric_switch(const std::string& name) const;
  [[nodiscard]] const NodeSpec* node(const std::string& name) const;
  /// Names in file order, for listings and "did you mean".
  [[nodiscard]] std::vector<std::string> gpu_names() const;
  [[nodiscard]] std::vector<std::string> nic_names() const;
  [[nodiscard]] std::vector<std::string> switch_names() const;
  [[nodiscard]] std::vector<std::string> node_names() const;

 private:
  std::vector<GpuSpec> gpus_;
  std::vector<NicSpec> nics_;
  std::vector<SwitchSpec> switches_;
  std::vector<NodeSpec> nodes_;
};

}  // namespace foretrain
