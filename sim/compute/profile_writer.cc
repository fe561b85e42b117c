// Writes a profile: one table per few lines, numbers as short as they read back.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/compute/profile.h"

namespace foretrain {
namespace {

using Json = nlohmann::ordered_json;

Json error_json(const HeldOutError& error) {
  const auto rounded = [](double v) { return std::round(v * 1e4) / 1e4; };
  return Json{{"points", error.points},
              {"median_abs_error", rounded(error.median)},
              {"p90_abs_error", rounded(error.p90)}};
}

void add_grid(Json& json, const GridTable& grid, const std::vector<std::string>& names) {
  for (std::size_t a = 0; a < names.size(); ++a) {
    Json axis = Json::array();
    for (const double value : grid.axes()[a]) axis.push_back(std::llround(value));
    json[names[a]] = std::move(axis);
  }
  Json values = Json::array();
  for (const double value : grid.values()) values.push_back(std::llround(value * 1000));
  json["log2_ratio_milli"] = std::move(values);
}

Json gemm_json(const GemmTable& table) {
  Json json{
      {"dtype", to_string(table.type)}, {"memory_efficiency", table.memory_efficiency},
      {"fixed_s", table.fixed_seconds}, {"fill_k", table.fill_k},
      {"split_s", table.split_seconds}, {"cast_s_per_element", table.cast_seconds_per_element}};
  json["tiles"] = Json::array();
  for (const GemmTile& tile : table.tiles) {
    json["tiles"].push_back({{"m", tile.m}, {"n", tile.n}, {"efficiency", tile.efficiency}});
  }
  json["held_out"] = error_json(table.held_out);
  json["held_out_large"] = error_json(table.held_out_large);
  add_grid(json, table.log2_ratio, {"m", "n", "k"});
  return json;
}

Json attention_json(const AttentionTable& table) {
  Json json{{"dtype", to_string(table.type)},
            {"head_dim", table.head_dim},
            {"window", table.window},
            {"efficiency", table.efficiency},
            {"fixed_s", table.fixed_seconds}};
  json["held_out"] = error_json(table.held_out);
  json["held_out_large"] = error_json(table.held_out_large);
  add_grid(json, table.log2_ratio, {"sequence", "batch_heads"});
  return json;
}

/// An array of tables, each on one line.
std::string lines(const std::vector<Json>& tables) {
  std::string text = "[";
  for (std::size_t i = 0; i < tables.size(); ++i) {
    text += (i == 0 ? "\n    " : ",\n    ") + tables[i].dump();
  }
  return text + "\n  ]";
}

}  // namespace

std::string write_profile(const Profile& profile) {
  Json gpu{{"name", profile.gpu.name},
           {"architecture", profile.gpu.architecture},
           {"sm_count", profile.gpu.sm_count},
           {"memory_bandwidth_bytes_per_s", profile.gpu.memory_bytes_per_s},
           {"peak_flops_per_s", profile.gpu.peak_flops_per_s}};
  const Json source{{"title", profile.source.title},
                    {"url", profile.source.url},
                    {"licence", profile.source.licence},
                    {"date", profile.source.date},
                    {"command", profile.source.command}};
  Json constants = Json::object();
  for (const auto& [name, constant] : profile.constants) {
    constants[name] = {{"value", constant.value},
                       {"unit", constant.unit},
                       {"source", constant.source},
                       {"date", constant.date}};
  }
  std::vector<Json> gemm;
  for (const GemmTable& table : profile.gemm) gemm.push_back(gemm_json(table));
  std::vector<Json> attention;
  for (const AttentionTable& table : profile.attention) attention.push_back(attention_json(table));
  return fmt::format(
      "{{\n  \"schema_version\": 1,\n  \"name\": {},\n  \"gpu\": {},\n  \"source\": {},\n"
      "  \"constants\": {},\n  \"gemm\": {},\n  \"attention\": {}\n}}\n",
      Json(profile.name).dump(), gpu.dump(), source.dump(), constants.dump(), lines(gemm),
      lines(attention));
}

}  // namespace foretrain
