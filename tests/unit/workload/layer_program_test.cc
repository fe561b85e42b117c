#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "sim/workload/step_program.h"
#include "tests/unit/workload/test_jobs.h"

namespace foretrain {
namespace {

using Shape = std::array<std::int64_t, 3>;

std::vector<Shape> gemms(const Program& program, const std::string& name) {
  std::vector<Shape> shapes;
  for (const ProgramStep& step : program.steps) {
    const auto* op = std::get_if<Operator>(&step.op);
    const GemmOp* gemm = op == nullptr ? nullptr : std::get_if<GemmOp>(op);
    if (gemm != nullptr && step.name == name) shapes.push_back({gemm->m, gemm->n, gemm->k});
  }
  return shapes;
}

/// Bytes a rank puts on the wire for its collectives of one group.
double wire_bytes(const Program& program, GroupKind group, int ranks) {
  double bytes = 0;
  for (const ProgramStep& step : program.steps) {
    const auto* op = std::get_if<CollectiveOp>(&step.op);
    if (op == nullptr || op->group != group) continue;
    const double share = static_cast<double>(ranks - 1) / ranks;
    const double factor = op->kind == CollectiveKind::kAllReduce  ? 2 * share
                          : op->kind == CollectiveKind::kSendRecv ? 1
                                                                  : share;
    bytes += op->size.as_double() * factor;
  }
  return bytes;
}

double gemm_flops(const Program& program) {
  double flops = 0;
  for (const ProgramStep& step : program.steps) {
    const auto* op = std::get_if<Operator>(&step.op);
    const GemmOp* gemm = op == nullptr ? nullptr : std::get_if<GemmOp>(op);
    if (gemm == nullptr || step.kind != CostKind::kGemm) continue;
    flops += 2.0 * static_cast<double>(gemm->m) * static_cast<double>(gemm->n) *
             static_cast<double>(gemm->k);
  }
  return flops;
}

std::vector<AttentionOp> attentions(const Program& program) {
  std::vector<AttentionOp> found;
  for (const ProgramStep& step : program.steps) {
    const auto* op = std::get_if<Operator>(&step.op);
    const AttentionOp* attention = op == nullptr ? nullptr : std::get_if<AttentionOp>(op);
    if (attention != nullptr) found.push_back(*attention);
  }
  return found;
}

const ProgramStep* find(const Program& program, const std::string& name) {
  const auto at = std::find_if(program.steps.begin(), program.steps.end(),
                               [&](const ProgramStep& step) { return step.name == name; });
  return at == program.steps.end() ? nullptr : &*at;
}

TEST(LayerProgram, GemmShapesOfLlama70bOnEightTensorRanks) {
  const ForwardBackward layer = layer_program(test::job_a(), 0, false);
  EXPECT_EQ(gemms(layer.forward, "qkv"), (std::vector<Shape>{{8192, 1280, 8192}}));
  EXPECT_EQ(gemms(layer.forward, "mlp up"), (std::vector<Shape>{{8192, 7168, 8192}}));
  EXPECT_EQ(gemms(layer.forward, "mlp down"), (std::vector<Shape>{{8192, 8192, 3584}}));
  EXPECT_EQ(gemms(layer.backward, "qkv wgrad"), (std::vector<Shape>{{1280, 8192, 8192}}));
  EXPECT_EQ(gemms(layer.backward, "qkv dgrad"), (std::vector<Shape>{{8192, 8192, 1280}}));
}

TEST(LayerProgram, GemmShapesOfGpt175b) {
  const ForwardBackward layer = layer_program(test::job_b(), 0, false);
  EXPECT_EQ(gemms(layer.forward, "qkv"), (std::vector<Shape>{{2048, 4608, 12288}}));
  EXPECT_EQ(gemms(layer.forward, "projection"), (std::vector<Shape>{{2048, 12288, 1536}}));
  EXPECT_EQ(gemms(layer.forward, "mlp up"), (std::vector<Shape>{{2048, 6144, 12288}}));
  EXPECT_EQ(gemms(layer.forward, "mlp down"), (std::vector<Shape>{{2048, 12288, 6144}}));
}

TEST(LayerProgram, EagerTorchtitanKeepsLinearLayersApart) {
  TrainingJob job = test::job_d();
  job.options.fused_kernels = false;
  const ForwardBackward layer = layer_program(job, 0, false);
  EXPECT_EQ(gemms(layer.forward, "qkv"),
            (std::vector<Shape>{{8192, 4096, 4096}, {8192, 1024, 4096}, {8192, 1024, 4096}}));
  EXPECT_EQ(gemms(layer.forward, "mlp up").size(), 2u);
  EXPECT_DOUBLE_EQ(gemm_flops(layer.forward),
                   gemm_flops(layer_program(test::job_d(), 0, false).forward));
}

// 4 b (a/t) d s(s+1)/2 = 137,455,730,688 forward for 8 heads of 128 at s 8192.
TEST(LayerProgram, AttentionCoreHoldsTheRanksHeads) {
  const ForwardBackward layer = layer_program(test::job_a(), 0, false);
  const auto forward = attentions(layer.forward);
  ASSERT_EQ(forward.size(), 1u);
  const AttentionOp& op = forward.front();
  EXPECT_EQ(op.heads, 8);
  EXPECT_EQ(op.kv_heads, 1);
  EXPECT_TRUE(op.causal);
  EXPECT_EQ(4 * op.batch * op.heads * op.head_dim * op.query_length * (op.key_length + 1) / 2,
            137'455'730'688);
  ASSERT_EQ(attentions(layer.backward).size(), 1u);
  EXPECT_TRUE(attentions(layer.backward).front().backward);
}

TEST(LayerProgram, AttentionKernelIsPassedOn) {
  TrainingJob job = test::job_a();
  EXPECT_EQ(attentions(layer_program(job, 0, false).forward).front().implementation,
            AttentionImplementation::kAuto);
  job.attention = AttentionKernel::kFlash2;
  EXPECT_EQ(attentions(layer_program(job, 0, false).backward).front().implementation,
            AttentionImplementation::kFlash2);
}

// X = 134,217,728: 10 X 7/8 with sequence parallelism, 8 X 7/8 without.
TEST(LayerProgram, TensorParallelTraffic) {
  TrainingJob job = test::job_a();
  const auto wire = [&] {
    const ForwardBackward layer = layer_program(job, 0, false);
    return wire_bytes(layer.forward, GroupKind::kTensor, 8) +
           wire_bytes(layer.backward, GroupKind::kTensor, 8);
  };
  EXPECT_EQ(wire(), 1'174'405'120);
  job.parallel.sequence_parallel = false;
  EXPECT_EQ(wire(), 939'524'096);
  job.parallel.tensor = 1;
  EXPECT_EQ(wire(), 0);
}

TEST(LayerProgram, BackwardCollectivesRunBesideTheGemmsOfTheirLinearLayer) {
  TrainingJob job = test::job_a();
  const ForwardBackward with = layer_program(job, 0, false);
  for (const char* name : {"qkv input all-gather", "qkv reduce-scatter", "mlp up reduce-scatter"}) {
    ASSERT_NE(find(with.backward, name), nullptr) << name;
    EXPECT_EQ(find(with.backward, name)->beside_next, 1) << name;
  }
  EXPECT_EQ(find(with.backward, "projection all-gather")->beside_next, 0);
  EXPECT_EQ(find(with.forward, "qkv all-gather")->beside_next, 0);
  job.parallel.sequence_parallel = false;
  const ForwardBackward without = layer_program(job, 0, false);
  ASSERT_NE(find(without.backward, "qkv all-reduce"), nullptr);
  EXPECT_EQ(find(without.backward, "qkv all-reduce")->beside_next, 1);
  EXPECT_EQ(find(without.backward, "projection all-gather"), nullptr);
}

TEST(LayerProgram, UserbuffersCollectivesStandBeforeTheirGemm) {
  TrainingJob job = test::job_a();
  job.options.tensor_overlap = true;
  const Program forward = layer_program(job, 0, false).forward;
  for (std::size_t i = 0; i < forward.steps.size(); ++i) {
    if (!std::holds_alternative<CollectiveOp>(forward.steps[i].op)) continue;
    EXPECT_TRUE(forward.steps[i].pipelined) << forward.steps[i].name;
    EXPECT_EQ(forward.steps.at(i + 1).kind, CostKind::kGemm) << forward.steps[i].name;
  }
}

// K = 2 beta T kv_w = 33,554,432 and c = 4: 3 K forward, 6 K backward.
TEST(LayerProgram, ContextParallelRing) {
  const ForwardBackward layer = layer_program(test::job_e(), 0, false);
  EXPECT_EQ(wire_bytes(layer.forward, GroupKind::kContext, 4), 100'663'296);
  EXPECT_EQ(wire_bytes(layer.backward, GroupKind::kContext, 4), 201'326'592);
  EXPECT_EQ(find(layer.forward, "context ring")->beside_next, 1);
  const AttentionOp op = attentions(layer.forward).front();
  EXPECT_EQ(op.query_length, 8192);
  EXPECT_EQ(op.key_length, 32768);
  EXPECT_EQ(gemms(layer.forward, "qkv").front()[0], 8192);
}

// 4 KV heads on 8 ranks: each rank works with one whole head; Megatron gathers the QKV output.
TEST(LayerProgram, FewerKvHeadsThanTensorRanks) {
  TrainingJob job = test::job_a();
  job.model.kv_heads = 4;
  const Program forward = layer_program(job, 0, false).forward;
  EXPECT_EQ(attentions(forward).front().kv_heads, 1);
  const ProgramStep* gather = find(forward, "qkv output all-gather");
  ASSERT_NE(gather, nullptr);
  EXPECT_EQ(std::get<CollectiveOp>(gather->op).size.count(), 2LL * 8192 * (8192 + 2 * 512));
  EXPECT_EQ(gemms(forward, "qkv").front()[1], (8192 + 2 * 512) / 8);
  job.framework = Framework::kTorchTitan;
  const Program replicated = layer_program(job, 0, false).forward;
  EXPECT_EQ(find(replicated, "qkv output all-gather"), nullptr);
  EXPECT_EQ(gemms(replicated, "qkv").front()[1], 1024 + 2 * 128);
}

TEST(LayerProgram, FullRecomputationRepeatsTheForwardWithItsCollectives) {
  const ForwardBackward plain = layer_program(test::job_a(), 0, false);
  const ForwardBackward again = layer_program(test::job_a(), 0, true);
  EXPECT_DOUBLE_EQ(gemm_flops(again.backward),
                   gemm_flops(plain.backward) + gemm_flops(plain.forward));
  EXPECT_DOUBLE_EQ(wire_bytes(again.backward, GroupKind::kTensor, 8),
                   wire_bytes(plain.backward, GroupKind::kTensor, 8) +
                       wire_bytes(plain.forward, GroupKind::kTensor, 8));
  EXPECT_TRUE(again.backward.steps.front().recompute);
  EXPECT_FALSE(again.backward.steps.back().recompute);
}

TEST(LayerProgram, SelectiveRecomputationRepeatsAttentionOnly) {
  TrainingJob job = test::job_a();
  job.recompute = RecomputeMode::kSelective;
  const ForwardBackward layer = layer_program(job, 0, false);
  const auto again = attentions(layer.backward);
  ASSERT_EQ(again.size(), 2u);
  EXPECT_FALSE(again.front().backward);
  EXPECT_DOUBLE_EQ(gemm_flops(layer.backward), 2 * gemm_flops(layer.forward));
}

// torchtitan saves the 1st, 3rd, 5th and 7th matrix product: K, output and up run again.
TEST(LayerProgram, TorchtitanSelectiveRepeatsEverySecondProduct) {
  TrainingJob job = test::job_d();
  job.options.fused_kernels = false;
  job.recompute = RecomputeMode::kSelective;
  const ForwardBackward layer = layer_program(job, 0, false);
  std::vector<Shape> again;
  for (const ProgramStep& step : layer.backward.steps) {
    if (!step.recompute || step.kind != CostKind::kGemm) continue;
    const auto& gemm = std::get<GemmOp>(std::get<Operator>(step.op));
    again.push_back({gemm.m, gemm.n, gemm.k});
  }
  EXPECT_EQ(again,
            (std::vector<Shape>{{8192, 1024, 4096}, {8192, 4096, 4096}, {8192, 14336, 4096}}));
  EXPECT_EQ(attentions(layer.backward).size(), 1u);
}

TEST(LayerProgram, Fp8LeavesAttentionInBf16AndAddsCasts) {
  TrainingJob job = test::job_a();
  job.precision = Precision::kFp8;
  job.fp8_recipe = Fp8Recipe::kBlockwise;
  const ForwardBackward layer = layer_program(job, 0, false);
  EXPECT_EQ(std::get<GemmOp>(std::get<Operator>(find(layer.forward, "qkv")->op)).type,
            DataType::kFp8Block);
  EXPECT_EQ(attentions(layer.forward).front().type, DataType::kBf16);
  const ProgramStep* cast = find(layer.backward, "mlp down gradient cast");
  ASSERT_NE(cast, nullptr);
  EXPECT_DOUBLE_EQ(std::get<MemoryOp>(std::get<Operator>(cast->op)).bytes_read, 2.0 * 8192 * 8192);
}

TEST(LayerProgram, GradientsAccumulateInsideWgradOnlyWhereMegatronDoes) {
  const auto accumulates = [](const TrainingJob& job) {
    const Program backward = layer_program(job, 0, false).backward;
    return std::get<GemmOp>(std::get<Operator>(find(backward, "qkv wgrad")->op)).accumulate;
  };
  EXPECT_TRUE(accumulates(test::job_a()));
  EXPECT_FALSE(accumulates(test::job_d()));
  TrainingJob bf16 = test::job_a();
  bf16.options.gradient_bytes = 2;
  EXPECT_FALSE(accumulates(bf16));
}

TEST(LayerProgram, UnfusedAttentionIsTwoProductsForwardAndFourBackward) {
  TrainingJob job = test::job_b();
  job.attention = AttentionKernel::kUnfused;
  const ForwardBackward layer = layer_program(job, 0, false);
  const auto products = [](const Program& program) {
    return std::count_if(program.steps.begin(), program.steps.end(), [](const ProgramStep& step) {
      const auto* op = std::get_if<Operator>(&step.op);
      return step.kind == CostKind::kAttention && op != nullptr &&
             std::holds_alternative<GemmOp>(*op);
    });
  };
  EXPECT_EQ(products(layer.forward), 2);
  EXPECT_EQ(products(layer.backward), 4);
}

double moved(const Program& program, const std::string& name) {
  double bytes = 0;
  for (const ProgramStep& step : program.steps) {
    if (step.name != name) continue;
    const auto& op = std::get<MemoryOp>(std::get<Operator>(step.op));
    bytes += op.bytes_read + op.bytes_written;
  }
  return bytes;
}

int launches(const Program& program) {
  int sum = 0;
  for (const ProgramStep& step : program.steps) {
    const auto* op = std::get_if<Operator>(&step.op);
    const MemoryOp* memory = op == nullptr ? nullptr : std::get_if<MemoryOp>(op);
    sum += memory == nullptr ? 1 : memory->launches;
  }
  return sum;
}

// Fused RMSNorm 4 B per element, residual 6, SwiGLU 6, rotary 4; sequence parallelism keeps T/t
// tokens.
TEST(LayerProgram, FusedElementwiseBytes) {
  const Program forward = layer_program(test::job_a(), 0, false).forward;
  EXPECT_DOUBLE_EQ(moved(forward, "norm 1"), 4.0 * 1024 * 8192);
  EXPECT_DOUBLE_EQ(moved(forward, "residual 2"), 6.0 * 1024 * 8192);
  EXPECT_DOUBLE_EQ(moved(forward, "activation"), 6.0 * 8192 * 3584);
  EXPECT_DOUBLE_EQ(moved(forward, "rotary"), 4.0 * 8192 * (1024 + 128));
}

// RMSNorm written out: 36 B per element in six kernels.
TEST(LayerProgram, EagerKernelsMoveMoreAndLaunchMore) {
  TrainingJob job = test::job_d(Framework::kFsdp2);
  const int fused = launches(layer_program(job, 0, false).forward);
  job.options.fused_kernels = false;
  const Program eager = layer_program(job, 0, false).forward;
  EXPECT_DOUBLE_EQ(moved(eager, "norm 1"), 36.0 * 8192 * 4096);
  EXPECT_GT(launches(eager), fused + 20);
  // torch.compile fuses the first residual with the norm after it: 8 B instead of 6 + 4.
  job.options.compiled = true;
  EXPECT_DOUBLE_EQ(moved(layer_program(job, 0, false).forward, "residual 1 and norm 2"),
                   8.0 * 8192 * 4096);
}

// A unit of 218,112,000 parameters: copy-out 2 + 2 B, copy-in 2 + 4 B per parameter.
TEST(LayerProgram, FullyShardedLayersCopyBetweenBuffers) {
  const ForwardBackward layer = layer_program(test::job_d(), 0, false);
  EXPECT_DOUBLE_EQ(moved(layer.forward, "all-gather copy-out"), 4 * 218'112'000.0);
  EXPECT_DOUBLE_EQ(moved(layer.backward, "all-gather copy-out"), 4 * 218'112'000.0);
  EXPECT_DOUBLE_EQ(moved(layer.backward, "reduce-scatter copy-in"), 6 * 218'112'000.0);
  TrainingJob replicated = test::job_d(Framework::kDdp);
  replicated.sharding = Sharding::kNone;
  replicated.global_batch = 16;
  const ForwardBackward ddp = layer_program(replicated, 0, false);
  EXPECT_DOUBLE_EQ(moved(ddp.forward, "autocast of weights"), 6 * 218'112'000.0);
  EXPECT_DOUBLE_EQ(moved(ddp.backward, "gradient accumulation"), 12 * 218'112'000.0);
}

// GEMM work is shared out by tensor and context parallelism without loss, and backward is twice
// forward.
RC_GTEST_PROP(LayerProgramProperty, GemmWorkIsConserved, ()) {
  TrainingJob job = test::job_a();
  job.sequence_length = 8192;
  job.parallel = ParallelPlan{};
  const double whole = gemm_flops(layer_program(job, 0, false).forward);
  job.parallel.tensor = *rc::gen::element(1, 2, 4, 8);
  job.parallel.context = *rc::gen::element(1, 2, 4);
  job.parallel.sequence_parallel = *rc::gen::arbitrary<bool>();
  const ForwardBackward layer = layer_program(job, 0, false);
  const double ranks = job.parallel.tensor * job.parallel.context;
  RC_ASSERT(gemm_flops(layer.forward) * ranks == whole);
  RC_ASSERT(gemm_flops(layer.backward) == 2 * gemm_flops(layer.forward));
}

}  // namespace
}  // namespace foretrain
