// The table of keys against what is decoded: each key, with a value of its type, is understood.
#include "sim/scenario/keys.h"

#include <set>

#include "tests/unit/scenario/scenario_fixture.h"

namespace foretrain {
namespace {

using Keys = ScenarioFixture;

TEST_F(Keys, TheTableIsConsistent) {
  std::set<std::string_view> seen;
  for (const KeySpec& key : scenario_keys()) {
    EXPECT_TRUE(seen.insert(key.path).second) << key.path;
    EXPECT_FALSE(key.description.empty()) << key.path;
    const std::size_t dot = key.path.rfind('.');
    if (dot == std::string_view::npos) continue;
    std::string_view parent = key.path.substr(0, dot);
    if (parent.ends_with("[]")) parent.remove_suffix(2);
    EXPECT_NE(find_key(parent), nullptr) << key.path << " has no parent";
  }
}

/// A value that a key of this type cannot have: each is refused at its own place.
TEST_F(Keys, AWrongTypeIsRefusedAtItsPlace) {
  for (const KeySpec& key : scenario_keys()) {
    const std::string path{key.path};
    const bool typed = key.type == KeyType::kInteger || key.type == KeyType::kNumber ||
                       key.type == KeyType::kBoolean || key.type == KeyType::kChoice ||
                       key.type == KeyType::kBytes || key.type == KeyType::kRate ||
                       key.type == KeyType::kDuration || key.type == KeyType::kPercent;
    const bool unsupported = path.find(".moe.") != path.npos || path.find(".mla.") != path.npos;
    if (!typed || unsupported || path.find("[]") != path.npos) continue;
    Result<DocumentNode> document = parse_document(
        "foretrain: 1\nname: x\ncluster: {nodes: 2, node: {gpu: h100-sxm, gpus: 8, nics: 8, nic: "
        "cx7-400g}}\njob: {model: {name: llama-3-8b}, sequence_length: 8192, batch: {global: 16}, "
        "recompute: {full_layers: 1}}\n",
        "x.yaml");
    ASSERT_TRUE(document.has_value());
    document = set_value(std::move(*document), path + "=not-a-value");
    ASSERT_TRUE(document.has_value());
    const Result<Scenario> scenario = decode_scenario(*document, "x.yaml", catalogs());
    ASSERT_FALSE(scenario.has_value()) << path;
    bool found = false;
    for (const Diagnostic& problem : scenario.error()) {
      found = found ||
              (problem.path == path && problem.location.file == "--set " + path + "=not-a-value");
    }
    EXPECT_TRUE(found) << path << "\n" << to_string(scenario.error());
  }
}

/// Every choice of every key loads, or is refused for a reason that names another rule.
TEST_F(Keys, EveryChoiceIsDecoded) {
  for (const KeySpec& key : scenario_keys()) {
    if (key.choices.empty() || key.choices.starts_with("@")) continue;
    for (const std::string& word : choices_of(key)) {
      Result<DocumentNode> document = parse_document(
          "foretrain: 1\nname: x\ncluster: {nodes: 4, node: dgx-b200}\njob: {model: llama-3-8b, "
          "sequence_length: 8192, batch: {global: 256}, precision: fp8}\n",
          "x.yaml");
      document = set_value(std::move(*document), std::string{key.path} + "=" + word);
      ASSERT_TRUE(document.has_value());
      const Result<Scenario> scenario = decode_scenario(*document, "x.yaml", catalogs());
      if (scenario) continue;
      for (const Diagnostic& problem : scenario.error()) {
        EXPECT_EQ(problem.message.find("unknown"), std::string::npos) << to_string(problem);
        EXPECT_EQ(problem.message.find("this version"), std::string::npos) << to_string(problem);
      }
    }
    for (const std::string& word : split_words(key.later)) {
      Result<DocumentNode> document = parse_document(
          "foretrain: 1\nname: x\ncluster: {nodes: 4, node: dgx-h100}\njob: {model: llama-3-8b, "
          "sequence_length: 8192, batch: {global: 256}}\n",
          "x.yaml");
      document = set_value(std::move(*document), std::string{key.path} + "=" + word);
      ASSERT_TRUE(document.has_value());
      const Result<Scenario> scenario = decode_scenario(*document, "x.yaml", catalogs());
      ASSERT_FALSE(scenario.has_value()) << word;
      EXPECT_EQ(scenario.error().front().message,
                "'" + word + "' is not supported in this version");
    }
  }
}

}  // namespace
}  // namespace foretrain
