#include <cmath>
#include <cstddef>
#include <utility>

#include "sim/core/contracts.h"
#include "sim/workload/program_builder.h"
#include "sim/workload/step_program.h"

namespace foretrain {
namespace {

struct OperationCost {
  ElementCost forward, backward;
};

// Bytes per two-byte element, counted from the tensors that each kernel must read and write. The
// unfused rows count every kernel of the eager PyTorch expression: RMSNorm as fp32 cast, square,
// mean, scale, cast back, weight; rotary as x*cos + rotate_half(x)*sin (or a complex product in
// fp32); tanh-GELU written out; SiLU and product apart.
OperationCost norm_cost(const TrainingJob& job) {
  const bool native = job.model.norm == Norm::kLayerNorm || job.framework == Framework::kTorchTitan;
  if (native || is_elementwise_fused(job)) return {{2, 2, 1}, {4, 2, 1}};
  return {{18, 18, 6}, {42, 26, 11}};
}

OperationCost rotary_cost(const TrainingJob& job) {
  if (is_elementwise_fused(job)) return {{2, 2, 1}, {2, 2, 1}};
  if (job.framework == Framework::kTorchTitan) return {{10, 10, 6}, {10, 10, 6}};
  return {{11, 7, 10}, {11, 7, 10}};
}

OperationCost activation_cost(const TrainingJob& job) {
  const bool fused = is_elementwise_fused(job);
  switch (job.model.activation) {
    case Activation::kSwiglu:
    case Activation::kGeglu:
      if (fused) return {{4, 2, 1}, {6, 4, 1}};
      return {{6, 4, 2}, {12, 6, 3}};
    case Activation::kGelu:
      if (fused || job.framework == Framework::kTorchTitan) return {{2, 2, 1}, {4, 2, 1}};
      return {{20, 16, 8}, {32, 20, 10}};
    case Activation::kRelu: return {{2, 2, 1}, {4, 2, 1}};
    case Activation::kSquaredRelu:
      if (fused) return {{2, 2, 1}, {4, 2, 1}};
      return {{4, 4, 2}, {8, 4, 2}};
  }
  return {{2, 2, 1}, {4, 2, 1}};
}

AttentionImplementation implementation_of(AttentionKernel kernel) {
  switch (kernel) {
    case AttentionKernel::kFlash1: return AttentionImplementation::kFlash1;
    case AttentionKernel::kFlash2: return AttentionImplementation::kFlash2;
    case AttentionKernel::kFlash3: return AttentionImplementation::kFlash3;
    case AttentionKernel::kCudnn: return AttentionImplementation::kCudnn;
    case AttentionKernel::kFlash:
    case AttentionKernel::kUnfused: break;
  }
  return AttentionImplementation::kAuto;
}

class LayerPrograms {
 public:
  LayerPrograms(const TrainingJob& job, int layer)
      : job_(job), window_(layer_window(job, layer)), shapes_(local_shapes(job)) {
    const bool split_linears =
        !job.options.fused_kernels &&
        (job.framework == Framework::kTorchTitan || job.framework == Framework::kFsdp2);
    qkv_ = {"qkv", {shapes_.qkv_columns}, shapes_.hidden, linear_type(job)};
    up_ = {"mlp up", {shapes_.gate_factor * shapes_.ffn_width}, shapes_.hidden, linear_type(job)};
    if (split_linears) {
      qkv_.outputs = {shapes_.query_width, shapes_.kv_width, shapes_.kv_width};
      if (shapes_.gate_factor == 2) up_.outputs = {shapes_.ffn_width, shapes_.ffn_width};
    }
    projection_ = {"projection", {shapes_.hidden}, shapes_.query_width, linear_type(job)};
    down_ = {"mlp down", {shapes_.hidden}, shapes_.ffn_width, linear_type(job)};
    region_ = static_cast<double>(shapes_.region_tokens * shapes_.hidden);
    post_norms_ = job.model.norms_per_layer >= 4;
  }

  [[nodiscard]] Program forward() const {
    ProgramBuilder builder{job_};
    builder.elementwise("norm 1", region_, norm_cost(job_).forward);
    builder.column_forward(qkv_);
    qkv_gather(builder, CollectiveKind::kAllGather);
    heads_elementwise(builder, true);
    attention_forward(builder);
    builder.row_forward(projection_);
    if (post_norms_) builder.elementwise("post-attention norm", region_, norm_cost(job_).forward);
    if (job_.options.compiled && !post_norms_) {
      builder.elementwise("residual 1 and norm 2", region_, {4, 4, 1});
    } else {
      builder.elementwise("residual 1", region_, {4, 2, 1});
      builder.elementwise("norm 2", region_, norm_cost(job_).forward);
    }
    builder.column_forward(up_);
    builder.elementwise("activation", activation_elements(), activation_cost(job_).forward);
    builder.row_forward(down_);
    if (post_norms_) builder.elementwise("post-mlp norm", region_, norm_cost(job_).forward);
    builder.elementwise("residual 2", region_, {4, 2, 1});
    return builder.take();
  }

