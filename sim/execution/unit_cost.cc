#include "sim/execution/unit_cost.h"

#include <algorithm>
#include <type_traits>

namespace foretrain {
namespace {

std::vector<double> operator_key(const Operator& op) {
  return std::visit(
      [](const auto& o) -> std::vector<double> {
        using T = std::decay_t<decltype(o)>;
        const auto number = [](auto v) { return static_cast<double>(v); };
        if constexpr (std::is_same_v<T, GemmOp>) {
          return {1,
                  number(o.m),
                  number(o.n),
                  number(o.k),
                  number(o.batch),
                  number(static_cast<int>(o.type)),
                  o.accumulate ? 1.0 : 0.0};
        } else if constexpr (std::is_same_v<T, AttentionOp>) {
          return {2,
                  number(o.batch),
                  number(o.query_length),
                  number(o.key_length),
                  number(o.heads),
                  number(o.kv_heads),
                  number(o.head_dim),
                  number(o.value_head_dim),
                  number(o.window),
                  o.causal ? 1.0 : 0.0,
                  o.backward ? 1.0 : 0.0,
                  number(static_cast<int>(o.type)),
                  number(static_cast<int>(o.implementation))};
        } else {
          return {3, o.bytes_read, o.bytes_written, number(o.launches)};
        }
      },
      op);
}

TimeKind time_kind(CostKind kind) {
  switch (kind) {
    case CostKind::kGemm: return TimeKind::kGemm;
    case CostKind::kAttention: return TimeKind::kAttention;
    case CostKind::kOther: return TimeKind::kOther;
    case CostKind::kTensor: return TimeKind::kTensor;
    case CostKind::kContext: return TimeKind::kContext;
    case CostKind::kExpert: return TimeKind::kExpert;
    case CostKind::kPipeline: return TimeKind::kPipeline;
    case CostKind::kData: return TimeKind::kData;
    case CostKind::kOptimizer: return TimeKind::kOptimizer;
  }
  return TimeKind::kOther;
}

void add_named(std::vector<NamedCost>& named, const std::string& name, TimeKind kind,
               double seconds) {
  for (NamedCost& item : named) {
    if (item.name == name && item.kind == kind) {
      item.seconds += seconds;
      return;
    }
  }
  named.push_back({name, kind, seconds});
}

/// Elapsed time of C seconds of computation beside N seconds of communication that slow each other
/// down by alpha and gamma while both run. @source training-schedules-memory B3.1.
double overlapped_seconds(double compute, double communication, double alpha, double gamma) {
  if (gamma * communication <= alpha * compute) {
    return communication * gamma + (compute - communication * gamma / alpha);
  }
  return compute * alpha + (communication - compute * alpha / gamma);
}

}  // namespace

void ProgramCost::add(const ProgramCost& other) {
  const double before = seconds.total();
  const double added = other.seconds.total();
  if (before + added > 0) {
    slowdown_share = (slowdown_share * before + other.slowdown_share * added) / (before + added);
  }
  seconds.add(other.seconds);
  launches += other.launches;
  for (const NamedCost& item : other.named) add_named(named, item.name, item.kind, item.seconds);
  gemm_sigma_seconds += other.gemm_sigma_seconds;
  attention_sigma_seconds += other.attention_sigma_seconds;
  other_sigma_seconds += other.other_sigma_seconds;
  extrapolated = extrapolated || other.extrapolated;
}

UnitCoster::UnitCoster(const ComputeModel& compute, const FrameworkOptions& options,
                       const Interference& interference, InlineCollectiveCost collective)
    : compute_(compute),
      options_(options),
      interference_(interference),
      collective_(std::move(collective)) {}

TimeEstimate UnitCoster::op_time(const Operator& op) {
  auto [entry, inserted] = memo_.try_emplace(operator_key(op));
  if (inserted) entry->second = compute_.time(op);
  return entry->second;
}

ProgramCost UnitCoster::cost(const Program& program) {
  ProgramCost cost;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const ProgramStep& step = program.steps[i];
    if (std::holds_alternative<Operator>(step.op)) {
      add_compute(step, cost);
    } else {
      add_collective(program, i, cost);
    }
  }
  const double total = cost.seconds.total();
  const double tensor_core = cost.seconds[TimeKind::kGemm] + cost.seconds[TimeKind::kAttention];
  cost.slowdown_share = total > 0 ? tensor_core / total : 0;
  return cost;
}

