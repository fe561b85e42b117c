#include "topologies/build_topology.h"

#include <fmt/format.h>

#include <array>

#include "topologies/fat_tree.h"

namespace foretrain {
namespace {

struct Generator {
  FabricKind kind;
  Result<Topology> (*build)(const TopologyRequest& request);
};

/// A further fabric is one more line here.
constexpr std::array kGenerators{
    Generator{FabricKind::kFatTree, build_fat_tree},
    Generator{FabricKind::kIdeal, build_ideal},
};

}  // namespace

Result<Topology> build_topology(const TopologyRequest& request) {
  if (request.nodes < 1) return fail(fmt::format("a cluster needs a node, not {}", request.nodes));
  constexpr int kMostNics = 1 << 20;  // about ten links each
  if (request.node.nics > 0 && request.nodes > kMostNics / request.node.nics) {
    return fail(fmt::format("{} nodes of {} NICs are more than foretrain builds", request.nodes,
                            request.node.nics),
                fmt::format("at most {} NICs", kMostNics));
  }
  if (request.nodes > 1 && request.node.nics == 0) {
    return fail(fmt::format("{} nodes without NICs cannot reach one another", request.nodes),
                "give the node NICs, or use one node");
  }
  for (const Generator& generator : kGenerators) {
    if (generator.kind == request.fabric.kind) return generator.build(request);
  }
  FORETRAIN_ASSERT(false, "every FabricKind has a generator");
  return fail("no generator");
}

}  // namespace foretrain
