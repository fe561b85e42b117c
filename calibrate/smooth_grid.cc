#include "calibrate/smooth_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "sim/core/contracts.h"

namespace foretrain {
namespace {

constexpr double kReach = 4;    // weights below exp(-8) are left out
constexpr double kNearest = 2;  // a grid point needs data within this many bandwidths

struct LogPoint {
  std::vector<double> position;
  double value = 0;
};

double squared_distance(const std::vector<double>& a, const std::vector<double>& b, double limit) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size() && sum <= limit; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

/// Points sorted by their first coordinate, so that a neighbourhood is a short range.
class Neighbourhood {
 public:
  explicit Neighbourhood(std::vector<LogPoint> points) : points_(std::move(points)) {
    std::stable_sort(points_.begin(), points_.end(), [](const LogPoint& a, const LogPoint& b) {
      return a.position.front() < b.position.front();
    });
  }

  [[nodiscard]] double mean(const std::vector<double>& at, double bandwidth) const {
    double nearest = nearest_within(at, kNearest * bandwidth);
    double h = bandwidth;
    while (nearest > kNearest * h) {
      h *= 2;
      nearest = nearest_within(at, kNearest * h);
    }
    double weights = 0;
    double sum = 0;
    const double limit = kReach * kReach * h * h;
    for_each_within(at, kReach * h, [&](const LogPoint& point) {
      const double d2 = squared_distance(point.position, at, limit);
      if (d2 > limit) return;
      const double weight = std::exp(-d2 / (2 * h * h));
      weights += weight;
      sum += weight * point.value;
    });
    return sum / weights;
  }

 private:
  template <class F>
  void for_each_within(const std::vector<double>& at, double reach, F&& visit) const {
    const auto first = std::lower_bound(
        points_.begin(), points_.end(), at.front() - reach,
        [](const LogPoint& point, double x) { return point.position.front() < x; });
    for (auto it = first; it != points_.end() && it->position.front() <= at.front() + reach; ++it) {
      visit(*it);
    }
  }

  /// Distance of the nearest point, or infinity if none is within `reach`.
  [[nodiscard]] double nearest_within(const std::vector<double>& at, double reach) const {
    double best = std::numeric_limits<double>::infinity();
    for_each_within(at, reach, [&](const LogPoint& point) {
      const double d2 = squared_distance(point.position, at, reach * reach);
      if (d2 <= reach * reach) best = std::min(best, d2);
    });
    return std::sqrt(best);
  }

  std::vector<LogPoint> points_;
};

std::vector<double> log_of(const std::vector<double>& position) {
  std::vector<double> logs;
  logs.reserve(position.size());
  for (const double x : position) logs.push_back(std::log2(x));
  return logs;
}

}  // namespace

GridTable smooth_onto_grid(const std::vector<ScatteredPoint>& points,
                           std::vector<std::vector<double>> axes, double bandwidth) {
  FORETRAIN_EXPECTS(!points.empty() && bandwidth > 0, "smoothing needs points and a bandwidth");
  std::vector<LogPoint> logs;
  logs.reserve(points.size());
  for (const ScatteredPoint& point : points) logs.push_back({log_of(point.position), point.value});
  const Neighbourhood neighbourhood(std::move(logs));
  std::size_t size = 1;
  for (const auto& axis : axes) size *= axis.size();
  std::vector<double> values(size);
  std::vector<double> at(axes.size());
  for (std::size_t index = 0; index < size; ++index) {
    std::size_t rest = index;
    for (std::size_t a = axes.size(); a-- > 0;) {
      at[a] = std::log2(axes[a][rest % axes[a].size()]);
      rest /= axes[a].size();
    }
    values[index] = neighbourhood.mean(at, bandwidth);
  }
  return GridTable{std::move(axes), std::move(values)};
}

}  // namespace foretrain
