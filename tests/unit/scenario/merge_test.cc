#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sim/scenario/scenario.h"
#include "tests/unit/scenario/scenario_fixture.h"

namespace foretrain {
namespace {

DocumentNode document_of(const std::string& text, const std::string& name = "a.yaml") {
  const Result<DocumentNode> document = parse_document(text, name);
  EXPECT_TRUE(document.has_value()) << text;
  return document ? *document : DocumentNode{};
}

std::string merged(const std::string& base, const std::string& over) {
  return print_document(merge_documents(document_of(base), document_of(over)));
}

TEST(Merge, MapsMergeAllElseReplaces) {
  EXPECT_EQ(merged("{a: {b: 1, c: 2}, d: 3}", "{a: {c: 4, e: 5}}"),
            "{a: {b: 1, c: 4, e: 5}, d: 3}");
  EXPECT_EQ(merged("{a: [1, 2]}", "{a: [3]}"), "{a: [3]}");
  EXPECT_EQ(merged("{a: {b: 1}}", "{a: 2}"), "{a: 2}");
  EXPECT_EQ(merged("{a: 2}", "{a: {b: 1}}"), "{a: {b: 1}}");
  EXPECT_EQ(merged("{a: 2}", "{a: null}"), "{a: null}");
}

/// Merging is associative, and what lies on top stays.
TEST(Merge, IsAssociative) {
  const DocumentNode a = document_of("{x: {p: 1, q: 2}, y: 3}"),
                     b = document_of("{x: {q: 4}, z: 5}"),
                     c = document_of("{x: {p: 6, r: 7}, z: {s: 8}}");
  EXPECT_EQ(print_document(merge_documents(merge_documents(a, b), c)),
            print_document(merge_documents(a, merge_documents(b, c))));
}

std::string set(const std::string& text, const std::string& assignment) {
  const Result<DocumentNode> changed = set_value(document_of(text), assignment);
  return changed ? print_document(*changed) : changed.error().front().message;
}

TEST(Set, ReachesEveryPath) {
  EXPECT_EQ(set("{a: {b: 1}}", "a.b=2"), "{a: {b: 2}}");
  EXPECT_EQ(set("{a: 1}", "b.c.d=[1, 2]"), "{a: 1, b: {c: {d: [1, 2]}}}");
  EXPECT_EQ(set("{a: 1}", "a=400 Gbit/s"), "{a: 400 Gbit/s}");
  EXPECT_EQ(set("{a: 1}", "a=null"), "{a: null}");
  EXPECT_EQ(set("{a: [{b: 1}, {b: 2}]}", "a.1.b=3"), "{a: [{b: 1}, {b: 3}]}");
  EXPECT_EQ(set("{a: 1}", "nccl.NCCL_ALGO=allreduce:tree"),
            "{a: 1, nccl: {NCCL_ALGO: \"allreduce:tree\"}}");
  // A name stays as what the map starts from.
  EXPECT_EQ(set("{job: {model: llama-3-8b}}", "job.model.layers=7"),
            "{job: {model: {name: llama-3-8b, layers: 7}}}");
  EXPECT_EQ(set("{cluster: {node: dgx-h100}}", "cluster.node.nics=4"),
            "{cluster: {node: {extends: dgx-h100, nics: 4}}}");
  EXPECT_EQ(set("{job: {recompute: full}}", "job.recompute.full_layers=4"),
            "{job: {recompute: {full_layers: 4}}}");
}

TEST(Set, SaysWhatIsWrong) {
  EXPECT_EQ(set("{a: 1}", "a"), "needs PATH=VALUE");
  EXPECT_EQ(set("{a: 1}", "=1"), "needs PATH=VALUE");
  EXPECT_EQ(set("{a: 1}", "a="), "needs a value");
  EXPECT_EQ(set("{a: 1}", "a..b=1"), "an empty key in the path");
  EXPECT_EQ(set("{a: 1}", "a.=1"), "an empty key in the path");
  EXPECT_EQ(set("{a: [1]}", "a.7=1"), "is a list of 1 items");
  EXPECT_EQ(set("{a: [1]}", "a.b=1"), "is a list of 1 items");
  EXPECT_EQ(set("{a: 1}", "a=[1").substr(0, 14), "not valid YAML");
  EXPECT_EQ(set("{a: 1}", "a=1\n- 2"), "needs one value");
}

class Files : public ScenarioFixture {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_ / "bases"); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream{folder_ / name} << text;
    return (folder_ / name).string();
  }
  Result<Scenario> load(const std::string& name, std::vector<std::string> sets = {},
                        std::vector<std::string> patches = {}) {
    LoadOptions options;
    options.data_dir = test_data_dir();
    options.sets = std::move(sets);
    options.patches = std::move(patches);
    return load_scenario((folder_ / name).string(), options);
  }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("foretrain-merge-" + std::to_string(getpid()));
};

TEST_F(Files, LayersLieInOrder) {
  write("bases/a.yaml",
        "cluster: {nodes: 2, node: dgx-h100}\nseed: 2\nexpect: [{metric: x, value: 1}]\n");
  write("b.yaml", "extends: bases/a.yaml\nforetrain: 1\nname: b\nseed: 3\n");
  const std::string patch = write("p.yaml", "seed: 4\ncluster: {nodes: 3}\n");
  const Result<Scenario> own = load("b.yaml");
  ASSERT_TRUE(own.has_value()) << to_string(own.error());
  EXPECT_EQ(own->seed, 3u);
  EXPECT_EQ(own->cluster.nodes, 2);
  EXPECT_TRUE(own->expect.empty());  // a test of the base is none of what extends it
  EXPECT_EQ(load("b.yaml", {}, {patch})->seed, 4u);
  EXPECT_EQ(load("b.yaml", {"seed=5"}, {patch})->seed, 5u);
  EXPECT_EQ(load("b.yaml", {"seed=5"}, {patch})->cluster.nodes, 3);
  EXPECT_EQ(load("b.yaml", {"seed=null"})->seed, 1u);
}

TEST_F(Files, ProblemsArePlacedWhereTheTextStands) {
  write("bases/a.yaml", "cluster:\n  nodes: none\n  node: dgx-h100\n");
  write("b.yaml", "extends: bases/a.yaml\nforetrain: 1\nname: b\n");
  const std::string patch = write("p.yaml", "profile: nothing\n");
  const Result<Scenario> scenario = load("b.yaml", {"seed=minus"}, {patch});
  ASSERT_FALSE(scenario.has_value());
  ASSERT_EQ(scenario.error().size(), 3u) << to_string(scenario.error());
  EXPECT_EQ(scenario.error()[0].location,
            (SourceLocation{(folder_ / "bases/a.yaml").string(), 2, 10}));
  EXPECT_EQ(scenario.error()[1].location, (SourceLocation{patch, 1, 10}));
  EXPECT_EQ(
      to_string(scenario.error()[2]),
      "--set seed=minus: error: seed: 'minus' is not a whole number\n  hint: write digits only: 8");
}

TEST_F(Files, AllWrongSetsAndPatchesAreNamed) {
  write("b.yaml", "foretrain: 1\nname: b\ncluster: {nodes: 2, node: dgx-h100}\n");
  const std::string patch = write("p.yaml", "[1]\n");
  const Result<Scenario> scenario = load("b.yaml", {"a", "b="}, {patch, "absent.yaml"});
  ASSERT_FALSE(scenario.has_value());
  EXPECT_EQ(scenario.error().size(), 4u) << to_string(scenario.error());
}

}  // namespace
}  // namespace foretrain
