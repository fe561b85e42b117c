// Broken scenarios give exactly the diagnostics written beside them; unusual but legal ones load.
// FORETRAIN_UPDATE_EXPECTED=1 writes the .expected files anew; read the difference before
// committing it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/core/random_stream.h"
#include "sim/scenario/decode.h"
#include "sim/scenario/merge.h"
#include "sim/scenario/scenario.h"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

LoadOptions options() {
  LoadOptions result;
  result.data_dir = std::string{FORETRAIN_SOURCE_DIR} + "/scenarios";
  return result;
}

std::string read_text(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream{path, std::ios::binary}.rdbuf();
  return text.str();
}

std::vector<std::string> corpus(const char* folder) {
  std::vector<std::string> names;
  for (const auto& entry :
       fs::directory_iterator(fs::path{FORETRAIN_SOURCE_DIR} / "tests/scenario" / folder)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Diagnostics name the file as given; the tests run in its folder so that no path of a machine
/// appears.
class Corpus : public testing::Test {
 protected:
  void enter(const char* folder) {
    fs::current_path(fs::path{FORETRAIN_SOURCE_DIR} / "tests/scenario" / folder);
  }
  void TearDown() override { fs::current_path(before_); }

 private:
  fs::path before_ = fs::current_path();
};

TEST_F(Corpus, BrokenScenariosGiveTheirDiagnostics) {
  enter("reject");
  const auto names = corpus("reject");
  EXPECT_GE(names.size(), 45u);
  for (const std::string& name : names) {
    const Result<Scenario> scenario = load_scenario(name + ".yaml", options());
    ASSERT_FALSE(scenario.has_value()) << name;
    const std::string text = to_string(scenario.error());
    EXPECT_TRUE(has_errors(scenario.error())) << name;
    if (std::getenv("FORETRAIN_UPDATE_EXPECTED") != nullptr)
      std::ofstream{name + ".expected"} << text;
    EXPECT_EQ(text, read_text(name + ".expected")) << name;
  }
}

TEST_F(Corpus, UnusualButLegalScenariosLoad) {
  enter("accept");
  for (const std::string& name : corpus("accept")) {
    const Result<Scenario> scenario = load_scenario(name + ".yaml", options());
    EXPECT_TRUE(scenario.has_value()) << name << "\n"
                                      << (scenario ? "" : to_string(scenario.error()));
  }
}

std::string only_message(const Result<Scenario>& scenario) {
  if (scenario) return "loaded";
  return scenario.error().size() == 1 ? scenario.error().front().message
                                      : to_string(scenario.error());
}

TEST_F(Corpus, FilesThatAreNoScenarios) {
  const fs::path folder =
      fs::temp_directory_path() / ("foretrain-corpus-" + std::to_string(getpid()));
  fs::create_directories(folder);
  fs::current_path(folder);
  EXPECT_EQ(only_message(load_scenario("absent.yaml", options())), "no such file");
  fs::create_directories("folder.yaml");
  EXPECT_EQ(only_message(load_scenario("folder.yaml", options())), "this is a directory");
  EXPECT_EQ(only_message(load_scenario("/dev/null", options())), "not a regular file");
  std::ofstream{"huge.yaml"} << std::string(50'000'000, '#');
  EXPECT_EQ(only_message(load_scenario("huge.yaml", options())),
            "the file is 50000000 bytes long; at most 4194304 are read");
  std::ofstream{"deep.yaml"} << "foretrain: 1\nname: " << std::string(100'000, '[');
  EXPECT_FALSE(load_scenario("deep.yaml", options()).has_value());
  std::ofstream{"long-key.yaml"} << std::string(1'000'000, 'k') << ": 1\n";
  EXPECT_FALSE(load_scenario("long-key.yaml", options()).has_value());
  if (geteuid() != 0) {
    std::ofstream{"secret.yaml"} << "foretrain: 1\n";
    fs::permissions("secret.yaml", fs::perms::none);
    EXPECT_EQ(only_message(load_scenario("secret.yaml", options())),
              "cannot be read: Permission denied");
  }
  fs::current_path("/");
  fs::remove_all(folder);
}

/// A thousand damaged copies of a real scenario: no crash, and every error has a place.
TEST_F(Corpus, DamagedScenariosNeverCrash) {
  const std::string whole =
      read_text(fs::path{FORETRAIN_SOURCE_DIR} / "tests/scenario/accept/own-everything.yaml");
  const Result<Catalogs> catalogs = load_catalogs(options().data_dir);
  ASSERT_TRUE(catalogs.has_value());
  const RandomStream random{7, RandomPurpose::kTest};
  const std::string alphabet = ":-[]{}&*!|>'\"%@`#,?\n\t 09azAZ";
  for (std::uint64_t trial = 0; trial < 1000; ++trial) {
    std::string text = whole;
    const std::uint64_t changes = 1 + random.below(4, trial, 0);
    for (std::uint64_t c = 0; c < changes; ++c) {
      const auto at = static_cast<std::size_t>(random.below(text.size(), trial, 10 + c));
      const char with =
          alphabet[static_cast<std::size_t>(random.below(alphabet.size(), trial, 20 + c))];
      switch (random.below(3, trial, 30 + c)) {
        case 0: text[at] = with; break;
        case 1: text.erase(at, 1); break;
        default: text.insert(at, 1, with); break;
      }
    }
    Result<DocumentNode> document = parse_document(text, "damaged.yaml");
    if (document) document = resolve_extends(std::move(*document), "damaged.yaml");
    const Result<Scenario> scenario = document
                                          ? decode_scenario(*document, "damaged.yaml", *catalogs)
                                          : tl::make_unexpected(document.error());
    if (scenario) continue;
    EXPECT_TRUE(has_errors(scenario.error())) << text;
    for (const Diagnostic& problem : scenario.error()) {
      EXPECT_EQ(problem.location.file, "damaged.yaml") << text;
      EXPECT_GT(problem.location.line, 0) << text << to_string(problem);
    }
  }
}

TEST_F(Corpus, SettingAValueEqualsWritingIt) {
  enter("accept");
  LoadOptions with_set = options();
  with_set.sets = {"cluster.nodes=6", "job.batch.global=96", "job.model.layers=24"};
  const Result<Scenario> set = load_scenario("own-everything.yaml", with_set);
  std::string text = read_text("own-everything.yaml");
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("nodes: 3", "nodes: 6");
  replace("global: 48", "global: 96");
  replace("layers: 12", "layers: 24");
  const Result<Scenario> written = parse_scenario(text, "own-everything.yaml", options());
  ASSERT_TRUE(set.has_value()) << to_string(set.error());
  ASSERT_TRUE(written.has_value()) << to_string(written.error());
  EXPECT_EQ(set->fingerprint, written->fingerprint);
  EXPECT_EQ(set->cluster.nodes, 6);
  EXPECT_EQ(set->job->model.layers, 24);
}

}  // namespace
}  // namespace foretrain
