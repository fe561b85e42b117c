// Every shipped scenario loads, and the schema that editors use accepts what we accept.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "sim/scenario/keys.h"
#include "sim/scenario/scenario.h"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

std::string data_dir() { return std::string{FORETRAIN_SOURCE_DIR} + "/scenarios"; }

std::vector<std::string> shipped() {
  std::vector<std::string> files;
  for (const char* folder : {"tutorial", "published", "bases"}) {
    if (!fs::exists(fs::path{data_dir()} / folder)) continue;
    for (const auto& entry : fs::directory_iterator(fs::path{data_dir()} / folder)) {
      if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// YAML as an editor's schema check sees it: plain scalars get their YAML type.
nlohmann::json to_typed_json(const YAML::Node& node) {
  if (node.IsMap()) {
    nlohmann::json map = nlohmann::json::object();
    for (const auto& entry : node) map[entry.first.as<std::string>()] = to_typed_json(entry.second);
    return map;
  }
  if (node.IsSequence()) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& item : node) list.push_back(to_typed_json(item));
    return list;
  }
  if (node.IsNull()) return nullptr;
  const std::string text = node.as<std::string>();
  if (node.Tag() == "!") return text;
  if (text == "true" || text == "false") return text == "true";
  const nlohmann::json number = nlohmann::json::parse(text, nullptr, false);
  if (number.is_number()) return number;
  return text;
}

bool schema_accepts(const nlohmann::json& document, std::string& why) {
  static const nlohmann::json schema_json = nlohmann::json::parse(scenario_schema(data_dir()));
  valijson::Schema schema;
  valijson::SchemaParser parser;
  const valijson::adapters::NlohmannJsonAdapter schema_adapter{schema_json};
  parser.populateSchema(schema_adapter, schema);
  valijson::Validator validator;
  valijson::ValidationResults results;
  const valijson::adapters::NlohmannJsonAdapter target{document};
  const bool valid = validator.validate(schema, target, &results);
  valijson::ValidationResults::Error error;
  while (results.popError(error)) why += error.description + "\n";
  return valid;
}

TEST(Shipped, EveryScenarioLoads) {
  LoadOptions options;
  options.data_dir = data_dir();
  EXPECT_GE(shipped().size(), 5u);
  for (const std::string& file : shipped()) {
    if (file.find("/bases/") != std::string::npos) continue;  // parts, not wholes
    const Result<Scenario> scenario = load_scenario(file, options);
    EXPECT_TRUE(scenario.has_value()) << (scenario ? "" : to_string(scenario.error()));
  }
}

TEST(Shipped, BasesAreCompletedByWhatExtendsThem) {
  LoadOptions options;
  options.data_dir = data_dir();
  const std::string job = "job: {model: llama-3-8b, sequence_length: 8192, batch: {global: 512}}\n";
  for (const char* base : {"h100-superpod", "a100-superpod", "h100-ethernet"}) {
    const std::string text = "foretrain: 1\nname: x\nextends: " + data_dir() + "/bases/" + base +
                             ".yaml\ncluster: {nodes: 16}\n" + job;
    const Result<Scenario> scenario = parse_scenario(text, "x.yaml", options);
    ASSERT_TRUE(scenario.has_value()) << to_string(scenario.error());
    EXPECT_EQ(scenario->cluster.nodes, 16);
  }
  const std::string text = "foretrain: 1\nname: x\nextends: " + data_dir() +
                           "/bases/pretraining.yaml\ncluster: {nodes: 16, node: dgx-h100}\n" + job;
  const Result<Scenario> scenario = parse_scenario(text, "x.yaml", options);
  ASSERT_TRUE(scenario.has_value()) << to_string(scenario.error());
  EXPECT_EQ(scenario->job->sharding, Sharding::kOptimizer);
  EXPECT_EQ(scenario->job->global_batch, 512);
}

TEST(Shipped, TheSchemaAcceptsEveryScenario) {
  for (const std::string& file : shipped()) {
    std::string why;
    nlohmann::json document = to_typed_json(YAML::LoadFile(file));
    if (file.find("/bases/") != std::string::npos) document["name"] = "parts need none";
    EXPECT_TRUE(schema_accepts(document, why)) << file << "\n" << why;
  }
}

TEST(Shipped, TheSchemaRefusesUnknownKeysAndNames) {
  const nlohmann::json good =
      to_typed_json(YAML::Load("{foretrain: 1, name: x, cluster: {nodes: 1, node: dgx-h100}}"));
  std::string why;
  EXPECT_TRUE(schema_accepts(good, why)) << why;
  for (const char* text : {"{foretrain: 1, name: x, cluster: {nodes: 1, node: dgx-h100}, jobb: {}}",
                           "{foretrain: 1, name: x, cluster: {nodes: 1, node: dgx-h1}}",
                           "{foretrain: 1, name: x, cluster: {nodes: one, node: dgx-h100}}",
                           "{foretrain: 1, name: x, cluster: {nodes: 1, node: dgx-h100, fabric: "
                           "{link: {bandwidth: 400}}}}",
                           "{name: x}"}) {
    EXPECT_FALSE(schema_accepts(to_typed_json(YAML::Load(text)), why)) << text;
  }
}

TEST(Shipped, TheKeyTableIsDocumentedAsItStands) {
  std::ifstream file{data_dir() + "/README.md"};
  const std::string text{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
  EXPECT_NE(text.find(scenario_keys_markdown()), std::string::npos)
      << "scenarios/README.md must hold the output of `foretrain schema --markdown`";
}

}  // namespace
}  // namespace foretrain
