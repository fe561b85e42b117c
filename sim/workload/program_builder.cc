#include "sim/workload/program_builder.h"

#include <cmath>
#include <string_view>
#include <utility>

#include "sim/core/contracts.h"

namespace foretrain {
namespace {

/// Bytes of one two-layout fp8 quantisation per two-byte element. @source Transformer Engine
/// common/recipe: delayed scaling knows its scale, current scaling reads the tensor once more for
/// it, block scaling stores an fp32 scale per 128 elements, MX one byte per 32.
ElementCost cast_cost(Fp8Recipe recipe) {
  switch (recipe) {
    case Fp8Recipe::kDelayed: return {2, 2, 1};
    case Fp8Recipe::kCurrent: return {4, 2, 2};
    case Fp8Recipe::kBlockwise: return {2, 2 * (1 + 4.0 / 128), 1};
    case Fp8Recipe::kMx: return {2, 2 * (1 + 1.0 / 32), 1};
  }
  return {2, 2, 1};
}

bool is_fp8(DataType type) { return type == DataType::kFp8 || type == DataType::kFp8Block; }

std::int64_t total(const std::vector<std::int64_t>& values) {
  std::int64_t sum = 0;
  for (const std::int64_t value : values) sum += value;
  return sum;
}

}  // namespace

ProgramBuilder::ProgramBuilder(const TrainingJob& job)
    : job_(job), shapes_(local_shapes(job)), sequence_parallel_(is_sequence_parallel(job)) {
  // DTensor's redistributions are waited for where they stand; Megatron's linear layers overlap
  // them.
  asynchronous_ = uses_megatron_layers(job) || job.framework == Framework::kDeepSpeed;
  pipelined_ = job.options.tensor_overlap && sequence_parallel_;
}

int ProgramBuilder::group_size(GroupKind group) const {
  switch (group) {
    case GroupKind::kTensor: return job_.parallel.tensor;
    case GroupKind::kContext: return job_.parallel.context;
    case GroupKind::kPipeline: return job_.parallel.pipeline;
    case GroupKind::kData: return job_.parallel.data;
    case GroupKind::kDataContext: return job_.parallel.data * job_.parallel.context;
  }
  return 1;
}

void ProgramBuilder::compute(std::string name, Operator op, CostKind kind) {
  ProgramStep step;
  step.name = std::move(name);
  step.op = op;
  step.kind = kind;
  program_.steps.push_back(std::move(step));
}

void ProgramBuilder::elementwise(std::string name, double elements, ElementCost cost) {
  const double scale = shapes_.element_bytes / 2;
  memory(std::move(name),
         MemoryOp{elements * cost.read * scale, elements * cost.written * scale, cost.launches});
}

void ProgramBuilder::memory(std::string name, MemoryOp op) {
  compute(std::move(name), op, CostKind::kOther);
}

void ProgramBuilder::collective(std::string name, CollectiveOp op, int beside_next,
                                bool pipelined) {
  if (group_size(op.group) <= 1) return;
  ProgramStep step;
  step.name = std::move(name);
  step.op = op;
  step.kind = op.group == GroupKind::kContext ? CostKind::kContext : CostKind::kTensor;
  step.beside_next = beside_next;
  step.pipelined = pipelined;
  program_.steps.push_back(std::move(step));
}

void ProgramBuilder::tensor_collective(std::string name, CollectiveKind kind, int beside_next,
                                       bool pipelined) {
  const Bytes size{std::llround(shapes_.collective_bytes())};
  collective(std::move(name), {kind, GroupKind::kTensor, size}, beside_next, pipelined);
}

void ProgramBuilder::cast_forward(const LinearLayer& linear) {
  if (!is_fp8(linear.type)) return;
  // The weights are cast once a step, at the first micro-batch.
  const double weights = static_cast<double>(total(linear.outputs) * linear.inputs);
  const double inputs = static_cast<double>(shapes_.tokens * linear.inputs);
  elementwise(linear.name + " cast", inputs + weights / static_cast<double>(job_.accumulation()),
              cast_cost(job_.fp8_recipe));
}

void ProgramBuilder::cast_backward(const LinearLayer& linear) {
  if (!is_fp8(linear.type)) return;
  elementwise(linear.name + " gradient cast",
              static_cast<double>(shapes_.tokens * total(linear.outputs)),
              cast_cost(job_.fp8_recipe));
}

void ProgramBuilder::gemms(const LinearLayer& linear, const char* direction) {
  const std::string_view which{direction};
  const std::int64_t tokens = shapes_.tokens;
  const std::string name = which.empty() ? linear.name : linear.name + " " + direction;
  for (const std::int64_t outputs : linear.outputs) {
    GemmOp op;
    op.type = linear.type;
    if (which == "dgrad") {
      op.m = tokens, op.n = linear.inputs, op.k = outputs;
    } else if (which == "wgrad") {
      op.m = outputs, op.n = linear.inputs, op.k = tokens;
      op.accumulate = uses_megatron_layers(job_) && job_.options.gradient_bytes == 4;
    } else {
      op.m = tokens, op.n = outputs, op.k = linear.inputs;
    }
    compute(name, op, CostKind::kGemm);
  }
}

void ProgramBuilder::column_forward(const LinearLayer& linear) {
  cast_forward(linear);
  if (sequence_parallel_) {
    tensor_collective(linear.name + " all-gather", CollectiveKind::kAllGather, 0,
                      pipelined_ && linear.userbuffers);
  }
  gemms(linear, "");
}

void ProgramBuilder::column_backward(const LinearLayer& linear) {
  const int beside = asynchronous_ ? static_cast<int>(linear.outputs.size()) : 0;
  cast_backward(linear);
  // Only the shard of the input was kept: it is gathered again while dgrad, which does not need it,
  // runs.
  if (sequence_parallel_) {
    tensor_collective(linear.name + " input all-gather", CollectiveKind::kAllGather, beside, false);
  }
  gemms(linear, "dgrad");
  if (linear.outputs.size() > 1) {
    const auto sums = static_cast<int>(linear.outputs.size()) - 1;
    const double elements = static_cast<double>(shapes_.tokens * linear.inputs);
    elementwise(linear.name + " gradient sum", elements, {4.0 * sums, 2.0 * sums, sums});
  }
  tensor_collective(
      linear.name + (sequence_parallel_ ? " reduce-scatter" : " all-reduce"),
      sequence_parallel_ ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce, beside,
      false);
  gemms(linear, "wgrad");
}

void ProgramBuilder::row_forward(const LinearLayer& linear) {
  cast_forward(linear);
  const std::string name = linear.name + (sequence_parallel_ ? " reduce-scatter" : " all-reduce");
  const CollectiveKind kind =
      sequence_parallel_ ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
  // A pipelined collective always stands before the GEMM against which it is split.
  if (pipelined_) tensor_collective(name, kind, 0, true);
  gemms(linear, "");
  if (!pipelined_) tensor_collective(name, kind, 0, false);
}

void ProgramBuilder::row_backward(const LinearLayer& linear) {
  if (sequence_parallel_) {
    tensor_collective(linear.name + " all-gather", CollectiveKind::kAllGather, 0, pipelined_);
  }
  cast_backward(linear);
  gemms(linear, "dgrad");
  gemms(linear, "wgrad");
}

void ProgramBuilder::append(const Program& program, bool recompute) {
  for (ProgramStep step : program.steps) {
    step.recompute = step.recompute || recompute;
    program_.steps.push_back(std::move(step));
  }
}

Program ProgramBuilder::take() { return std::move(program_); }

}  // namespace foretrain
