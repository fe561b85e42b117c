// Choices against NCCL's own planning code (data/choices.csv) and against the library
// (data/estimates.csv).
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "sim/collectives/nccl_graphs.h"
#include "sim/collectives/nccl_tuning.h"
#include "sim/document/csv_rows.h"
#include "tests/unit/collectives/machines.h"

namespace foretrain {
namespace {

NcclSettings settings_of(const std::string& minor, const std::string& environment) {
  NcclSettings settings;
  settings.version_minor = std::stoi(minor);
  std::size_t at = 0;
  while (at < environment.size()) {
    const std::size_t end = std::min(environment.find(' ', at), environment.size());
    const std::string pair = environment.substr(at, end - at);
    const std::size_t equals = pair.find('=');
    if (equals != std::string::npos)
      settings.environment[pair.substr(0, equals)] = pair.substr(equals + 1);
    at = end + 1;
  }
  return settings;
}

/// One node is enough: choices depend on counts, not on the graph.
CollectiveChoice choice_of(const std::string& name, const NcclSettings& settings,
                           CollectiveKind kind, double bytes, int ranks, int nodes) {
  static std::map<std::string, std::unique_ptr<Cluster>> graphs;
  const NcclMachine machine = machine_named(name);
  auto& cluster = graphs[name];
  if (!cluster) cluster = std::make_unique<Cluster>(machine, 1);
  const CollectivePlanner planner{*cluster->topology, *cluster->router, machine, settings,
                                  shipped_tables()};
  return planner.choose(kind, Bytes{static_cast<std::int64_t>(bytes)}, ranks, nodes);
}

struct Score {
  int matched = 0;
  int all = 0;
  int estimates = 0;
  [[nodiscard]] double share() const { return static_cast<double>(matched) / all; }
  [[nodiscard]] double estimated() const { return static_cast<double>(estimates) / matched; }
};

/// NCCL prints three decimals; its tables hold single precision.
bool same_estimate(double ours, double theirs) {
  return std::fabs(ours - theirs) <= 0.002 + 2e-6 * theirs;
}

std::map<std::string, Score> scores() {
  const std::vector<std::string> columns{"machine",     "nodes",      "ranks",       "minor",
                                         "environment", "collective", "bytes",       "algorithm",
                                         "protocol",    "channels",   "estimated_us"};
  const auto table = CsvRows::read(data_file("choices.csv"), columns);
  EXPECT_TRUE(table.has_value());
  std::map<std::string, Score> result;
  Diagnostics problems;
  for (const CsvRows::Row& row : table->rows()) {
    const auto text = [&](const char* column) { return table->text(row, column); };
    const auto number = [&](const char* column) { return table->number(row, column, 0, problems); };
    const std::string& environment = text("environment");
    const CollectiveChoice choice = choice_of(
        text("machine"), settings_of(text("minor"), environment), kind_named(text("collective")),
        number("bytes"), static_cast<int>(number("ranks")), static_cast<int>(number("nodes")));
    Score& score =
        result[environment.empty() ? text("machine") + " 2." + text("minor") : "environment"];
    ++score.all;
    const bool none = text("algorithm") == "none";
    const bool same = none ? !choice.available
                           : choice.available && to_string(choice.algorithm) == text("algorithm") &&
                                 to_string(choice.protocol) == text("protocol") &&
                                 choice.max_channels == static_cast<int>(number("channels"));
    if (!same) continue;
    ++score.matched;
    if (none || same_estimate(choice.estimated_us, number("estimated_us"))) ++score.estimates;
  }
  EXPECT_TRUE(problems.empty());
  return result;
}

TEST(NcclChoice, MatchesThePlanningCode) {
  int all = 0;
  for (const auto& [name, score] : scores()) {
    RecordProperty(name, std::to_string(score.share()));
    EXPECT_EQ(score.matched, score.all) << name;
    EXPECT_GE(score.estimated(), 0.98)
        << name << ": " << score.estimates << " of " << score.matched;
    all += score.all;
  }
  EXPECT_GE(all, 2000);
}

/// The library itself on nodes of one GPU with a socket behind the host bridge: no LL128, and 40
/// GB/s at most.
TEST(NcclChoice, EstimatesAsTheLibraryDoes) {
  const auto table = CsvRows::read(data_file("estimates.csv"),
                                   {"nic_mbps", "ranks", "collective", "bytes", "estimated_us"});
  ASSERT_TRUE(table.has_value());
  NcclSettings settings;
  settings.environment["NCCL_PROTO"] = "^LL128";
  Diagnostics problems;
  int matched = 0;
  for (const CsvRows::Row& row : table->rows()) {
    const int ranks = static_cast<int>(table->number(row, "ranks", 0, problems));
    const std::string machine =
        table->number(row, "nic_mbps", 0, problems) > 1e5 ? "h100-1-host" : "h100-1-10g";
    const CollectiveChoice choice =
        choice_of(machine, settings, kind_named(table->text(row, "collective")),
                  table->number(row, "bytes", 0, problems), ranks, ranks);
    const double theirs = table->number(row, "estimated_us", 0, problems);
    if (std::fabs(choice.estimated_us - theirs) <= 0.011 + 1e-5 * theirs) {
      ++matched;
    } else {
      ADD_FAILURE() << machine << " " << ranks << " " << table->text(row, "collective") << " "
                    << table->text(row, "bytes") << ": " << choice.estimated_us << ", not "
                    << theirs;
    }
    if (HasNonfatalFailure() && matched + 5 < row.line - 4) break;
  }
  EXPECT_GT(matched, 300);
}

/// Published switch points: rings to 1 MiB, NVLS from 2 MiB on 8 H100 or H200; on k of 8 H200 NVLS
/// from 5 GPUs on.
TEST(NcclChoice, SwitchesWhereLogsOfHopperDo) {
  NcclSettings settings;
  settings.version_minor = 27;
  const auto at = [&](std::int64_t bytes, int ranks) {
    return choice_of("dgx-h100", settings, CollectiveKind::kAllReduce, static_cast<double>(bytes),
                     ranks, 1);
  };
  EXPECT_EQ(at(1 << 20, 8).algorithm, CollectiveAlgorithm::kRing);
  EXPECT_EQ(at(1 << 20, 8).protocol, CollectiveProtocol::kLl);
  EXPECT_EQ(at(2 << 20, 8).algorithm, CollectiveAlgorithm::kNvls);
  for (int ranks = 2; ranks <= 8; ++ranks) {
    EXPECT_EQ(at(std::int64_t{8} << 30, ranks).algorithm,
              ranks >= 5 ? CollectiveAlgorithm::kNvls : CollectiveAlgorithm::kRing)
        << ranks;
  }
}

TEST(NcclChoice, ReportsCallsThatNcclRefuses) {
  NcclSettings settings;
  settings.environment["NCCL_ALGO"] = "Tree";
  EXPECT_FALSE(choice_of("dgx-h100", settings, CollectiveKind::kBroadcast, 1e6, 8, 1).available);
  EXPECT_TRUE(choice_of("dgx-h100", settings, CollectiveKind::kAllReduce, 1e6, 8, 1).available);
  settings.version_minor = 23;  // fell back to rings
  EXPECT_TRUE(choice_of("dgx-h100", settings, CollectiveKind::kBroadcast, 1e6, 8, 1).available);
}

}  // namespace
}  // namespace foretrain
