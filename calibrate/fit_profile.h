// From measured kernel tables to a profile.
#pragma once

#include <string>

#include "sim/compute/profile.h"
#include "sim/core/diagnostics.h"

namespace foretrain {

struct TableFitRequest {
  std::string gemm_path;
  std::string attention_path;
  std::string table_gpu;    // as the tables' column gpu spells it: "h100_sxm"
  std::string catalog_dir;  // gpus.yaml, efficiency.yaml
  std::string catalog_gpu;  // "h100-sxm": whose rates the mechanism takes
  std::string source_date;  // when the tables were read, ISO
};

/// Reads the tables, fits every data type, and takes over the constants of the GPU's architecture.
[[nodiscard]] Result<Profile> fit_profile(const TableFitRequest& request);

}  // namespace foretrain
