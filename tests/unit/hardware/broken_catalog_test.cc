// Wrong catalog files: every problem at once, each with its line and a way out.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "sim/hardware/catalog.h"
#include "tests/unit/temporary_folder.h"

namespace foretrain {
namespace {

class BrokenCatalog : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* file : {"gpus", "nics", "switches", "nodes"}) {
      write(file, read(file));
    }
  }

  static std::string read(const std::string& file) {
    std::ifstream stream{std::string{FORETRAIN_SOURCE_DIR "/scenarios/catalog/"} + file + ".yaml"};
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
  }
  void write(const std::string& file, const std::string& text) {
    std::ofstream{dir_ + "/" + file + ".yaml"} << text;
  }
  /// Replaces the first `from` of the shipped file by `to`.
  void edit(const std::string& file, const std::string& from, const std::string& to) {
    std::ifstream stream{dir_ + "/" + file + ".yaml"};
    std::stringstream buffer;
    buffer << stream.rdbuf();
    std::string text = buffer.str();
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write(file, text.replace(at, from.size(), to));
  }
  std::string problems() {
    auto catalog = HardwareCatalog::load(dir_);
    return catalog ? std::string{} : to_string(catalog.error());
  }

  test::TemporaryFolder folder_;
  std::string dir_ = folder_.path();
};

void expect_all(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part << "\nin:\n" << text;
  }
}

TEST_F(BrokenCatalog, ShippedFilesHaveNoProblem) { EXPECT_EQ(problems(), ""); }

TEST_F(BrokenCatalog, ReportsUnknownMissingAndUnitlessTogether) {
  edit("gpus", "    sm_count: 80\n", "    sm_counts: 80\n");
  edit("gpus", "memory_bandwidth: 900 GB/s", "memory_bandwidth: 900");
  edit("gpus", "architecture: volta", "architecture: volte");
  expect_all(problems(), {"key \"sm_count\" is missing", "unknown key \"sm_counts\"",
                          "did you mean \"sm_count\"?", "gpus.v100-16.memory_bandwidth",
                          "needs a unit", "unknown value \"volte\"", "did you mean \"volta\"?"});
}

TEST_F(BrokenCatalog, GivesThePlaceOfEachProblem) {
  write("switches",
        "switches:\n  tiny:\n    description: x\n    ports: many\n"
        "    port_bandwidth: 100 Gbit/s\n    latency: 90 ns\n"
        "    transport: infiniband\n"
        "    source: {title: t, url: \"https://x\", date: 2026-13-01}\n");
  const std::string text = problems();
  expect_all(text, {"switches.yaml:4:12: error: switches.tiny.ports: must be a whole number",
                    "switches.yaml:8:", "switches.tiny.source.date: must be a date"});
}

TEST_F(BrokenCatalog, NodesMustNameKnownParts) {
  edit("nodes", "gpu: h100-sxm", "gpu: h100-smx");
  edit("nodes", "nic: edr-100g", "nic: cx9-1600g");
  expect_all(problems(), {"\"h100-smx\" is not in the catalog", "did you mean \"h100-sxm\"?",
                          "nodes.dgx-1v.nic: \"cx9-1600g\" is not in the catalog"});
}

TEST_F(BrokenCatalog, NvlinkNeedsLinksAndBandwidth) {
  edit("gpus", "nvlink_links: 6", "nvlink_links: 0");
  edit("nodes", "interconnect: pcie", "interconnect: nvswitch");
  expect_all(problems(),
             {"NVLink links and NVLink bandwidth must go together", "\"l40s\" has no NVLink"});
}

TEST_F(BrokenCatalog, ASourceIsNotOptional) {
  write("nics",
        "nics:\n  n:\n    description: x\n    bandwidth: 100 Gbit/s\n"
        "    transport: infiniband\n    latency: 1 us\n    payload_efficiency: 99 %\n"
        "    sources:\n      speed: {title: t, date: 2026-12-01}\n");
  expect_all(problems(), {"nics.n: key \"source\" is missing",
                          "nics.n.sources.speed: is no key of this entry"});
}

TEST_F(BrokenCatalog, SaysWhichFileIsMissingWithoutFollowUps) {
  std::filesystem::remove(dir_ + "/gpus.yaml");
  const std::string text = problems();
  expect_all(text, {"gpus.yaml"});
  EXPECT_EQ(text.find("is not in the catalog"), std::string::npos) << text;
}

TEST_F(BrokenCatalog, WrongShapesDoNotCrash) {
  for (const char* text : {"", "[]", "gpus", "gpus:", "gpus: []", "gpus: {a: 1}", "gpus: {a: {}}",
                           "gpus: {A_b: {memory: [1]}}", "other: {}"}) {
    write("gpus", text);
    EXPECT_NE(problems(), "") << text;
  }
}

}  // namespace
}  // namespace foretrain
