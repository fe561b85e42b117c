#include "topologies/node_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "topologies/fabric_columns.h"
#include "topologies/svg_canvas.h"

namespace foretrain {
namespace {

constexpr double kBox = 58;
constexpr double kPitch = 68;
constexpr double kHeight = 30;

struct Boxes {
  std::map<DeviceId, Point> corner;
  double width = 0;
  bool has(DeviceId id) const { return corner.count(id) > 0; }
  Point middle(DeviceId id) const {
    const Point at = corner.at(id);
    return {at.x + kBox / 2, at.y + kHeight / 2};
  }
};

std::vector<DeviceId> of_kind(const Topology& topology, DeviceKind kind) {
  std::vector<DeviceId> found;
  for (int d = 0; d < topology.devices_per_node(); ++d) {
    if (topology.device(DeviceId{d}).kind == kind) found.push_back(DeviceId{d});
  }
  return found;
}

/// End devices below one PCIe switch stand side by side, their switch beneath, sockets beneath
/// those.
Boxes place(const Topology& topology, double end_y) {
  Boxes boxes;
  double x = 24;
  std::map<DeviceId, std::vector<double>> below_socket;
  std::vector<DeviceId> hubs = of_kind(topology, DeviceKind::kPcieSwitch);
  for (const DeviceId hub : hubs) {
    const double first = x;
    DeviceId socket;
    std::vector<DeviceId> ends;
    for (const LinkId id : topology.links_from(hub)) {
      const DeviceId to = topology.link(id).to;
      if (topology.device(to).kind == DeviceKind::kHostBridge) {
        socket = to;
      } else {
        ends.push_back(to);
      }
    }
    for (const DeviceId end : ends) {
      boxes.corner[end] = {x, end_y};
      x += kPitch;
    }
    boxes.corner[hub] = {(first + x - kPitch) / 2, end_y + 90};
    if (socket.index() >= 0) below_socket[socket].push_back(boxes.corner[hub].x);
    x += 26;
  }
  for (const auto& [socket, hub_x] : below_socket) {
    boxes.corner[socket] = {(hub_x.front() + hub_x.back()) / 2, end_y + 180};
  }
  for (const DeviceId gpu : of_kind(topology, DeviceKind::kGpu)) {  // a lone GPU without PCIe
    if (!boxes.has(gpu)) {
      boxes.corner[gpu] = {x, end_y};
      x += kPitch;
    }
  }
  boxes.width = x;
  for (const DeviceId hub : of_kind(topology, DeviceKind::kNvSwitch)) {
    boxes.corner[hub] = {(boxes.width - kBox) / 2, end_y - 110};
  }
  return boxes;
}

BoxStyle style_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kGpu: return {"#ecfdf5", "#047857", 5};
    case DeviceKind::kNic: return {"#fef3c7", "#b45309", 5};
    case DeviceKind::kNvSwitch: return {"#e0e7ff", "#4338ca", 5};
    default: return {"#e2e8f0", "#475569", 5};
  }
}

}  // namespace

NodeLabel node_label(const Topology& topology) {
  const int gpus = topology.gpus_per_node();
  const auto nics = static_cast<int>(topology.nics(NodeId{0}).size());
  NodeLabel label;
  label.short_text = fmt::format("{} GPU, {} NIC", gpus, nics);
  label.long_text =
      fmt::format("{} GPU{}, {} NIC{}", gpus, gpus == 1 ? "" : "s", nics, nics == 1 ? "" : "s");
  DataRate nvlink;
  bool hub = false;
  for (const LinkId id : topology.links_from(topology.gpu(0))) {
    const Link& link = topology.link(id);
    if (link.tier != LinkTier::kNvlink) continue;
    nvlink += link.bandwidth;
    hub = topology.device(link.to).kind == DeviceKind::kNvSwitch;
  }
  if (nvlink > DataRate{}) {
    label.long_text +=
        fmt::format(", NVLink {} {} a GPU", hub ? "switch" : "mesh", short_rate(nvlink));
  }
  return label;
}

std::string node_svg(const Topology& topology) {
  const bool hub = !of_kind(topology, DeviceKind::kNvSwitch).empty();
  const double end_y = 220;
  const Boxes boxes = place(topology, end_y);
  SvgCanvas canvas;
  canvas.text({24, 34}, headline(topology), {.size = 17, .anchor = "start", .bold = true});
  canvas.text({24, 54}, node_label(topology).long_text,
              {.size = 12, .anchor = "start", .fill = "#64748b"});
  DataRate largest;
  for (int l = 0; l < topology.links_per_node(); ++l) {
    largest = std::max(largest, topology.link(LinkId{l}).bandwidth);
  }
  const BandwidthScale scale{largest};
  for (int l = 0; l < topology.links_per_node(); l += 2) {  // one of the two directions
    const Link& link = topology.link(LinkId{l});
    const Point from = boxes.middle(link.from);
    const Point to = boxes.middle(link.to);
    const double stroke = scale.stroke(link.bandwidth, 6);
    if (link.tier == LinkTier::kNvlink && !hub) {
      const double top = end_y - 20 - 0.28 * std::abs(to.x - from.x);
      canvas.arc({from.x, end_y}, {to.x, end_y}, std::max(40.0, top), stroke,
                 scale.color(link.bandwidth));
    } else {
      const double y =
          link.tier == LinkTier::kNvlink ? end_y : from.y;  // to the top edge, past the NICs
      canvas.line({from.x, y}, to, stroke, scale.color(link.bandwidth));
    }
  }
  double bottom = 0;
  for (const auto& [device, corner] : boxes.corner) {
    const Device& d = topology.device(device);
    canvas.box(corner, kBox, kHeight, style_of(d.kind));
    const std::string name = d.name.substr(d.name.find('/') + 1);
    canvas.text({corner.x + kBox / 2, corner.y + 19}, name, {.size = name.size() > 8 ? 10 : 12});
    bottom = std::max(bottom, corner.y + kHeight);
  }
  double x = 24;
  for (const BandwidthScale::Step& step : scale.steps()) {
    canvas.line({x, bottom + 36}, {x + 24, bottom + 36}, 4, step.color);
    canvas.text({x + 30, bottom + 40}, step.text,
                {.size = 11, .anchor = "start", .fill = "#64748b"});
    x += 44 + 6.2 * static_cast<double>(step.text.size());
  }
  return canvas.finish(std::max(boxes.width, x) + 8, bottom + 64);
}

}  // namespace foretrain
