#include "calibrate/fit_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "calibrate/held_out.h"
#include "calibrate/smooth_grid.h"
#include "sim/compute/gemm_tiles.h"

namespace foretrain {
namespace {

constexpr double kLargeFlops = 1e9;
constexpr double kHugeFlops = 1e11;
constexpr double kBandwidth = 0.25;  // octaves
constexpr std::size_t kFewestSamples = 300;
constexpr std::int64_t kShortestSequence = 16;
constexpr std::int64_t kLargestSmallWindow = 512;

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto index = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  return values[index];
}

double rounded(double value, double digits) { return std::round(value * digits) / digits; }

double batch_heads(const AttentionOp& op) {
  return static_cast<double>(op.batch) * static_cast<double>(op.heads);
}

std::vector<double> sequences_of(const std::vector<AttentionSample>& samples) {
  std::vector<double> axis;
  for (const AttentionSample& sample : samples) {
    axis.push_back(static_cast<double>(sample.op.key_length));
  }
  std::sort(axis.begin(), axis.end());
  axis.erase(std::unique(axis.begin(), axis.end()), axis.end());
  return axis;
}

/// Powers of two from the smallest to beyond the largest number of heads in a batch.
std::vector<double> heads_axis(const std::vector<AttentionSample>& samples) {
  double low = 1e9;
  double high = 1;
  for (const AttentionSample& sample : samples) {
    low = std::min(low, batch_heads(sample.op));
    high = std::max(high, batch_heads(sample.op));
  }
  std::vector<double> axis = {std::exp2(std::floor(std::log2(low)))};
  while (axis.back() < high) axis.push_back(axis.back() * 2);
  return axis;
}

struct Fit {
  AttentionMachine machine;
  GridTable table;
};

Fit fit_once(const std::vector<AttentionSample>& samples, AttentionMachine machine,
             const std::vector<double>& sequences, const std::vector<double>& heads) {
  std::vector<double> rates;
  std::vector<double> times;
  for (const AttentionSample& sample : samples) {
    const double work = flops(sample.op).value();
    times.push_back(sample.seconds);
    if (work > kHugeFlops) rates.push_back(work / sample.seconds / machine.peak_flops_per_s);
  }
  machine.efficiency = rates.empty() ? 0.3 : std::max(rounded(quantile(rates, 0.8), 1e4), 0.01);
  machine.fixed_seconds = rounded(quantile(times, 0.01), 1e9);
  std::vector<ScatteredPoint> points;
  for (const AttentionSample& sample : samples) {
    points.push_back({{static_cast<double>(sample.op.key_length), batch_heads(sample.op)},
                      std::log2(sample.seconds / attention_mechanism_seconds(machine, sample.op))});
  }
  return {machine, smooth_onto_grid(points, {sequences, heads}, kBandwidth)};
}

double predicted(const Fit& fit, const AttentionOp& op) {
  const std::array<double, 2> point = {static_cast<double>(op.key_length), batch_heads(op)};
  return attention_mechanism_seconds(fit.machine, op) * std::exp2(fit.table.at(point));
}

AttentionTable fit_group(const std::vector<AttentionSample>& samples,
                         const AttentionMachine& machine) {
  const std::vector<double> sequences = sequences_of(samples);
  const std::vector<double> heads = heads_axis(samples);
  const HeldOutLines lines({sequences});
  std::vector<AttentionSample> seen;
  std::vector<AttentionSample> unseen;
  for (const AttentionSample& sample : samples) {
    const bool held_out = lines.contains(0, static_cast<double>(sample.op.key_length));
    (held_out ? unseen : seen).push_back(sample);
  }
  const Fit fit = fit_once(samples, machine, sequences, heads);
  const Fit partial = fit_once(seen, machine, sequences, heads);
  std::vector<double> all;
  std::vector<double> large;
  for (const AttentionSample& sample : unseen) {
    const double error = std::abs(predicted(partial, sample.op) / sample.seconds - 1);
    all.push_back(error);
    if (flops(sample.op).value() > kLargeFlops) large.push_back(error);
  }
  AttentionTable table;
  table.type = samples.front().type;
  table.head_dim = static_cast<int>(samples.front().op.head_dim);
  table.window = static_cast<int>(samples.front().op.window);
  table.efficiency = fit.machine.efficiency;
  table.fixed_seconds = fit.machine.fixed_seconds;
  table.log2_ratio = fit.table;
  table.held_out = summarise_errors(std::move(all));
  table.held_out_large = summarise_errors(std::move(large));
  return table;
}

}  // namespace

std::vector<AttentionTable> fit_attention(const std::vector<AttentionSample>& samples,
                                          const GpuSpec& gpu, const AttentionMachine& rates) {
  using Key = std::tuple<int, std::int64_t, std::int64_t>;
  std::map<Key, std::vector<AttentionSample>> groups;
  for (const AttentionSample& sample : samples) {
    if (sample.op.key_length < kShortestSequence) continue;
    if (sample.op.window > kLargestSmallWindow) continue;
    groups[{static_cast<int>(sample.type), sample.op.head_dim, sample.op.window}].push_back(sample);
  }
  std::vector<AttentionTable> tables;
  for (const auto& [key, group] : groups) {
    if (group.size() < kFewestSamples) continue;
    AttentionMachine machine = rates;
    machine.peak_flops_per_s = peak_flops_per_s(gpu, group.front().type);
    tables.push_back(fit_group(group, machine));
  }
  return tables;
}

}  // namespace foretrain