  void backward(ProgramBuilder& builder) const {
    if (post_norms_) builder.elementwise("post-mlp norm", region_, norm_cost(job_).backward);
    builder.row_backward(down_);
    builder.elementwise("activation", activation_elements(), activation_cost(job_).backward);
    builder.column_backward(up_);
    norm_backward(builder, "norm 2", "residual 1");
    if (post_norms_) builder.elementwise("post-attention norm", region_, norm_cost(job_).backward);
    builder.row_backward(projection_);
    if (recomputes_attention()) {
      ProgramBuilder again{job_};
      attention_forward(again);
      builder.append(again.take(), true);
    }
    attention_backward(builder);
    heads_elementwise(builder, false);
    qkv_gather(builder, CollectiveKind::kReduceScatter);
    builder.column_backward(qkv_);
    norm_backward(builder, "norm 1", "residual 0");
  }

 private:
  [[nodiscard]] double activation_elements() const {
    return static_cast<double>(shapes_.tokens * shapes_.ffn_width);
  }
  [[nodiscard]] bool recomputes_attention() const {
    return job_.recompute == RecomputeMode::kSelective &&
           job_.framework != Framework::kTorchTitan && job_.framework != Framework::kFsdp2;
  }

  /// The gradient also flows around the norm: both are added.
  void norm_backward(ProgramBuilder& builder, const char* norm, const char* residual) const {
    if (job_.options.compiled) {
      builder.elementwise(norm, region_, {6, 2, 1});
      return;
    }
    builder.elementwise(norm, region_, norm_cost(job_).backward);
    builder.elementwise(residual, region_, {4, 2, 1});
  }

  void qkv_gather(ProgramBuilder& builder, CollectiveKind kind) const {
    if (shapes_.qkv_gathered == 0) return;
    const double bytes = shapes_.element_bytes * static_cast<double>(shapes_.tokens) *
                         static_cast<double>(shapes_.qkv_gathered);
    builder.collective(
        kind == CollectiveKind::kAllGather ? "qkv output all-gather" : "qkv output reduce-scatter",
        {kind, GroupKind::kTensor, Bytes{std::llround(bytes)}});
  }

  /// Norms and rotations of queries and keys.
  void heads_elementwise(ProgramBuilder& builder, bool forward) const {
    const double elements =
        static_cast<double>(shapes_.tokens * (shapes_.query_width + shapes_.kv_width));
    const auto emit = [&](const char* name, const OperationCost& cost, int kernels) {
      ElementCost chosen = forward ? cost.forward : cost.backward;
      chosen.launches *= kernels;
      builder.elementwise(name, elements, chosen);
    };
    const bool rotary = job_.model.positions == Positions::kRotary;
    if (!forward && rotary) emit("rotary", rotary_cost(job_), 1);
    if (job_.model.qk_norm) emit("qk norm", norm_cost(job_), 2);
    if (forward && rotary) emit("rotary", rotary_cost(job_), 1);
  }

  /// Ring exchange: every rank passes keys and values on c-1 times, and their gradients on the way
  /// back; the transfers run beside the attention of the chunk in hand.
  void ring(ProgramBuilder& builder, int transfers_per_step, int beside) const {
    const int context = job_.parallel.context;
    const double chunk = 2 * shapes_.element_bytes * static_cast<double>(shapes_.tokens) *
                         static_cast<double>(shapes_.kv_width);
    const Bytes size{std::llround(chunk * transfers_per_step * (context - 1))};
    builder.collective("context ring", {CollectiveKind::kSendRecv, GroupKind::kContext, size},
                       beside);
  }

  [[nodiscard]] AttentionOp flash() const {
    AttentionOp op;
    op.batch = job_.micro_batch;
    op.query_length = job_.sequence_length / job_.parallel.context;
    op.key_length = job_.sequence_length;
    op.heads = shapes_.heads;
    op.kv_heads = shapes_.kv_heads;
    op.head_dim = job_.model.head_dim;
    op.window = window_;
    op.type = base_type(job_);
    op.implementation = implementation_of(job_.attention);
    return op;
  }

  void batched_gemm(ProgramBuilder& builder, const char* name, std::int64_t m, std::int64_t n,
                    std::int64_t k) const {
    GemmOp op;
    op.m = m, op.n = n, op.k = k;
    op.batch = job_.micro_batch * shapes_.heads;
    op.type = base_type(job_);
    builder.compute(name, op, CostKind::kAttention);
  }

  /// Passes over the score matrix, each reading and writing it once.
  void score_passes(ProgramBuilder& builder, const char* name, ElementCost cost) const {
    const double scores = static_cast<double>(job_.micro_batch * shapes_.heads) *
                          static_cast<double>(job_.sequence_length) *
                          static_cast<double>(job_.sequence_length / job_.parallel.context);
    const double scale = shapes_.element_bytes / 2;
    builder.compute(
        name, MemoryOp{scores * cost.read * scale, scores * cost.written * scale, cost.launches},
        CostKind::kAttention);
  }

