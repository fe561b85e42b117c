// The fabric as a picture: tiers as rows, pods, units or rails as columns, nodes at the bottom.
// Small fabrics show every box and bundle; large ones show each group of switches once, with
// counts.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <utility>

#include "topologies/fabric_columns.h"
#include "topologies/node_svg.h"
#include "topologies/svg_canvas.h"
#include "topologies/topology_metrics.h"

namespace foretrain {
namespace {

constexpr double kLeft = 176;  // room for row names and captions
constexpr double kRight = 32;
constexpr double kTop = 84;
constexpr double kColumnGap = 20;
constexpr double kPad = 12;
constexpr const char* kMuted = "#64748b";
constexpr const char* kAlarm = "#b91c1c";

/// Limits of the picture that shows every box.
constexpr int kMostDetailedNodes = 32;
constexpr int kMostDetailedSwitches = 48;
constexpr std::size_t kMostDetailedBundles = 400;
/// Columns of the other one; beyond, the middle ones are counted only.
constexpr std::size_t kMostColumns = 8;

struct Bundle {
  DeviceId low, high;
  CableSum sum;
  std::size_t boundary = 0;
};

/// Cables by pair of devices; NICs count as their node, which is named by its first GPU.
std::vector<Bundle> bundles_of(const Topology& topology) {
  std::map<std::pair<DeviceId, DeviceId>, Bundle> found;
  for (const Link& link : topology.links()) {
    const Device& from = topology.device(link.from);
    const Device& to = topology.device(link.to);
    if (to.tier <= from.tier) continue;
    const DeviceId low = from.kind == DeviceKind::kNic
                             ? topology.gpu(from.node.index() * topology.gpus_per_node())
                             : link.from;
    Bundle& bundle = found[{low, link.to}];
    bundle.low = low;
    bundle.high = link.to;
    bundle.boundary = static_cast<std::size_t>(to.tier - 1);
    bundle.sum.cables += link.cables;
    bundle.sum.bandwidth += link.bandwidth;
  }
  std::vector<Bundle> out;
  for (const auto& [ends, bundle] : found) out.push_back(bundle);
  return out;
}

/// Switches of a group as small squares in at most four rows; of more, the count alone is shown.
struct SwitchGrid {
  static constexpr double kPitch = 8;
  int per_row = 16;
  [[nodiscard]] int shown(std::size_t count) const {
    return count > static_cast<std::size_t>(4 * per_row) ? 0 : static_cast<int>(count);
  }
  [[nodiscard]] double height(std::size_t count) const {
    return kPitch * ((shown(count) + per_row - 1) / per_row);
  }
};
constexpr SwitchGrid kColumnGrid{16};
constexpr SwitchGrid kSharedGrid{64};

class FabricDrawing {
 public:
  FabricDrawing(const Topology& topology, bool detailed)
      : topology_(topology),
        detailed_(detailed),
        layout_(arrange_columns(topology)),
        scale_(DataRate{}) {
    if (detailed_) bundles_ = bundles_of(topology);
    choose_columns();
    scale_ = BandwidthScale{largest_bundle()};
    place_columns();
    place_rows();
  }

  std::string draw() {
    draw_title();
    draw_boundaries();
    draw_column_frames();
    if (detailed_) {
      place_boxes();
      draw_bundles();
      draw_boxes();
    } else {
      draw_bands();
      draw_groups();
    }
    draw_column_titles();
    draw_row_names();
    draw_legend();
    return canvas_.finish(width_ + kRight, node_y_ + node_height_ + 90);
  }

 private:
  // ---- what is shown

  void choose_columns() {
    const std::size_t all = layout_.columns.size();
    for (std::size_t c = 0; c < all; ++c) {
      if (detailed_ || all <= kMostColumns || c < kMostColumns - 3 || c + 2 >= all)
        shown_.push_back(c);
    }
    elided_ = all - shown_.size();
  }

  const FabricColumn& column(std::size_t shown) const { return layout_.columns[shown_[shown]]; }
  int rows() const { return layout_.column_tiers + (layout_.shared.empty() ? 0 : 1); }

