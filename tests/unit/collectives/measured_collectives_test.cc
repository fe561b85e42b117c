// Predicted times against measured ones (data/measured.csv). The constants of efficiency.csv were
// fitted on a superset of these rows, so this guards the fit; plateaus of published runs are
// checked one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/collectives/collective_cost.h"
#include "sim/document/csv_rows.h"
#include "tests/unit/collectives/machines.h"

namespace foretrain {
namespace {

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

TEST(MeasuredCollectives, MedianErrorFromOneMebibyte) {
  const auto table = CsvRows::read(
      data_file("measured.csv"),
      {"machine", "minor", "collective", "bytes", "ranks", "nodes", "time_us", "source"});
  ASSERT_TRUE(table.has_value());
  Diagnostics problems;
  std::map<std::string, std::unique_ptr<Cluster>> clusters;
  std::map<std::string, std::vector<double>> errors;
  for (const CsvRows::Row& row : table->rows()) {
    const auto number = [&](const char* column) {
      return static_cast<int>(table->number(row, column, 0, problems));
    };
    const std::string key = table->text(row, "machine") + "*" + table->text(row, "nodes") + " 2." +
                            table->text(row, "minor");
    auto& cluster = clusters[key];
    if (!cluster) {
      NcclSettings settings;
      settings.version_minor = number("minor");
      cluster = std::make_unique<Cluster>(machine_named(table->text(row, "machine")),
                                          number("nodes"), settings);
    }
    const double bytes = table->number(row, "bytes", 0, problems);
    if (bytes < 1048576) continue;
    const CollectiveKind kind = kind_named(table->text(row, "collective"));
    const auto group = cluster->some(number("ranks") / number("nodes"));
    const auto lowered =
        cluster->planner->lower(kind, Bytes{static_cast<std::int64_t>(bytes)}, group, 1);
    const double measured = table->number(row, "time_us", 0, problems);
    const double error = std::fabs(cluster->seconds(lowered) * 1e6 / measured - 1);
    errors[(number("nodes") == 1 ? "node " : "network ") + table->text(row, "collective")]
        .push_back(error);
  }
  EXPECT_TRUE(problems.empty());
  for (const auto& [name, all] : errors) {
    RecordProperty(name, std::to_string(quantile(all, 0.5)));
    std::printf("%-24s %4zu rows, median error %5.1f %%, 90 %%: %5.1f %%\n", name.c_str(),
                all.size(), 100 * quantile(all, 0.5), 100 * quantile(all, 0.9));
    EXPECT_LE(quantile(all, 0.5), name.starts_with("node") ? 0.10 : 0.20) << name;
  }
}

struct Plateau {
  const char* machine;
  int nodes, local, minor;
  const char* algorithm;  // empty: NCCL's own choice
  CollectiveKind kind;
  double bus_gbytes_per_s;
};

// Published bus bandwidths of the largest messages (nccl-tests logs and GitHub issues of
// NVIDIA/nccl).
TEST(MeasuredCollectives, ReachesPublishedPlateaus) {
  const Plateau plateaus[] = {
      {"dgx-a100", 1, 8, 28, "", CollectiveKind::kAllReduce, 235},
      {"dgx-a100", 1, 8, 28, "", CollectiveKind::kAllGather, 223},
      {"dgx-a100", 1, 8, 28, "", CollectiveKind::kSendRecv, 195},
      {"dgx-a100", 2, 8, 28, "Ring", CollectiveKind::kAllReduce, 188},
      {"dgx-a100", 4, 8, 28, "Ring", CollectiveKind::kAllReduce, 191},
      {"dgx-h100", 1, 8, 28, "Ring", CollectiveKind::kAllReduce, 365},
      {"dgx-h100", 1, 4, 27, "", CollectiveKind::kAllReduce, 363},
      {"dgx-h100", 1, 5, 27, "", CollectiveKind::kAllReduce, 414},
      {"dgx-h100", 1, 8, 27, "", CollectiveKind::kAllReduce, 475},
      {"dgx-h100", 1, 8, 28, "", CollectiveKind::kAllGather, 361},
      {"dgx-h100", 1, 8, 28, "", CollectiveKind::kReduceScatter, 363},
      {"dgx-h100", 2, 8, 28, "", CollectiveKind::kAllReduce, 475},
      {"dgx-b200", 1, 8, 28, "Ring", CollectiveKind::kAllReduce, 682},
      {"dgx-b200", 1, 8, 28, "", CollectiveKind::kAllReduce, 838},
  };
  constexpr double kSpreadOfSources = 0.15;  // between logs of the same machine
  for (const Plateau& p : plateaus) {
    NcclSettings settings;
    settings.version_minor = p.minor;
    if (*p.algorithm != '\0') settings.environment["NCCL_ALGO"] = p.algorithm;
    const Cluster cluster{machine_named(p.machine), p.nodes, settings};
    const auto lowered = cluster.planner->lower(p.kind, gibibytes(8), cluster.some(p.local), 1);
    const double bus = gibibytes(8).as_double() * bus_factor(p.kind, p.nodes * p.local) /
                       cluster.seconds(lowered) / 1e9;
    EXPECT_NEAR(bus / p.bus_gbytes_per_s, 1.0, kSpreadOfSources)
        << p.machine << " x " << p.nodes << " " << to_string(p.kind) << " "
        << to_string(lowered.choice.algorithm) << ": " << bus;
  }
}

}  // namespace
}  // namespace foretrain
