// foretrain collective: one collective alone on a scenario's cluster, a sweep of sizes, or a CSV
// file of questions.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/collectives/collective.h"
#include "sim/collectives/collective_cost.h"
#include "sim/core/unit_parser.h"
#include "sim/document/csv_rows.h"
#include "sim/run/machine_build.h"
#include "sim/scenario/scenario.h"
#include "tools/foretrain/collective_arguments.h"
#include "tools/foretrain/command.h"

namespace foretrain {
namespace {

using Json = nlohmann::ordered_json;

struct CollectiveArguments {
  std::string scenario;
  std::vector<std::string> sets, patches;
  std::string op, size, sizes, ranks = "all", queries, fidelity;
  bool json = false;
};

struct Answer {
  LoweredCollective lowered;
  double seconds = 0;
  double algbw = 0;  // bytes per second
  double busbw = 0;
};

/// The scenario's machine and what is asked of it.
struct Session {
  Scenario scenario;
  Machine machine;
  ProcessGroup group;
};

/// Links that one collective shares with itself only: `ideal` and `fluid` differ when several run,
/// so that both give the same here.
Answer run_alone(const Session& session, const CollectivePlanner& planner, CollectiveKind kind,
                 Bytes size, const ProcessGroup& group) {
  Answer answer;
  answer.lowered = planner.lower(kind, size, group, session.scenario.seed);
  if (answer.lowered.work_bytes <= 0) return answer;
  double rate = answer.lowered.rate_cap.bytes_per_second();
  for (const LinkShare& use : answer.lowered.usage) {
    const std::vector<double>& speed = session.machine.link_speed;
    const double left = speed.empty() ? 1.0 : speed[use.link.position()];
    const double limit =
        session.machine.topology->link(use.link).bandwidth.bytes_per_second() * left / use.share;
    if (rate <= 0 || limit < rate) rate = limit;
  }
  answer.seconds = to_seconds(answer.lowered.latency) + answer.lowered.work_bytes / rate;
  answer.algbw = answer.lowered.work_bytes / answer.seconds;
  answer.busbw = answer.algbw * bus_factor(kind, static_cast<int>(group.gpus.size()));
  return answer;
}

Result<Session> open_session(const CollectiveArguments& arguments, const CommandContext& context) {
  LoadOptions load;
  load.data_dir = context.data_dir;
  load.sets = arguments.sets;
  load.patches = arguments.patches;
  if (!arguments.fidelity.empty()) load.sets.push_back("fidelity=" + arguments.fidelity);
  Result<Scenario> scenario = load_scenario(arguments.scenario, load);
  if (!scenario) return tl::make_unexpected(scenario.error());
  Result<Machine> machine = build_machine(*scenario, context.data_dir);
  if (!machine) return tl::make_unexpected(machine.error());
  Session session{std::move(*scenario), std::move(*machine), {}};
  const Result<std::vector<int>> ranks =
      parse_ranks(arguments.ranks, session.machine.topology->num_gpus());
  if (!ranks) return tl::make_unexpected(ranks.error());
  for (const int rank : *ranks) session.group.gpus.push_back(session.machine.topology->gpu(rank));
  return session;
}

Json to_json(const Session& session, CollectiveKind kind, Bytes size, const Answer& answer) {
  const CollectiveChoice& choice = answer.lowered.choice;
  return Json{{"scenario", session.scenario.name},
              {"op", to_string(kind)},
              {"size_bytes", size.count()},
              {"ranks", session.group.gpus.size()},
              {"time_s", answer.seconds},
              {"algbw_bytes_per_s", answer.algbw},
              {"busbw_bytes_per_s", answer.busbw},
              {"algorithm", to_string(choice.algorithm)},
              {"protocol", to_string(choice.protocol)},
              {"channels", choice.channels},
              {"latency_s", to_seconds(answer.lowered.latency)},
              {"nccl_estimate_s", choice.estimated_us * 1e-6},
              {"fidelity", session.scenario.fidelity == Fidelity::kIdeal ? "ideal" : "fluid"}};
}

// ---- nccl-tests' layout ----

/// Numbers as nccl-tests prints them: fewer decimals as they grow.
std::string test_number(double value, int width) {
  const int decimals = value >= 10000 ? 0 : value >= 100 ? 1 : 2;
  return fmt::format("{:>{}.{}f}", value, width, decimals);
}

bool has_operator(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kReduce;
}

void print_header(const Session& session, CollectiveKind kind) {
  std::printf("# foretrain: %s of %zu ranks on %s, predicted; NCCL 2.%d\n#\n",
              std::string{to_string(kind)}.c_str(), session.group.gpus.size(),
              session.scenario.name.c_str(), session.scenario.nccl.version_minor);
  std::printf("#%61s%20s\n", "out-of-place", "choice");
  std::printf("#%12s%13s%10s%8s%8s%9s%8s%8s  %s\n", "size", "count", "type", "redop", "root",
              "time", "algbw", "busbw", "algorithm/protocol x channels");
  std::printf("#%12s%13s%10s%8s%8s%9s%8s%8s\n", "(B)", "(elements)", "", "", "", "(us)", "(GB/s)",
              "(GB/s)");
}

void print_row(CollectiveKind kind, Bytes size, std::size_t ranks, const Answer& answer) {
  const bool split = kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter ||
                     kind == CollectiveKind::kAllToAll;
  const auto count = size.count() / 4 / (split ? static_cast<std::int64_t>(ranks) : 1);
  const bool rooted = kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce;
  const CollectiveChoice& choice = answer.lowered.choice;
  fmt::print(" {:>12}{:>13}{:>10}{:>8}{:>8}{}{}{}  {}/{} x {}{}\n", size.count(), count, "float",
             has_operator(kind) ? "sum" : "none", rooted ? 0 : -1,
             test_number(answer.seconds * 1e6, 9), test_number(answer.algbw / 1e9, 8),
             test_number(answer.busbw / 1e9, 8), to_string(choice.algorithm),
             to_string(choice.protocol), choice.channels,
             choice.available ? "" : "  NCCL refuses the call");
}

int sweep(const Session& session, CollectiveKind kind, const std::vector<Bytes>& sizes, bool json) {
  Json rows = Json::array();
  double sum = 0;
  if (!json) print_header(session, kind);
  for (const Bytes size : sizes) {
    const Answer answer =
        run_alone(session, *session.machine.collectives, kind, size, session.group);
    sum += answer.busbw;
    if (json) {
      rows.push_back(to_json(session, kind, size, answer));
    } else {
      print_row(kind, size, session.group.gpus.size(), answer);
    }
  }
  if (json) {
    std::printf("%s\n", rows.dump(2).c_str());
  } else {
    std::printf("# Avg bus bandwidth    : %g\n", sum / static_cast<double>(sizes.size()) / 1e9);
  }
  return kDone;
}

int one(const Session& session, CollectiveKind kind, Bytes size, bool json) {
  const Answer answer = run_alone(session, *session.machine.collectives, kind, size, session.group);
  if (json) {
    std::printf("%s\n", to_json(session, kind, size, answer).dump(2).c_str());
    return kDone;
  }
  const CollectiveChoice& choice = answer.lowered.choice;
  fmt::print("{} of {} on {} GPUs\n", to_string(kind), format_bytes(size),
             session.group.gpus.size());
  fmt::print("  time           {}\n", format_seconds(answer.seconds));
  fmt::print("  algbw          {}\n",
             format_byte_rate(DataRate::from_bytes_per_second(answer.algbw)));
  fmt::print("  busbw          {}\n",
             format_byte_rate(DataRate::from_bytes_per_second(answer.busbw)));
  fmt::print("  NCCL chooses   {}, {}, {} channel{}{}\n", to_string(choice.algorithm),
             to_string(choice.protocol), choice.channels, choice.channels == 1 ? "" : "s",
             choice.available ? "" : " (in truth it refuses the call)");
  fmt::print("  before data    {}\n", format_seconds(to_seconds(answer.lowered.latency)));
  return kDone;
}

// ---- questions from a file ----

/// Planners by what a row forces.
class Planners {
 public:
  explicit Planners(const Session& session, NcclTables tables, NcclMachine machine)
      : session_(session), tables_(std::move(tables)), machine_(std::move(machine)) {}
  const CollectivePlanner& get(const std::string& algorithm, const std::string& protocol) {
    auto& planner = planners_[{algorithm, protocol}];
    if (planner) return *planner;
    NcclSettings settings = session_.scenario.nccl;
    if (!algorithm.empty()) settings.environment["NCCL_ALGO"] = algorithm;
    if (!protocol.empty()) settings.environment["NCCL_PROTO"] = protocol;
    planner =
        std::make_unique<CollectivePlanner>(*session_.machine.topology, *session_.machine.router,
                                            machine_, std::move(settings), tables_);
    return *planner;
  }

