// Shapes and colours of the fabric pictures, written as SVG text.
#pragma once

#include <string>
#include <vector>

#include "sim/core/units.h"

namespace foretrain {

struct Point {
  double x = 0;
  double y = 0;
};

struct BoxStyle {
  const char* fill = "#ffffff";
  const char* stroke = "#64748b";
  double radius = 4;
};

struct TextStyle {
  int size = 12;
  const char* anchor = "middle";  // start | middle | end
  const char* fill = "#0f172a";
  bool bold = false;
};

class SvgCanvas {
 public:
  void box(Point corner, double width, double height, BoxStyle style);
  void text(Point at, const std::string& content, TextStyle style);
  void line(Point from, Point to, double width, const std::string& color, double opacity = 1);
  /// An arc from one point to another through the height `top`.
  void arc(Point from, Point to, double top, double width, const std::string& color);
  /// Text on a white pill, centred; its width follows from the text.
  void pill(Point centre, const std::string& content, const char* color = "#334155");
  /// The whole picture on white.
  [[nodiscard]] std::string finish(double width, double height) const;

 private:
  std::string body_;
};

/// Colour and width of a bundle: five steps of its bandwidth against the largest of the picture.
class BandwidthScale {
 public:
  explicit BandwidthScale(DataRate largest) : largest_(largest) {}
  [[nodiscard]] std::string color(DataRate bandwidth) const;
  /// @param thickest  stroke of the largest bundle, px.
  [[nodiscard]] double stroke(DataRate bandwidth, double thickest) const;
  /// Colour and text of each step, from the lowest.
  struct Step {
    std::string color, text;
  };
  [[nodiscard]] std::vector<Step> steps() const;

 private:
  [[nodiscard]] int step(DataRate bandwidth) const;
  DataRate largest_;
};

}  // namespace foretrain