  DataRate largest_bundle() const {
    DataRate largest;
    for (const Bundle& bundle : bundles_) largest = std::max(largest, bundle.sum.bandwidth);
    if (!detailed_) {
      for (const FabricColumn& c : layout_.columns) {
        for (const CableSum& sum : c.up) largest = std::max(largest, sum.bandwidth);
      }
    }
    return largest;
  }

  // ---- where it is

  double box_width() const { return 74; }

  double column_width(std::size_t shown) const {
    if (!detailed_) return 152;
    std::size_t most = layout_.nodes_shared ? 0 : static_cast<std::size_t>(column(shown).nodes);
    for (const auto& tier : column(shown).switches) most = std::max(most, tier.size());
    return std::max(1.0, static_cast<double>(most)) * (box_width() + 12) - 12 + 2 * kPad;
  }

  void place_columns() {
    double x = kLeft;
    for (std::size_t c = 0; c < shown_.size(); ++c) {
      if (elided_ > 0 && c == kMostColumns - 3) x += 96;
      column_x_.push_back(x);
      column_width_.push_back(column_width(c));
      x += column_width_.back() + kColumnGap;
    }
    width_ = x - kColumnGap;
    const std::size_t wide_row = std::max(
        detailed_ ? layout_.shared.size() : 0,
        layout_.nodes_shared && detailed_ ? static_cast<std::size_t>(topology_.num_nodes()) : 0);
    const double needed = kLeft + static_cast<double>(wide_row) * (box_width() + 12) + kPad;
    const double headline_width = 8.6 * static_cast<double>(headline(topology_).size()) + 40;
    const double more = std::max({needed, headline_width, kLeft + 680}) - width_;
    if (more <= 0) return;
    for (double& at : column_x_) at += more / 2;
    width_ += more;
  }

  double row_height(int tier) const {
    if (detailed_) return 30;
    double height = 0;
    if (tier == layout_.column_tiers) return 30 + kSharedGrid.height(layout_.shared.size());
    for (const FabricColumn& c : layout_.columns) {
      height =
          std::max(height, kColumnGrid.height(c.switches[static_cast<std::size_t>(tier)].size()));
    }
    return height + 30;
  }

  void place_rows() {
    const double gap = detailed_ ? 92 : 76;
    row_y_.assign(static_cast<std::size_t>(rows()), 0);
    double y = kTop;
    for (int tier = rows() - 1; tier >= 0; --tier) {
      const bool title_above = tier == layout_.column_tiers - 1;
      if (title_above) y += 20;
      row_y_[static_cast<std::size_t>(tier)] = y;
      y += row_height(tier) + gap;
    }
    node_y_ = y;
    node_height_ = detailed_ ? 44 : 58;
  }

  double row_top(std::size_t tier) const { return row_y_[tier]; }
  double row_bottom(std::size_t tier) const {
    return row_y_[tier] + row_height(static_cast<int>(tier));
  }

  /// Box corners by device: switches, and nodes by their first GPU.
  void place_boxes() {
    const auto spread = [&](const std::vector<DeviceId>& devices, double x, double width,
                            double y) {
      const double used = static_cast<double>(devices.size()) * (box_width() + 12) - 12;
      double at = x + (width - used) / 2;
      for (const DeviceId device : devices) {
        boxes_[device] = {at, y};
        at += box_width() + 12;
      }
    };
    std::vector<std::vector<DeviceId>> nodes(layout_.columns.size());
    for (int n = 0; n < topology_.num_nodes(); ++n) {
      nodes[static_cast<std::size_t>(layout_.column_of_node[static_cast<std::size_t>(n)])]
          .push_back(topology_.gpu(n * topology_.gpus_per_node()));
    }
    for (std::size_t c = 0; c < layout_.columns.size(); ++c) {
      for (std::size_t tier = 0; tier < static_cast<std::size_t>(layout_.column_tiers); ++tier) {
        spread(layout_.columns[c].switches[tier], column_x_[c], column_width_[c], row_top(tier));
      }
      if (!layout_.nodes_shared) spread(nodes[c], column_x_[c], column_width_[c], node_y_);
    }
    if (layout_.nodes_shared) spread(nodes[0], kLeft, width_ - kLeft, node_y_);
    if (!layout_.shared.empty()) {
      spread(layout_.shared, kLeft, width_ - kLeft,
             row_top(static_cast<std::size_t>(layout_.column_tiers)));
    }
  }