  void attention_forward(ProgramBuilder& builder) const {
    if (job_.attention != AttentionKernel::kUnfused) {
      ring(builder, 1, 1);
      builder.compute("attention", flash(), CostKind::kAttention);
      return;
    }
    const std::int64_t keys = job_.sequence_length;
    const std::int64_t queries = keys / job_.parallel.context;
    const std::int64_t dim = job_.model.head_dim;
    ring(builder, 1, 3);
    batched_gemm(builder, "attention scores", queries, keys, dim);
    score_passes(builder, "attention mask and softmax", {6, 6, 3});
    batched_gemm(builder, "attention values", queries, dim, keys);
  }

  void attention_backward(ProgramBuilder& builder) const {
    if (job_.attention != AttentionKernel::kUnfused) {
      ring(builder, 2, 1);
      AttentionOp op = flash();
      op.backward = true;
      builder.compute("attention", op, CostKind::kAttention);
      return;
    }
    const std::int64_t keys = job_.sequence_length;
    const std::int64_t queries = keys / job_.parallel.context;
    const std::int64_t dim = job_.model.head_dim;
    ring(builder, 2, 5);
    batched_gemm(builder, "attention dV", keys, dim, queries);
    batched_gemm(builder, "attention dP", queries, keys, dim);
    // Softmax needs its output and the incoming gradient; mask and scale one pass more each.
    score_passes(builder, "attention softmax gradient", {8, 6, 3});
    batched_gemm(builder, "attention dQ", queries, dim, keys);
    batched_gemm(builder, "attention dK", keys, dim, queries);
  }

  const TrainingJob& job_;
  std::int64_t window_ = 0;
  LocalShapes shapes_;
  LinearLayer qkv_, projection_, up_, down_;
  double region_ = 0;  // elements of a norm or residual
  bool post_norms_ = false;
};

/// torchtitan's selective checkpointing per operator: attention, reduce-scatter outputs and every
/// second matrix product are kept; the rest of the forward runs again, up to the last tensor
/// needed.
Program every_second_matmul_again(const Program& forward) {
  Program again;
  int matmuls = 0;
  for (const ProgramStep& step : forward.steps) {
    if (step.name == "residual 2") continue;
    if (const auto* collective = std::get_if<CollectiveOp>(&step.op)) {
      if (collective->kind != CollectiveKind::kAllGather) continue;
    } else if (step.kind == CostKind::kAttention) {
      continue;
    } else if (step.kind == CostKind::kGemm && ++matmuls % 2 == 1) {
      continue;
    }
    again.steps.push_back(step);
  }
  return again;
}

/// Copies between the framework's flat communication buffers and the layer's tensors.
void gather_copies(ProgramBuilder& builder, double parameters) {
  const TrainingJob& job = builder.job();
  const double bytes = job.options.parameter_gather_bytes;
  if (is_fully_sharded(job)) {
    builder.memory("all-gather copy-out", MemoryOp{parameters * bytes, parameters * bytes, 1});
  } else if (job.framework == Framework::kDdp && job.precision != Precision::kFp32) {
    builder.memory("autocast of weights", MemoryOp{parameters * 4, parameters * 2, 1});
  }
}

void gradient_copies(ProgramBuilder& builder, double parameters) {
  const TrainingJob& job = builder.job();
  const double wire = job.options.gradient_bytes;
  if (is_fully_sharded(job)) {
    builder.memory("reduce-scatter copy-in", MemoryOp{parameters * 2, parameters * wire, 1});
  } else if (job.framework == Framework::kDdp) {
    if (job.precision != Precision::kFp32) {
      builder.memory("gradient cast", MemoryOp{parameters * 2, parameters * 4, 1});
    }
    if (job.accumulation() > 1) {
      builder.memory("gradient accumulation", MemoryOp{parameters * 8, parameters * 4, 1});
    }
  } else if (job.framework == Framework::kDeepSpeed) {
    builder.memory("gradient bucket copy", MemoryOp{parameters * 2, parameters * wire, 1});
  }
}

}  // namespace

ForwardBackward layer_program(const TrainingJob& job, int layer, bool recomputed) {
  FORETRAIN_EXPECTS(layer >= 0 && layer < job.model.layers, "no such layer");
  FORETRAIN_EXPECTS(!is_moe_layer(job.model, layer) && !job.model.mla.has_value(),
                    "programs exist for dense layers with standard attention");
  const LayerPrograms programs{job, layer};
  const auto parameters = static_cast<double>(layer_parameters_per_rank(job, layer));
  const Program forward = programs.forward();

  ForwardBackward result;
  ProgramBuilder forward_builder{job};
  gather_copies(forward_builder, parameters);
  forward_builder.append(forward);
  result.forward = forward_builder.take();

  ProgramBuilder backward_builder{job};
  if (is_fully_sharded(job)) gather_copies(backward_builder, parameters);
  const bool per_operator =
      job.recompute == RecomputeMode::kSelective &&
      (job.framework == Framework::kTorchTitan || job.framework == Framework::kFsdp2);
  if (recomputed) {
    backward_builder.append(forward, true);
  } else if (per_operator) {
    backward_builder.append(every_second_matmul_again(forward), true);
  }
  programs.backward(backward_builder);
  gradient_copies(backward_builder, parameters);
  result.backward = backward_builder.take();
  return result;
}

}  // namespace foretrain
