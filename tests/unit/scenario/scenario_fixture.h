// Catalogs are read once for all scenarios of a test binary.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "sim/scenario/decode.h"
#include "sim/scenario/merge.h"

namespace foretrain {

inline std::string test_data_dir() { return std::string{FORETRAIN_SOURCE_DIR} + "/scenarios"; }

class ScenarioFixture : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    Result<Catalogs> loaded = load_catalogs(test_data_dir());
    ASSERT_TRUE(loaded.has_value()) << to_string(loaded.error());
    catalogs() = std::move(*loaded);
  }
  static Catalogs& catalogs() {
    static Catalogs loaded;
    return loaded;
  }
  /// Text of a scenario after its two lines of head.
  static Result<Scenario> decode_text(const std::string& body) {
    const Result<DocumentNode> document =
        parse_document("foretrain: 1\nname: test\n" + body, "test.yaml");
    if (!document) return tl::make_unexpected(document.error());
    return decode_scenario(*document, "test.yaml", catalogs());
  }
  static Scenario good(const std::string& body) {
    Result<Scenario> scenario = decode_text(body);
    EXPECT_TRUE(scenario.has_value()) << (scenario ? "" : to_string(scenario.error()));
    return scenario ? *scenario : Scenario{};
  }
  /// A job on `nodes` DGX H100 with Llama 3 8B and more lines of the job.
  static std::string job_text(int nodes, const std::string& lines) {
    return "cluster: {nodes: " + std::to_string(nodes) +
           ", node: dgx-h100}\njob:\n  model: llama-3-8b\n  sequence_length: 8192\n"
           "  batch: {global: 256}\n" +
           lines;
  }
};

}  // namespace foretrain