  // ---- drawing

  void draw_title() {
    canvas_.text({24, 34}, headline(topology_), {.size = 17, .anchor = "start", .bold = true});
    const TopologyMetrics m = compute_metrics(topology_);
    std::string line =
        fmt::format("{} switch{}, {} cables; bisection {}, {} per GPU", with_commas(m.switches),
                    m.switches == 1 ? "" : "es", with_commas(m.cables), short_rate(m.bisection),
                    short_rate(m.bisection_per_gpu));
    canvas_.text({24, 54}, line, {.size = 12, .anchor = "start", .fill = kMuted});
  }

  /// Captions between the rows, and a red strip where more comes from below than fits above.
  void draw_boundaries() {
    for (std::size_t b = 0; b < static_cast<std::size_t>(rows()); ++b) {
      const double below = b == 0 ? node_y_ : row_top(b - 1);
      const double above = row_bottom(b);
      const double middle = (below + above) / 2;
      const double ratio = b == 0 ? 0 : layout_.oversubscription(b - 1);
      constexpr double kOver = 1.01;
      if (ratio > kOver) {
        canvas_.box({12, above + 6}, width_ + 4, below - above - 12 - title_room(b),
                    {"#fee2e2", "#fca5a5", 6});
        canvas_.text({24, middle + 22 - title_room(b) / 2},
                     fmt::format("{:.3g}:1 oversubscribed", ratio),
                     {.size = 12, .anchor = "start", .fill = kAlarm, .bold = true});
      }
      const CableSum& sum = layout_.up[b];
      if (sum.cables == 0) continue;
      const double y = middle - title_room(b) / 2;
      canvas_.text({24, y - 10}, fmt::format("{} cables", with_commas(sum.cables)),
                   {.size = 11, .anchor = "start", .fill = kMuted});
      canvas_.text({24, y + 5}, boundary_caption(b),
                   {.size = 11, .anchor = "start", .fill = kMuted});
    }
  }

  double title_room(std::size_t boundary) const {
    return static_cast<int>(boundary) == layout_.column_tiers ? 26 : 0;
  }

  std::string boundary_caption(std::size_t b) const {
    const std::string each =
        fmt::format("of {}", short_rate(layout_.up[b].bandwidth / layout_.up[b].cables));
    int cables = 0;
    for (const Bundle& bundle : bundles_) {
      if (bundle.boundary != b) continue;
      if (cables != 0 && cables != bundle.sum.cables) return each;
      cables = bundle.sum.cables;
    }
    return cables > 1 ? fmt::format("{}, {} a line", each, cables) : each;
  }

  void draw_column_frames() {
    const bool frames =
        detailed_ ? layout_.columns.size() > 1 || !layout_.columns[0].title.empty() : true;
    if (!frames) return;
    const double top = row_top(static_cast<std::size_t>(layout_.column_tiers - 1)) - 22;
    const double bottom = layout_.nodes_shared ? row_bottom(0) + 8 : node_y_ + node_height_ + 8;
    for (std::size_t c = 0; c < shown_.size(); ++c) {
      canvas_.box({column_x_[c], top}, column_width_[c], bottom - top, {"#f8fafc", "#cbd5e1", 8});
    }
    if (elided_ == 0) return;
    const double x = column_x_[kMostColumns - 3] - 58;
    const double y = (top + bottom) / 2;
    canvas_.text({x, y - 8}, "\xe2\x80\xa6", {.size = 26, .fill = kMuted});
    canvas_.text({x, y + 14}, fmt::format("{} more", with_commas(static_cast<long long>(elided_))),
                 {.size = 12, .fill = kMuted});
  }

