#include "calibrate/fit_gemm.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "calibrate/held_out.h"
#include "calibrate/smooth_grid.h"
#include "sim/core/contracts.h"

namespace foretrain {
namespace {

constexpr double kLargeFlops = 1e9;
// Small problems matter less to a training step, but must not be lost.
constexpr double kSmallWeight = 0.3;
// Octaves; chosen on held-out lines of H100, A100, H200 and B200 tables (0.1 to 1.0 tried).
constexpr double kBandwidth = 0.15;
constexpr std::size_t kFitSamples = 5000;
constexpr int kRounds = 4;

/// Kernel variants that the usual libraries hold; the fit decides how fast each is.
std::vector<GemmTile> starting_tiles() {
  return {{256, 128, 0.80}, {128, 256, 0.80}, {128, 128, 0.70}, {64, 256, 0.70},  {256, 64, 0.60},
          {128, 64, 0.50},  {64, 128, 0.50},  {64, 64, 0.40},   {192, 128, 0.75}, {128, 192, 0.75},
          {64, 32, 0.30},   {32, 64, 0.30},   {128, 32, 0.30},  {16, 64, 0.20},   {256, 256, 0.70}};
}

GemmOp op_of(const GemmSample& sample) {
  GemmOp op;
  op.m = std::llround(sample.m);
  op.n = std::llround(sample.n);
  op.k = std::llround(sample.k);
  op.type = sample.type;
  return op;
}

double objective(const GemmMachine& machine, const std::vector<GemmSample>& samples) {
  double sum = 0;
  double weights = 0;
  for (const GemmSample& sample : samples) {
    const GemmOp op = op_of(sample);
    const double weight = flops(op).value() > kLargeFlops ? 1.0 : kSmallWeight;
    sum += weight * std::abs(std::log(sample.seconds / gemm_mechanism_seconds(machine, op)));
    weights += weight;
  }
  return sum / weights;
}

/// Four significant digits: the file's numbers stay short and the fit does not depend on the rest.
double rounded(double value) {
  if (value <= 0) return value;
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(value)));
  return std::round(value * scale) / scale;
}

struct Knob {
  double* value = nullptr;
  double high = 0;
};

std::vector<Knob> knobs_of(GemmMachine& machine) {
  std::vector<Knob> knobs = {{&machine.fill_k, 2000},
                             {&machine.memory_efficiency, 1},
                             {&machine.fixed_seconds, 1e-3},
                             {&machine.split_seconds, 1e-3},
                             {&machine.cast_seconds_per_element, 1e-9}};
  for (GemmTile& tile : machine.tiles) knobs.push_back({&tile.efficiency, 1});
  return knobs;
}

void descend(GemmMachine& machine, const std::vector<GemmSample>& samples) {
  double best = objective(machine, samples);
  double factor = 1.25;
  for (int round = 0; round < kRounds; ++round) {
    for (const Knob& knob : knobs_of(machine)) {
      for (const double move : {factor, 1 / factor}) {
        while (true) {
          const double before = *knob.value;
          *knob.value = std::min(rounded(before * move), knob.high);
          const double now = objective(machine, samples);
          if (now < best - 1e-5) {
            best = now;
            continue;
          }
          *knob.value = before;
          break;
        }
      }
    }
    factor = std::pow(factor, 0.6);
  }
}

/// Every s-th sample, so that the descent is quick; the table uses all.
std::vector<GemmSample> thinned(const std::vector<GemmSample>& samples) {
  const std::size_t stride = std::max<std::size_t>(1, samples.size() / kFitSamples);
  std::vector<GemmSample> chosen;
  for (std::size_t i = 0; i < samples.size(); i += stride) chosen.push_back(samples[i]);
  return chosen;
}

GemmMachine machine_of(const GemmTable& table, const GemmMachine& rates) {
  GemmMachine machine = rates;
  machine.memory_efficiency = table.memory_efficiency;
  machine.fixed_seconds = table.fixed_seconds;
  machine.fill_k = table.fill_k;
  machine.split_seconds = table.split_seconds;
  machine.cast_seconds_per_element = table.cast_seconds_per_element;
  machine.tiles = table.tiles;
  return machine;
}

