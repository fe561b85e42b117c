#include "sim/compute/profile.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace foretrain {
namespace {

std::string shipped(const std::string& name) {
  std::ifstream file(std::string{FORETRAIN_SOURCE_DIR} + "/scenarios/profiles/" + name + ".json");
  return {std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
}

std::string first_path(const std::string& text) {
  const Result<Profile> profile = parse_profile(text, "p.json");
  return profile ? "" : profile.error().front().path;
}

TEST(Profile, EveryShippedProfileReadsBackToTheSameBytes) {
  for (const char* name : {"a100-80", "h100-sxm", "h200-sxm", "b200", "gb200", "l40s"}) {
    const std::string text = shipped(name);
    ASSERT_LT(text.size(), 300'000u) << name;
    const Result<Profile> profile = parse_profile(text, name);
    ASSERT_TRUE(profile) << to_string(profile.error());
    EXPECT_EQ(profile->name, name);
    EXPECT_EQ(write_profile(*profile), text) << name;
    EXPECT_NE(profile->source.licence.find("Apache-2.0"), std::string::npos);
  }
}

// The interval comes from these errors; a fit that is worse than this must not be shipped.
TEST(Profile, HeldOutErrorsOfLargeProductsAreSmall) {
  for (const char* name : {"a100-80", "h100-sxm", "h200-sxm", "b200", "gb200"}) {
    const Result<Profile> profile = parse_profile(shipped(name), name);
    ASSERT_TRUE(profile);
    for (const GemmTable& table : profile->gemm) {
      EXPECT_GT(table.held_out_large.points, 500) << name;
      EXPECT_LT(table.held_out_large.median, 0.055) << name << " " << to_string(table.type);
      EXPECT_LT(table.held_out_large.p90, 0.16) << name << " " << to_string(table.type);
    }
  }
}

TEST(Profile, MissingFileIsADiagnostic) {
  const Result<Profile> profile = load_profile("/nonexistent/p.json");
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().front().message, "cannot be read");
}

TEST(Profile, BrokenJsonIsADiagnostic) {
  EXPECT_FALSE(parse_profile("{\"schema_version\": 1", "p.json"));
  EXPECT_FALSE(parse_profile("", "p.json"));
  EXPECT_FALSE(parse_profile("[]", "p.json"));
  EXPECT_FALSE(parse_profile("null", "p.json"));
}

TEST(Profile, WrongValuesNameTheirPath) {
  auto json = nlohmann::json::parse(shipped("a100-80"));
  const auto with = [&](auto&& change) {
    auto copy = json;
    change(copy);
    return first_path(copy.dump());
  };
  EXPECT_EQ(with([](auto& j) { j["schema_version"] = 2; }), "schema_version");
  EXPECT_EQ(with([](auto& j) { j["gpu"]["sm_count"] = "many"; }), "gpu.sm_count");
  EXPECT_EQ(with([](auto& j) { j["gemm"][0]["dtype"] = "bf17"; }), "gemm[0].dtype");
  EXPECT_EQ(with([](auto& j) { j["gemm"][0]["m"] = {4, 4}; }), "gemm[0].m");
  EXPECT_EQ(with([](auto& j) { j["gemm"][0]["log2_ratio_milli"].push_back(0); }),
            "gemm[0].log2_ratio_milli");
  EXPECT_EQ(with([](auto& j) { j["gemm"][0]["tiles"] = nlohmann::json::array(); }),
            "gemm[0].tiles");
  EXPECT_EQ(with([](auto& j) { j["constants"].erase("launch_seconds"); }),
            "constants.launch_seconds");
  EXPECT_EQ(with([](auto& j) { j["constants"]["memory_efficiency"]["value"] = 1e300; }),
            "constants.memory_efficiency.value");
}

// Text cut or changed anywhere is read or refused, never a crash.
RC_GTEST_PROP(ProfileProperties, DamagedTextNeverCrashes, ()) {
  static const std::string text = shipped("a100-80");
  std::string damaged = text.substr(0, *rc::gen::inRange<std::size_t>(0, 6000));
  if (!damaged.empty()) {
    damaged[*rc::gen::inRange<std::size_t>(0, damaged.size())] = *rc::gen::inRange<char>(1, 127);
  }
  RC_ASSERT(!parse_profile(damaged, "p.json"));
}

}  // namespace
}  // namespace foretrain