  /// After the lines, so that none crosses a title.
  void draw_column_titles() {
    const double y = row_top(static_cast<std::size_t>(layout_.column_tiers - 1)) - 8;
    for (std::size_t c = 0; c < shown_.size(); ++c) {
      canvas_.text({column_x_[c] + 10, y}, column(c).title,
                   {.size = 11, .anchor = "start", .fill = kMuted, .bold = true});
    }
  }

  void draw_bundles() {
    const double thickest = bundles_.size() > 24 ? 3 : 5;
    for (const Bundle& bundle : bundles_) {
      const auto low = boxes_.find(bundle.low);
      const auto high = boxes_.find(bundle.high);
      const double low_x = low->second.x + box_width() / 2;
      const double high_x = high->second.x + box_width() / 2;
      canvas_.line({low_x, low->second.y}, {high_x, high->second.y + 30},
                   scale_.stroke(bundle.sum.bandwidth, thickest),
                   scale_.color(bundle.sum.bandwidth), 0.85);
    }
  }

  void draw_boxes() {
    const NodeLabel label = node_label(topology_);
    for (const auto& [device, corner] : boxes_) {
      const Device& d = topology_.device(device);
      const double middle = corner.x + box_width() / 2;
      if (d.kind == DeviceKind::kSwitch) {
        canvas_.box(corner, box_width(), 30, {"#e2e8f0", "#475569", 5});
        canvas_.text({middle, corner.y + 19}, d.name, {.size = 12});
      } else {
        canvas_.box(corner, box_width(), node_height_, {"#ecfdf5", "#047857", 5});
        canvas_.text({middle, corner.y + 18}, fmt::format("node{}", d.node.index()),
                     {.size = 12, .bold = true});
        canvas_.text({middle, corner.y + 34}, label.short_text, {.size = 10, .fill = "#065f46"});
      }
    }
  }

  void draw_band(Point low, Point high, const CableSum& sum) {
    if (sum.cables == 0) return;
    canvas_.line(low, high, scale_.stroke(sum.bandwidth, 22), scale_.color(sum.bandwidth));
    const char* caption_color = "#334155";
    canvas_.pill(
        {(low.x + high.x) / 2, (low.y + high.y) / 2},
        fmt::format("{} x {}", with_commas(sum.cables), short_rate(sum.bandwidth / sum.cables)),
        caption_color);
  }

  void draw_bands() {
    for (std::size_t c = 0; c < shown_.size(); ++c) {
      const double x = column_x_[c] + column_width_[c] / 2;
      draw_band({x, node_y_}, {x, row_bottom(0)}, column(c).up[0]);
      for (std::size_t b = 1; b < static_cast<std::size_t>(rows()); ++b) {
        draw_band({x, row_top(b - 1)}, {x, row_bottom(b)}, column(c).up[b]);
      }
    }
  }

  void draw_switch_group(Point corner, double width, std::size_t tier, std::size_t count,
                         SwitchGrid grid) {
    const double height = row_height(static_cast<int>(tier));
    canvas_.box(corner, width, height, {"#e2e8f0", "#475569", 5});
    const bool ideal = topology_.fabric().kind == FabricKind::kIdeal;
    const std::string name = ideal ? "switch" : count == 1 ? tier_name(tier) : tier_plural(tier);
    canvas_.text({corner.x + width / 2, corner.y + 16},
                 fmt::format("{} {}", with_commas(static_cast<long long>(count)), name),
                 {.size = 12, .bold = true});
    const int shown = grid.shown(count);
    const double used = SwitchGrid::kPitch * std::min(shown, grid.per_row) - 2;
    for (int i = 0; i < shown; ++i) {
      canvas_.box({corner.x + (width - used) / 2 + SwitchGrid::kPitch * (i % grid.per_row),
                   corner.y + 23 + SwitchGrid::kPitch * (i / grid.per_row)},
                  6, 6, {"#475569", "none", 1});
    }
  }