 private:
  const Session& session_;
  NcclTables tables_;
  NcclMachine machine_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<CollectivePlanner>> planners_;
};

/// The added cells of one row, or why there are none.
tl::expected<std::string, std::string> answer_row(const Session& session, Planners& planners,
                                                  const QueryRow& query) {
  const Result<CollectiveKind> kind = parse_op(query.op);
  if (!kind) return tl::make_unexpected(kind.error().front().message);
  const auto bytes = parse_plain_number(query.bytes);
  constexpr double kMostBytes = 1e18;
  if (!bytes || *bytes < 1 || *bytes > kMostBytes)
    return tl::make_unexpected("bytes must be a positive number");
  ProcessGroup group;
  const int gpus = session.machine.topology->num_gpus();
  const Result<std::vector<int>> ranks = parse_query_ranks(query.ranks, gpus);
  if (!ranks) return tl::make_unexpected(ranks.error().front().message);
  for (const int rank : *ranks) group.gpus.push_back(session.machine.topology->gpu(rank));
  if (group.gpus.size() < 2) return tl::make_unexpected("a collective needs two ranks");
  for (const auto& [name, value] :
       {std::pair{"NCCL_ALGO", query.algorithm}, std::pair{"NCCL_PROTO", query.protocol}}) {
    if (value.empty()) continue;
    if (const auto problem = check_nccl_variable(name, value))
      return tl::make_unexpected(problem->message);
  }
  const Answer answer = run_alone(session, planners.get(query.algorithm, query.protocol), *kind,
                                  Bytes{static_cast<std::int64_t>(*bytes)}, group);
  const CollectiveChoice& choice = answer.lowered.choice;
  if (!choice.available) return tl::make_unexpected("NCCL has no such algorithm for this call");
  return fmt::format("{:.9g},{:.9g},{:.9g},{},{},{},", answer.seconds, answer.algbw, answer.busbw,
                     to_string(choice.algorithm), to_string(choice.protocol), choice.channels);
}

int answer_queries(const Session& session, const std::string& path, const CommandContext& context) {
  const Result<QueryFile> file = read_query_file(path);
  if (!file) {
    std::fputs(to_string(file.error()).c_str(), stderr);
    return kWrongInput;
  }
  Result<NcclTables> tables = load_nccl_tables(context.data_dir + "/catalog");
  if (!tables) {
    std::fputs(to_string(tables.error()).c_str(), stderr);
    return kWrongInput;
  }
  Planners planners{session, std::move(*tables), nccl_machine(session.scenario.cluster.node)};
  fmt::print(
      "{},time_s,algbw_bytes_per_s,busbw_bytes_per_s,chosen_algorithm,chosen_protocol,channels,"
      "error\n",
      file->header);
  int failed = 0;
  for (const QueryRow& row : file->rows) {
    const auto answer = answer_row(session, planners, row);
    if (!answer) ++failed;
    fmt::print("{},{}\n", row.line, answer ? *answer : ",,,,,,\"" + answer.error() + "\"");
  }
  if (failed > 0) {
    std::fprintf(stderr, "%d of %zu rows cannot be answered: see column error\n", failed,
                 file->rows.size());
  }
  return failed > 0 ? kWrongInput : kDone;
}

int collective(const CollectiveArguments& arguments, const CommandContext& context) {
  const auto refuse = [&](Diagnostics problems) {
    for (Diagnostic& problem : problems) {
      if (problem.location.file.empty()) problem.location.file = arguments.scenario;
    }
    std::fputs(to_string(problems).c_str(), stderr);
    return kWrongInput;
  };
  const Result<Session> session = open_session(arguments, context);
  if (!session) return refuse(session.error());
  std::fputs(to_string(session->scenario.notes).c_str(), stderr);
  if (!arguments.queries.empty()) return answer_queries(*session, arguments.queries, context);
  if (arguments.op.empty() || arguments.size.empty() == arguments.sizes.empty()) {
    return refuse({{Severity::kError,
                    {"command line", 0, 0},
                    "",
                    "needs --op and one of --size and --sizes, or --queries",
                    "--op all_reduce --size 1GiB"}});
  }
  const Result<CollectiveKind> kind = parse_op(arguments.op);
  if (!kind) return refuse(kind.error());
  const Result<std::vector<Bytes>> sizes =
      arguments.sizes.empty() ? parse_sizes(arguments.size) : parse_sizes(arguments.sizes);
  if (!sizes) return refuse(sizes.error());
  if (session->group.gpus.size() < 2) {
    return refuse({{Severity::kError,
                    {"command line", 0, 0},
                    "--ranks",
                    "a collective needs two ranks",
                    ""}});
  }
  if (arguments.sizes.empty()) return one(*session, *kind, sizes->front(), arguments.json);
  return sweep(*session, *kind, *sizes, arguments.json);
}

}  // namespace

void add_collective_command(CLI::App& app, CommandContext& context) {
  auto arguments = std::make_shared<CollectiveArguments>();
  CLI::App* command =
      app.add_subcommand("collective", "Time of one collective alone, as nccl-tests measures it");
  command->add_option("SCENARIO", arguments->scenario, "Scenario file (YAML); needs no job")
      ->required();
  command->add_option(
      "--op", arguments->op,
      "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all or send_recv");
  command->add_option("--size", arguments->size, "Size as nccl-tests counts it: 1GiB");
  command->add_option("--sizes", arguments->sizes, "A sweep in nccl-tests' layout: 1KiB:8GiB:x2");
  command->add_option("--ranks", arguments->ranks, "all, 0-7 or 0,8,16")->capture_default_str();
  command
      ->add_option("--queries", arguments->queries, "CSV file: op,bytes,ranks[,algorithm,protocol]")
      ->type_name("FILE");
  command->add_option("--fidelity", arguments->fidelity, "ideal or fluid")
      ->check(CLI::IsMember({"ideal", "fluid"}));
  command->add_option("--set", arguments->sets, "Change one value: --set nccl.NCCL_ALGO=Ring")
      ->type_name("PATH=VALUE");
  command->add_option("--patch", arguments->patches, "YAML file merged over the scenario")
      ->type_name("FILE");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->callback([arguments, &context] { context.exit_code = collective(*arguments, context); });
}

}  // namespace foretrain
