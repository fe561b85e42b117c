// Programs outside the layers: embedding, head and loss, optimizer step.
#include <algorithm>
#include <cmath>
#include <string>

#include "sim/core/contracts.h"
#include "sim/workload/program_builder.h"
#include "sim/workload/step_program.h"

namespace foretrain {
namespace {

CollectiveOp tensor_op(const LocalShapes& shapes, CollectiveKind kind) {
  return {kind, GroupKind::kTensor, Bytes{std::llround(shapes.collective_bytes())}};
}

/// Kernels of a multi-tensor pass: each launch covers at most 320 blocks of 65,536 elements.
/// @source PyTorch ATen/native/cuda/MultiTensorApply.cuh (depth_to_max_blocks, kChunkSize).
int multi_tensor_launches(std::int64_t elements) {
  constexpr std::int64_t kElementsPerLaunch = 320LL * 65'536;
  return static_cast<int>(
      std::max<std::int64_t>(1, (elements + kElementsPerLaunch - 1) / kElementsPerLaunch));
}

class OptimizerBuilder {
 public:
  OptimizerBuilder(const TrainingJob& job, std::int64_t local, std::int64_t owned)
      : job_(job), local_(local), owned_(owned) {}

  Program build() {
    const double gradient = job_.options.gradient_bytes;
    pass("zero gradients", local_, {0, gradient, 1});
    if (job_.framework == Framework::kMegatronLm &&
        job_.parallel.data * job_.parallel.context > 1) {
      pass("scale gradients", local_, {gradient, gradient, 1});
    }
    if (job_.precision == Precision::kFp16)
      pass("unscale gradients", owned_, {gradient, gradient, 1});
    pass("gradient norm", owned_, {gradient, 0, 1});
    pass("clip gradients", owned_, {gradient, gradient, 1});
    update(gradient);
    return builder_.take();
  }

 private:
  void pass(const char* name, std::int64_t elements, ElementCost bytes) {
    const auto count = static_cast<double>(elements);
    builder_.compute(name,
                     MemoryOp{count * bytes.read, count * bytes.written,
                              bytes.launches * multi_tensor_launches(elements)},
                     CostKind::kOptimizer);
  }

  /// Bytes per parameter. With a separate fp32 master copy the 16-bit weight is written too;
  /// frameworks that keep (sharded) fp32 weights update them in place. `foreach` makes about eight
  /// passes.
  void update(double gradient) {
    const bool master = job_.precision != Precision::kFp32 &&
                        (uses_megatron_layers(job_) || job_.framework == Framework::kDeepSpeed);
    const double states = job_.optimizer == OptimizerKind::kAdam ? 8 : 4;
    const double weight_out = master ? 2 : 0;
    const char* name = job_.optimizer == OptimizerKind::kAdam ? "adam" : "sgd";
    if (job_.options.optimizer_fused) {
      pass(name, owned_, {gradient + 4 + states, 4 + states + weight_out, 1});
    } else {
      const int passes = job_.optimizer == OptimizerKind::kAdam ? 8 : 3;
      pass(name, owned_, {6.0 * passes, 4.0 * passes + weight_out, passes});
    }
  }

  const TrainingJob& job_;
  ProgramBuilder builder_{job_};
  std::int64_t local_ = 0, owned_ = 0;
};

}  // namespace

ForwardBackward embedding_program(const TrainingJob& job) {
  const LocalShapes shapes = local_shapes(job);
  const bool sequence_parallel = is_sequence_parallel(job);
  const double elements = static_cast<double>(shapes.tokens * shapes.hidden);
  const double tokens = static_cast<double>(shapes.tokens);
  const double table = static_cast<double>(shapes.vocab_width * shapes.hidden);
  const double region = static_cast<double>(shapes.region_tokens * shapes.hidden);
  const double width = shapes.element_bytes;

  ForwardBackward result;
  ProgramBuilder forward{job};
  forward.memory("embedding", MemoryOp{elements * width + tokens * 8, elements * width, 1});
  forward.collective("embedding output",
                     tensor_op(shapes, sequence_parallel ? CollectiveKind::kReduceScatter
                                                         : CollectiveKind::kAllReduce));
  if (job.model.positions == Positions::kLearned)
    forward.elementwise("positions", region, {4, 2, 1});
  if (job.model.embedding_norm) forward.elementwise("embedding norm", region, {2, 2, 1});
  result.forward = forward.take();

  ProgramBuilder backward{job};
  if (job.model.embedding_norm) backward.elementwise("embedding norm", region, {4, 2, 1});
  if (sequence_parallel) {
    backward.collective("embedding gradient", tensor_op(shapes, CollectiveKind::kAllGather));
  }
  // The gradient of the table is dense: zeroed, rows added in fp32, then added to what is there.
  const bool accumulates = job.options.gradient_bytes == 4 && !is_fully_sharded(job);
  const double add_read = accumulates ? table * (width + 4) : 0;
  const double add_written = accumulates ? table * 4 : 0;
  backward.memory("embedding",
                  MemoryOp{elements * (width + 4) + add_read,
                           elements * 4 + table * width + add_written, accumulates ? 3 : 2});
  result.backward = backward.take();
  return result;
}

ForwardBackward head_program(const TrainingJob& job) {
  const LocalShapes shapes = local_shapes(job);
  const bool fused = is_elementwise_fused(job) || job.options.fused_loss;
  const double region = static_cast<double>(shapes.region_tokens * shapes.hidden);
  const double logits = static_cast<double>(shapes.tokens * shapes.vocab_width);
  const LinearLayer head{"head", {shapes.vocab_width}, shapes.hidden, base_type(job), false};
  const auto row_reduce = [&](ProgramBuilder& builder, const char* name, std::int64_t values) {
    builder.collective(
        name, {CollectiveKind::kAllReduce, GroupKind::kTensor, Bytes{4 * values * shapes.tokens}});
  };

  ForwardBackward result;
  ProgramBuilder forward{job};
  forward.elementwise("final norm", region, {2, 2, 1});
  forward.column_forward(head);
  if (fused) {
    row_reduce(forward, "loss max", 1);
    row_reduce(forward, "loss sums", 2);
    forward.elementwise("cross entropy", logits, {4, 2, 1});
  } else {
    row_reduce(forward, "loss max", 1);
    row_reduce(forward, "loss target", 1);
    row_reduce(forward, "loss sum", 1);
    forward.elementwise("cross entropy", logits, {22, 16, 6});
  }
  result.forward = forward.take();

  ProgramBuilder backward{job};
  backward.elementwise("cross entropy", logits,
                       fused ? ElementCost{2, 2, 1} : ElementCost{8, 6, 2});
  backward.column_backward(head);
  backward.elementwise("final norm", region, {4, 2, 1});
  result.backward = backward.take();
  return result;
}

Program optimizer_program(const TrainingJob& job, std::int64_t local_parameters,
                          std::int64_t owned_parameters) {
  FORETRAIN_EXPECTS(owned_parameters >= 0 && owned_parameters <= local_parameters,
                    "a rank updates at most what it holds");
  return OptimizerBuilder{job, local_parameters, owned_parameters}.build();
}

}  // namespace foretrain