  void draw_node_group(Point corner, double width, int nodes) {
    canvas_.box({corner.x + 6, corner.y + 6}, width - 6, node_height_ - 6,
                {"#d1fae5", "#047857", 5});
    canvas_.box(corner, width - 6, node_height_ - 6, {"#ecfdf5", "#047857", 5});
    const double middle = corner.x + (width - 6) / 2;
    canvas_.text({middle, corner.y + 22},
                 fmt::format("{} node{}", with_commas(nodes), nodes == 1 ? "" : "s"),
                 {.size = 13, .bold = true});
    canvas_.text({middle, corner.y + 40}, node_label(topology_).short_text,
                 {.size = 11, .fill = "#065f46"});
  }

  void draw_groups() {
    for (std::size_t c = 0; c < shown_.size(); ++c) {
      const double x = column_x_[c] + 8;
      const double width = column_width_[c] - 16;
      for (std::size_t tier = 0; tier < static_cast<std::size_t>(layout_.column_tiers); ++tier) {
        draw_switch_group({x, row_top(tier)}, width, tier, column(c).switches[tier].size(),
                          kColumnGrid);
      }
      if (!layout_.nodes_shared) draw_node_group({x, node_y_}, width, column(c).nodes);
    }
    if (layout_.nodes_shared)
      draw_node_group({kLeft, node_y_}, width_ - kLeft, topology_.num_nodes());
    if (layout_.shared.empty()) return;
    const auto tier = static_cast<std::size_t>(layout_.column_tiers);
    draw_switch_group({kLeft, row_top(tier)}, width_ - kLeft, tier, layout_.shared.size(),
                      kSharedGrid);
  }

  void draw_row_names() {
    for (std::size_t tier = 0; tier < static_cast<std::size_t>(rows()); ++tier) {
      std::string name = tier_plural(tier);
      name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
      if (topology_.fabric().kind == FabricKind::kIdeal) name = "Switch";
      canvas_.text({24, (row_top(tier) + row_bottom(tier)) / 2 + 5}, name,
                   {.size = 14, .anchor = "start", .bold = true});
    }
    canvas_.text({24, node_y_ + node_height_ / 2 + 5}, "Nodes",
                 {.size = 14, .anchor = "start", .bold = true});
  }

  void draw_legend() {
    const double y = node_y_ + node_height_ + 48;
    double x = 24;
    canvas_.text({x, y + 4}, "bandwidth of a bundle, one direction:",
                 {.size = 11, .anchor = "start", .fill = kMuted});
    x += 206;
    double stroke = 0.2;
    for (const BandwidthScale::Step& step : scale_.steps()) {
      canvas_.line({x, y}, {x + 24, y}, std::max(1.0, (detailed_ ? 5 : 16) * stroke), step.color);
      canvas_.text({x + 30, y + 4}, step.text, {.size = 11, .anchor = "start", .fill = kMuted});
      x += 44 + 6.2 * static_cast<double>(step.text.size());
      stroke += 0.2;
    }
    std::string node = fmt::format("a node: {}", node_label(topology_).long_text);
    if (!detailed_ && layout_.columns[0].switches[0].size() > 1)
      node += "; a small square: one switch";
    canvas_.text({24, y + 26}, node, {.size = 11, .anchor = "start", .fill = kMuted});
  }

  const Topology& topology_;
  bool detailed_;
  FabricColumns layout_;
  BandwidthScale scale_;
  SvgCanvas canvas_;
  std::vector<Bundle> bundles_;
  std::vector<std::size_t> shown_;
  std::size_t elided_ = 0;
  std::vector<double> column_x_, column_width_, row_y_;
  double width_ = 0, node_y_ = 0, node_height_ = 0;
  std::map<DeviceId, Point> boxes_;
};

bool shows_every_box(const Topology& topology) {
  if (topology.num_nodes() > kMostDetailedNodes) return false;
  int switches = 0;
  for (const Device& device : topology.devices())
    switches += device.kind == DeviceKind::kSwitch ? 1 : 0;
  return switches <= kMostDetailedSwitches && bundles_of(topology).size() <= kMostDetailedBundles;
}

}  // namespace

std::string to_svg(const Topology& topology) {
  if (topology.num_nodes() == 1) return node_svg(topology);
  return FabricDrawing{topology, shows_every_box(topology)}.draw();
}

}  // namespace foretrain
