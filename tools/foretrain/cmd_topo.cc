// `foretrain topo`: the fabric of a scenario in figures and as a picture.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/unit_parser.h"
#include "sim/execution/machine.h"
#include "sim/results/text_report.h"
#include "sim/scenario/scenario.h"
#include "tools/foretrain/command.h"
#include "topologies/build_topology.h"
#include "topologies/topology_metrics.h"

namespace foretrain {
namespace {

struct TopoArguments {
  std::string scenario;
  std::vector<std::string> sets, patches;
  std::string svg, dot;
  bool json = false;
};

void write_picture(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::fputs(text.c_str(), stdout);
    return;
  }
  std::ofstream file{path, std::ios::binary};
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

/// Bandwidth of one cable of a tier, payload, one direction, by the name of the tier.
std::map<std::string, DataRate> cable_rates(const Topology& topology) {
  std::map<std::string, DataRate> rates;
  for (const Link& link : topology.links()) {
    if (link.tier != LinkTier::kHostLink && link.tier != LinkTier::kInterSwitch) continue;
    const char* name = link.tier == LinkTier::kHostLink ? "host-leaf"
                       : link.tier_index == 1           ? "leaf-spine"
                                                        : "spine-core";
    rates.try_emplace(name, link.bandwidth / link.cables);
  }
  return rates;
}

std::string to_json(const Scenario& scenario, const Topology& topology, const TopologyMetrics& m) {
  nlohmann::ordered_json json;
  json["scenario"] = scenario.name;
  json["gpus"] = m.gpus;
  json["nodes"] = m.nodes;
  json["switches"] = m.switches;
  json["links"] = m.links;
  json["cables"] = m.cables;
  json["diameter_hops"] = m.diameter_hops;
  json["mean_hops"] = m.mean_hops;
  json["bisection_bytes_per_s"] = m.bisection.bytes_per_second();
  json["bisection_bytes_per_s_per_gpu"] = m.bisection_per_gpu.bytes_per_second();
  json["switch_tiers"] = nlohmann::ordered_json::array();
  for (const TierCount& tier : m.switch_tiers) {
    json["switch_tiers"].push_back(
        {{"tier", tier.name}, {"switches", tier.count}, {"ports_used", tier.ports_used}});
  }
  json["cable_tiers"] = nlohmann::ordered_json::array();
  for (const TierCount& tier : m.cable_tiers) {
    json["cable_tiers"].push_back(
        {{"tier", tier.name},
         {"cables", tier.count},
         {"cable_bandwidth_bytes_per_s", cable_rates(topology).at(tier.name).bytes_per_second()}});
  }
  return json.dump(2) + "\n";
}

std::string count_of(int n, const char* one, const char* many) {
  return fmt::format("{} {}", grouped(n), n == 1 ? one : many);
}

std::string describe(const ClusterSpec& cluster) {
  const FabricSpec& f = cluster.fabric;
  std::string text =
      fmt::format("{} x {}", count_of(cluster.nodes, "node", "nodes"), cluster.node.name);
  if (cluster.nodes == 1) return text + ", no fabric";
  if (f.kind == FabricKind::kIdeal) return text + ", ideal fabric";
  text += fmt::format(", fat-tree of {}", count_of(f.tiers, "tier", "tiers"));
  text += fmt::format(", {}-port switches", f.switch_ports);
  if (f.rails > 1) text += fmt::format(", {} rails{}", f.rails, f.rail_only ? " only" : "");
  return text + (f.routing == Routing::kSpray ? ", sprayed" : ", ECMP");
}

std::string to_text(const Scenario& scenario, const Topology& topology, const TopologyMetrics& m,
                    bool color) {
  const char* bold = color ? "\x1b[1m" : "";
  const char* plain = color ? "\x1b[0m" : "";
  std::string text =
      fmt::format("{}{}{}: {}\n\n", bold, scenario.name, plain, describe(scenario.cluster));
  const auto row = [&](const char* label, const std::string& value) {
    text += fmt::format("  {:<20}{:>14}\n", label, value);
  };
  row("GPUs", grouped(m.gpus));
  row("nodes", grouped(m.nodes));
  row("switches", grouped(m.switches));
  row("cables", grouped(m.cables));
  row("directed links", grouped(m.links));
  if (m.switches == 0) return text;
  row("diameter", fmt::format("{} hops", m.diameter_hops));
  row("mean distance", fmt::format("{:.3f} hops", m.mean_hops));
  row("bisection", format_byte_rate(m.bisection));
  row("  per GPU", format_byte_rate(m.bisection_per_gpu));

  text += fmt::format("\n  {}{:<12}{:>8}{:>13}{:>15}{}\n", bold, "switches", "count", "ports used",
                      "of", plain);
  for (const TierCount& tier : m.switch_tiers) {
    const int ports = topology.fabric().switch_ports;
    text += fmt::format("  {:<12}{:>8}{:>13}{:>15}\n", tier.name, grouped(tier.count),
                        grouped(tier.ports_used),
                        fmt::format("{} ({:.0f} %)", grouped(tier.count * ports),
                                    100.0 * tier.ports_used / (double{1} * tier.count * ports)));
  }
  text += fmt::format("\n  {}{:<12}{:>8}{:>13}{:>15}{}\n", bold, "cables", "count", "each",
                      "together", plain);
  const std::map<std::string, DataRate> rates = cable_rates(topology);
  for (const TierCount& tier : m.cable_tiers) {
    const DataRate rate = rates.at(tier.name);
    text += fmt::format("  {:<12}{:>8}{:>13}{:>15}\n", tier.name, grouped(tier.count),
                        format_byte_rate(rate), format_byte_rate(rate * tier.count));
  }
  return text + "\n  Bandwidths are payload, one direction. Hops are links between two NICs.\n";
}

/// Standard output holds one thing.
bool wants_one_output(const TopoArguments& arguments) {
  const int outputs =
      (arguments.svg == "-" ? 1 : 0) + (arguments.dot == "-" ? 1 : 0) + (arguments.json ? 1 : 0);
  return outputs <= 1;
}

int topo(const TopoArguments& arguments, const CommandContext& context) {
  if (!wants_one_output(arguments)) {
    std::fputs(
        "error: --json, --svg - and --dot - all write to standard output\n"
        "  hint: give the pictures a file: --svg fabric.svg\n",
        stderr);
    return kWrongInput;
  }
  LoadOptions load;
  load.data_dir = context.data_dir;
  load.sets = arguments.sets;
  load.patches = arguments.patches;
  const auto refuse = [&](Diagnostics problems) {
    for (Diagnostic& problem : problems) {
      if (problem.location.file.empty()) problem.location.file = arguments.scenario;
    }
    std::fputs(to_string(problems).c_str(), stderr);
    return kWrongInput;
  };
  const Result<Scenario> scenario = load_scenario(arguments.scenario, load);
  if (!scenario) return refuse(scenario.error());
  const Result<TopologyRequest> request =
      topology_request(scenario->cluster, context.data_dir + "/catalog");
  if (!request) return refuse(request.error());
  const Result<Topology> topology = build_topology(*request);
  if (!topology) return refuse(topology.error());

  if (!arguments.svg.empty()) write_picture(arguments.svg, to_svg(*topology));
  if (!arguments.dot.empty()) write_picture(arguments.dot, to_dot(*topology));
  if (arguments.svg == "-" || arguments.dot == "-") return kDone;
  const TopologyMetrics metrics = compute_metrics(*topology);
  const std::string text = arguments.json ? to_json(*scenario, *topology, metrics)
                                          : to_text(*scenario, *topology, metrics, context.color);
  std::fputs(text.c_str(), stdout);
  return kDone;
}

}  // namespace

void add_topo_command(CLI::App& app, CommandContext& context) {
  auto arguments = std::make_shared<TopoArguments>();
  CLI::App* command =
      app.add_subcommand("topo", "The fabric of a scenario in figures and as a picture");
  command->add_option("SCENARIO", arguments->scenario, "Scenario file (YAML)")->required();
  command->add_option("--set", arguments->sets, "Change one value: --set cluster.nodes=64")
      ->type_name("PATH=VALUE");
  command->add_option("--patch", arguments->patches, "YAML file merged over the scenario")
      ->type_name("FILE");
  command->add_option("--svg", arguments->svg, "Write a picture; - for standard output")
      ->type_name("FILE");
  command->add_option("--dot", arguments->dot, "Write Graphviz text; - for standard output")
      ->type_name("FILE");
  command->add_flag("--json", arguments->json, "Print the figures as JSON");
  command->callback([arguments, &context] { context.exit_code = topo(*arguments, context); });
}

}  // namespace foretrain
