#include "topologies/svg_canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "topologies/fabric_columns.h"

namespace foretrain {
namespace {

// A sequential ramp that stays apart in grey and for colour-blind readers.
constexpr std::array<const char*, 5> kRamp{"#a5c8ec", "#6ea8de", "#3f86c9", "#1f62a8", "#0b3c73"};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace

void SvgCanvas::box(Point corner, double width, double height, BoxStyle style) {
  body_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{}\" fill=\"{}\" "
      "stroke=\"{}\"/>\n",
      corner.x, corner.y, width, height, style.radius, style.fill, style.stroke);
}

void SvgCanvas::text(Point at, const std::string& content, TextStyle style) {
  body_ += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" text-anchor=\"{}\" "
      "fill=\"{}\"{}>{}</text>\n",
      at.x, at.y, style.size, style.anchor, style.fill, style.bold ? " font-weight=\"600\"" : "",
      escaped(content));
}

void SvgCanvas::line(Point from, Point to, double width, const std::string& color, double opacity) {
  body_ += fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
      "stroke-width=\"{:.1f}\"{}/>\n",
      from.x, from.y, to.x, to.y, color, width,
      opacity < 1 ? fmt::format(" stroke-opacity=\"{:.2f}\"", opacity) : "");
}

void SvgCanvas::arc(Point from, Point to, double top, double width, const std::string& color) {
  body_ += fmt::format(
      "<path d=\"M{:.1f} {:.1f} C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\" fill=\"none\" "
      "stroke=\"{}\" "
      "stroke-width=\"{:.1f}\"/>\n",
      from.x, from.y, from.x, top, to.x, top, to.x, to.y, color, width);
}

void SvgCanvas::pill(Point centre, const std::string& content, const char* color) {
  const double width = 6.1 * static_cast<double>(content.size()) + 12;
  body_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"18\" rx=\"9\" fill=\"#ffffff\" "
      "stroke=\"{}\" "
      "stroke-opacity=\"0.5\"/>\n",
      centre.x - width / 2, centre.y - 9, width, color);
  text({centre.x, centre.y + 4}, content, {.size = 11, .fill = color});
}

std::string SvgCanvas::finish(double width, double height) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 "
      "0 {0:.0f} {1:.0f}\" "
      "font-family=\"Helvetica, Arial, sans-serif\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#ffffff\"/>\n{2}</svg>\n",
      width, height, body_);
}

int BandwidthScale::step(DataRate bandwidth) const {
  const double ratio = bandwidth / largest_;
  const int halvings =
      ratio > 0 ? static_cast<int>(std::floor(-std::log2(std::min(1.0, ratio)) + 1e-9)) : 4;
  return 4 - std::min(4, halvings);
}

std::string BandwidthScale::color(DataRate bandwidth) const {
  return kRamp[static_cast<std::size_t>(step(bandwidth))];
}

double BandwidthScale::stroke(DataRate bandwidth, double thickest) const {
  return std::max(1.0, thickest * (1 + step(bandwidth)) / 5);
}

std::vector<BandwidthScale::Step> BandwidthScale::steps() const {
  std::vector<Step> out;
  for (int s = 0; s < 5; ++s) {
    const DataRate limit = largest_ * std::pow(0.5, 4 - s);
    out.push_back(
        {kRamp[static_cast<std::size_t>(s)], (s == 4 ? "" : "up to ") + short_rate(limit)});
  }
  return out;
}

}  // namespace foretrain