void UnitCoster::add_compute(const ProgramStep& step, ProgramCost& cost) {
  const Operator& op = std::get<Operator>(step.op);
  const TimeEstimate time = op_time(op);
  const MemoryOp* memory = std::get_if<MemoryOp>(&op);
  const int launches = memory != nullptr ? memory->launches : 1;
  const double seconds = time.seconds + compute_.kernel_gap_seconds() * launches;
  const TimeKind kind = time_kind(step.kind);
  cost.seconds[kind] += seconds;
  cost.launches += launches;
  add_named(cost.named, step.name, kind, seconds);
  cost.extrapolated = cost.extrapolated || time.extrapolated;
  const double sigma_seconds = seconds * time.relative_sigma;
  if (std::holds_alternative<GemmOp>(op)) {
    cost.gemm_sigma_seconds += sigma_seconds;
  } else if (std::holds_alternative<AttentionOp>(op)) {
    cost.attention_sigma_seconds += sigma_seconds;
  } else {
    cost.other_sigma_seconds += sigma_seconds;
  }
}

double UnitCoster::beside_seconds(const Program& program, std::size_t at, int count) {
  double seconds = 0;
  for (std::size_t i = at + 1; i < program.steps.size() && count > 0; ++i) {
    const Operator* op = std::get_if<Operator>(&program.steps[i].op);
    if (op == nullptr) continue;
    seconds += op_time(*op).seconds;
    --count;
  }
  return seconds;
}

void UnitCoster::add_collective(const Program& program, std::size_t at, ProgramCost& cost) {
  const ProgramStep& step = program.steps[at];
  const InlineCollective collective = collective_(std::get<CollectiveOp>(step.op));
  if (collective.seconds <= 0) return;
  cost.launches += 1;
  double exposed = collective.seconds;
  if (step.pipelined) {
    // Userbuffers: chunks of the transfer run beside chunks of the adjacent GEMM; what does not fit
    // beside it, and one chunk at the head or tail, stay exposed.
    double adjacent = beside_seconds(program, at, 1);
    if (adjacent <= 0 && at > 0) {
      if (const Operator* op = std::get_if<Operator>(&program.steps[at - 1].op)) {
        adjacent = op_time(*op).seconds;
      }
    }
    constexpr double kChunks = 4;
    exposed = std::max(0.0, collective.seconds - adjacent) +
              std::min(collective.seconds, adjacent) / kChunks;
  } else if (step.beside_next > 0) {
    const double compute = beside_seconds(program, at, step.beside_next);
    const double alpha =
        std::max(compute_.gemm_slowdown(std::min(collective.channels, interference_.max_sms)),
                 interference_.memory_slowdown);
    exposed = overlapped_seconds(compute, collective.seconds, alpha,
                                 interference_.communication_slowdown) -
              compute;
  }
  const TimeKind kind = time_kind(step.kind);
  cost.seconds[kind] += exposed;
  add_named(cost.named, step.name, kind, exposed);
}

Segment UnitCoster::segment(const ProgramCost& cost) const {
  Segment segment;
  segment.seconds = cost.seconds;
  segment.slowdown_share = cost.slowdown_share;
  const double per_launch = options_.host_seconds_per_launch > 0 ? options_.host_seconds_per_launch
                                                                 : compute_.launch_seconds();
  const double host = per_launch * cost.launches;
  const double gpu = cost.seconds.total();
  if (host > gpu) segment.seconds[TimeKind::kHost] += host - gpu;
  return segment;
}

}  // namespace foretrain
