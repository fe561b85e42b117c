#include "topologies/router.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/core/random_stream.h"
#include "topologies/route_tables.h"

namespace foretrain {
namespace {

/// Finaliser of SplitMix64: spreads every input bit over the word.
/// @source Steele, Lea and Flood, OOPSLA 2014.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Collects the links of one flow; the longest of its paths counts for hops and latency.
class RouteCollector {
 public:
  RouteCollector(const Topology& topology, FlowRoute& route) : topology_(topology), route_(route) {}

  void start_path() {
    hops_ = 0;
    latency_ = SimDuration{};
  }
  /// A link on every path of the sub-flow.
  void add(LinkId link, double share) {
    put(link, share);
    advance(link);
  }
  /// A link that carries part of a stage; `advance` once per stage.
  void put(LinkId link, double share) { route_.links.push_back({link, share}); }
  void advance(LinkId link) {
    ++hops_;
    latency_ += topology_.link(link).latency;
  }
  void end_path() {
    route_.hops = std::max(route_.hops, hops_);
    route_.latency = std::max(route_.latency, latency_);
  }

  /// Sorts by link and joins the shares of sub-flows.
  void finish() {
    auto& links = route_.links;
    std::sort(links.begin(), links.end(),
              [](const LinkShare& a, const LinkShare& b) { return a.link < b.link; });
    std::size_t last = 0;
    for (std::size_t i = 1; i < links.size(); ++i) {
      if (links[i].link == links[last].link) {
        links[last].share += links[i].share;
      } else {
        links[++last] = links[i];
      }
    }
    if (!links.empty()) links.resize(last + 1);
  }

 private:
  const Topology& topology_;
  FlowRoute& route_;
  int hops_ = 0;
  SimDuration latency_{};
};

/// One route being made.
class RouteBuilder {
 public:
  RouteBuilder(const Topology& topology, const Router::Options& options, const RouteTables& tables,
               std::uint64_t label)
      : topology_(topology),
        options_(options),
        tables_(tables),
        label_(label),
        out_(topology, route_) {}

  FlowRoute build(int source, int destination) {
    const int source_node = source / tables_.gpus;
    const int destination_node = destination / tables_.gpus;
    const int from = source % tables_.gpus;
    const int to = destination % tables_.gpus;
    if (source_node == destination_node) {
      route_.links.reserve(4);
      add_inside(tables_.gpu_to_gpu[index(from, tables_.gpus, to)], source_node, 1.0);
      out_.end_path();
    } else {
      FORETRAIN_EXPECTS(!tables_.ports.empty(), "nodes are joined by a fabric");
      route_.links.reserve(options_.routing == Routing::kSpray ? 256 : 16);
      add_between({source_node, from}, {destination_node, to});
    }
    out_.finish();
    return std::move(route_);
  }

 private:
  struct Place {
    int node = 0;
    int gpu = 0;
  };
  static std::size_t index(int row, int columns, int column) {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
           static_cast<std::size_t>(column);
  }
  const NicPort& port(int node, int nic) const {
    return tables_.ports[index(node, tables_.nics, nic)];
  }

  void add_inside(const std::vector<LinkId>& path, int node, double share) {
    const int base = node * topology_.links_per_node();
    for (const LinkId link : path) out_.add(LinkId{base + link.index()}, share);
  }

  void add_between(Place source, Place destination) {
    const auto& source_nics = tables_.gpu_nics[static_cast<std::size_t>(source.gpu)];
    const auto& destination_nics = tables_.gpu_nics[static_cast<std::size_t>(destination.gpu)];
    const std::size_t parts = std::max(source_nics.size(), destination_nics.size());
    const double share = 1.0 / static_cast<double>(parts);
    for (std::size_t part = 0; part < parts; ++part) {
      int nic = source_nics[part % source_nics.size()];
      const int last = destination_nics[part % destination_nics.size()];
      out_.start_path();
      int sender = source.gpu;
      if (rail(nic) != rail(last)) {
        const bool relay =
            options_.pxn && tables_.nvlink_direct[index(source.gpu, tables_.gpus, destination.gpu)];
        if (relay) {
          sender = destination.gpu;
          add_inside(tables_.gpu_to_gpu[index(source.gpu, tables_.gpus, sender)], source.node,
                     share);
        }
        // Nodes are alike: the NIC with the destination's number is on its rail.
        if (relay || topology_.fabric().rail_only) nic = last;
      }
      add_inside(tables_.gpu_to_nic[index(sender, tables_.nics, nic)], source.node, share);
      add_fabric(port(source.node, nic), port(destination.node, last), share);
      add_inside(tables_.nic_to_gpu[index(last, tables_.gpus, destination.gpu)], destination.node,
                 share);
      out_.end_path();
    }
  }
  int rail(int nic) const { return tables_.nic_rail[static_cast<std::size_t>(nic)]; }

