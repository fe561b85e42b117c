// A calibrated profile: what was measured on one GPU, as scenarios/profiles/README.md describes the
// file. Plain data; sim/compute/device_model.h turns it into times.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/compute/efficiency.h"
#include "sim/compute/gemm_tiles.h"
#include "sim/compute/grid_table.h"
#include "sim/core/diagnostics.h"

namespace foretrain {

/// Errors on points that the fit has not seen, |predicted - measured| / measured.
struct HeldOutError {
  int points = 0;
  double median = 0;
  double p90 = 0;
};

/// GEMM of one data type: mechanism and what measurement adds, log2(measured / mechanism).
struct GemmTable {
  DataType type = DataType::kBf16;
  double memory_efficiency = 1;
  double fixed_seconds = 0;
  double fill_k = 0;
  double split_seconds = 0;
  double cast_seconds_per_element = 0;
  std::vector<GemmTile> tiles;
  GridTable log2_ratio;         // over m, n, k
  HeldOutError held_out;        // all points
  HeldOutError held_out_large;  // above 1e9 FLOP
};

/// Causal attention forward of one data type, head size and window.
struct AttentionTable {
  DataType type = DataType::kBf16;
  int head_dim = 0;
  int window = 0;         // 0: full
  double efficiency = 1;  // share of the peak of a large problem
  double fixed_seconds = 0;
  GridTable log2_ratio;  // over sequence length, batch * heads
  HeldOutError held_out;
  HeldOutError held_out_large;
};

/// The GPU that was measured.
struct ProfiledGpu {
  std::string name;  // catalog name
  std::string architecture;
  int sm_count = 0;
  double memory_bytes_per_s = 0;
  std::map<std::string, double> peak_flops_per_s;  // by data type
};

struct ProfileSource {
  std::string title;
  std::string url;
  std::string licence;
  std::string date;
  std::string command;
};

struct Profile {
  std::string name;
  std::string file;
  std::string fingerprint;  // 16 hexadecimal digits, of the file's bytes
  ProfiledGpu gpu;
  ProfileSource source;
  std::vector<GemmTable> gemm;
  std::vector<AttentionTable> attention;
  std::map<std::string, EfficiencyValue> constants;  // of the architecture
};

/// Reads and checks a profile; broken JSON, wrong types, sizes and ranges are diagnostics.
[[nodiscard]] Result<Profile> load_profile(const std::string& path);
/// The same from text; `name` stands for the file in diagnostics.
[[nodiscard]] Result<Profile> parse_profile(const std::string& text, const std::string& name);
/// The file's text: deterministic, ends with a newline.
[[nodiscard]] std::string write_profile(const Profile& profile);

}  // namespace foretrain