GemmTable fit_table(const std::vector<GemmSample>& samples, const GemmMachine& rates,
                    const GemmGrid& grid) {
  GemmMachine machine = rates;
  machine.tiles = starting_tiles();
  machine.fill_k = 200;
  machine.memory_efficiency = 0.85;
  machine.fixed_seconds = 3e-6;
  machine.split_seconds = 2e-6;
  // The fp8 tables time a linear layer: bf16 activations are cast (and scaled) first.
  const bool casts = element_bytes(samples.front().type) <= 1;
  machine.cast_seconds_per_element = casts ? 1.5e-12 : 0;
  descend(machine, thinned(samples));
  GemmTable table;
  table.type = samples.front().type;
  table.memory_efficiency = machine.memory_efficiency;
  table.fixed_seconds = machine.fixed_seconds;
  table.fill_k = machine.fill_k;
  table.split_seconds = machine.split_seconds;
  table.cast_seconds_per_element = machine.cast_seconds_per_element;
  table.tiles = machine.tiles;
  std::vector<ScatteredPoint> points;
  points.reserve(samples.size());
  for (const GemmSample& sample : samples) {
    points.push_back({{sample.m, sample.n, sample.k},
                      std::log2(sample.seconds / gemm_mechanism_seconds(machine, op_of(sample)))});
  }
  table.log2_ratio = smooth_onto_grid(points, {grid.m, grid.n, grid.k}, kBandwidth);
  return table;
}

}  // namespace

GemmGrid gemm_grid(const std::vector<GemmSample>& samples) {
  GemmGrid grid;
  std::vector<double> all_m;
  for (const GemmSample& sample : samples) {
    all_m.push_back(sample.m);
    grid.n.push_back(sample.n);
    grid.k.push_back(sample.k);
  }
  for (std::vector<double>* axis : {&all_m, &grid.n, &grid.k}) {
    std::sort(axis->begin(), axis->end());
    axis->erase(std::unique(axis->begin(), axis->end()), axis->end());
  }
  // Between two kept values of m at most a factor 2 below 512 and about 1.17 above.
  double last = 0;
  for (const double m : all_m) {
    const double factor = m <= 16 ? 4 : m <= 512 ? 2 : 1.17;
    if (last == 0 || m >= last * factor || m == all_m.back()) {
      grid.m.push_back(m);
      last = m;
    }
  }
  return grid;
}

double gemm_table_seconds(const GemmTable& table, const GemmMachine& rates, const GemmOp& op) {
  const std::array<double, 3> point = {static_cast<double>(op.m), static_cast<double>(op.n),
                                       static_cast<double>(op.k)};
  return gemm_mechanism_seconds(machine_of(table, rates), op) *
         std::exp2(table.log2_ratio.at(point));
}

GemmTable fit_gemm(const std::vector<GemmSample>& samples, const GemmMachine& rates) {
  FORETRAIN_EXPECTS(samples.size() >= 100, "a GEMM table needs at least 100 samples");
  const GemmGrid grid = gemm_grid(samples);
  // Whole lines are left out, so that the check is an interpolation and not a look-up.
  const HeldOutLines lines({grid.n, grid.k});
  std::vector<GemmSample> seen;
  std::vector<GemmSample> unseen;
  for (const GemmSample& sample : samples) {
    const bool held_out = lines.contains(0, sample.n) || lines.contains(1, sample.k);
    (held_out ? unseen : seen).push_back(sample);
  }
  GemmTable table = fit_table(samples, rates, grid);
  if (seen.size() < 100 || unseen.empty()) return table;
  const GemmTable partial = fit_table(seen, rates, grid);
  std::vector<double> all;
  std::vector<double> large;
  for (const GemmSample& sample : unseen) {
    const GemmOp op = op_of(sample);
    const double error = std::abs(gemm_table_seconds(partial, rates, op) / sample.seconds - 1);
    all.push_back(error);
    if (flops(op).value() > kLargeFlops) large.push_back(error);
  }
  table.held_out = summarise_errors(std::move(all));
  table.held_out_large = summarise_errors(std::move(large));
  return table;
}

}  // namespace foretrain