  void add_fabric(const NicPort& source, const NicPort& destination, double share) {
    out_.add(source.up, share);
    if (source.leaf != destination.leaf) {
      // The hash sees what a switch sees: the two ends and the label, as address and port numbers.
      flow_ = mix(label_ ^ mix((static_cast<std::uint64_t>(source.up.index()) << 32) ^
                               static_cast<std::uint64_t>(destination.down.index())));
      if (options_.routing == Routing::kSpray) {
        spray(source.leaf, destination.leaf, share);
      } else {
        hash(source.leaf, destination.leaf, share);
      }
    }
    out_.add(destination.down, share);
  }

  bool same_pod(DeviceId a, DeviceId b) const {
    return topology_.device(a).pod == topology_.device(b).pod;
  }

  DeviceId take(DeviceId at, std::span<const Exit> exits, double share) {
    FORETRAIN_ASSERT(!exits.empty(), "the fabric joins the two leaves");
    std::uint64_t cables = 0;
    for (const Exit& exit : exits) cables += static_cast<std::uint64_t>(exit.cables);
    const RandomStream stream{options_.seed, RandomPurpose::kEcmpHash};
    // The switch is part of the address of the draw, so that hashes of different stages are
    // independent.
    std::uint64_t draw = stream.below(cables, flow_, static_cast<std::uint64_t>(at.index()));
    std::size_t chosen = 0;
    while (draw >= static_cast<std::uint64_t>(exits[chosen].cables)) {
      draw -= static_cast<std::uint64_t>(exits[chosen].cables);
      ++chosen;
    }
    out_.add(exits[chosen].link, share);
    return topology_.link(exits[chosen].link).to;
  }

  void hash(DeviceId from, DeviceId to, double share) {
    const SwitchExits& exits = tables_.exits;
    DeviceId at = take(from, exits.up(from), share);
    if (!same_pod(from, to)) {
      at = take(at, exits.up(at), share);
      at = take(at, exits.down(at, topology_.device(to).pod), share);
    }
    take(at, exits.down(at, to.index()), share);
  }

  /// A switch that holds a part of the flow.
  struct Holder {
    DeviceId at;
    double share = 0;
  };

  /// Splits what each holder has over its exits, by cables; holders stay in order of first arrival.
  template <class ExitsOf>
  std::vector<Holder> spread(const std::vector<Holder>& holders, ExitsOf exits_of) {
    std::vector<Holder> next;
    bool advanced = false;
    for (const Holder& holder : holders) {
      const std::span<const Exit> exits = exits_of(holder.at);
      FORETRAIN_ASSERT(!exits.empty(), "the fabric joins the two leaves");
      int cables = 0;
      for (const Exit& exit : exits) cables += exit.cables;
      for (const Exit& exit : exits) {
        const double share = holder.share * exit.cables / cables;
        out_.put(exit.link, share);
        if (!advanced) out_.advance(exit.link);
        advanced = true;
        next.push_back({topology_.link(exit.link).to, share});
      }
    }
    std::stable_sort(next.begin(), next.end(),
                     [](const Holder& a, const Holder& b) { return a.at < b.at; });
    std::vector<Holder> joined;
    for (const Holder& holder : next) {
      if (!joined.empty() && joined.back().at == holder.at) {
        joined.back().share += holder.share;
      } else {
        joined.push_back(holder);
      }
    }
    return joined;
  }

  void spray(DeviceId from, DeviceId to, double share) {
    const SwitchExits& exits = tables_.exits;
    const auto up = [&](DeviceId at) { return exits.up(at); };
    std::vector<Holder> holders = spread({{from, share}}, up);
    if (!same_pod(from, to)) {
      const int pod = topology_.device(to).pod;
      holders = spread(holders, up);
      holders = spread(holders, [&](DeviceId at) { return exits.down(at, pod); });
    }
    spread(holders, [&](DeviceId at) { return exits.down(at, to.index()); });
  }

  const Topology& topology_;
  const Router::Options& options_;
  const RouteTables& tables_;
  std::uint64_t label_;
  std::uint64_t flow_ = 0;
  FlowRoute route_;
  RouteCollector out_;
};

}  // namespace

Router::Router(const Topology& topology, Options options)
    : topology_(&topology),
      options_(options),
      tables_(std::make_shared<const RouteTables>(make_route_tables(topology))) {}

FlowRoute Router::route(DeviceId source_gpu, DeviceId destination_gpu, std::uint64_t label) const {
  FORETRAIN_EXPECTS(source_gpu != destination_gpu, "a flow joins two GPUs");
  const auto number = [&](DeviceId gpu) {
    const Device& device = topology_->device(gpu);
    FORETRAIN_EXPECTS(device.kind == DeviceKind::kGpu, "routes join GPUs");
    return device.node.index() * topology_->gpus_per_node() + device.local_index;
  };
  return RouteBuilder{*topology_, options_, *tables_, label}.build(number(source_gpu),
                                                                   number(destination_gpu));
}

}  // namespace foretrain
