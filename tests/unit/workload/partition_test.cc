#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <vector>

#include "sim/workload/step_program.h"
#include "tests/unit/workload/test_jobs.h"

namespace foretrain {
namespace {

std::int64_t parameters(const TrainingJob& job, std::size_t rank) {
  std::int64_t sum = 0;
  const auto chunks = assign_layers(job);
  for (const ChunkContents& chunk : chunks.at(rank)) sum += local_parameters(job, chunk);
  return sum;
}

std::vector<int> layer_counts(const TrainingJob& job) {
  std::vector<int> counts;
  for (const auto& chunks : assign_layers(job)) {
    int layers = 0;
    for (const ChunkContents& chunk : chunks) layers += chunk.layers;
    counts.push_back(layers);
  }
  return counts;
}

TrainingJob llama_405b() {
  TrainingJob job = test::job_a();
  job.model = test::llama_3_405b();
  job.parallel.pipeline = 16;
  job.parallel.data = 128;
  job.global_batch = 2048;
  return job;
}

TEST(AssignLayers, EvenIfTheLayersDivide) {
  const auto chunks = assign_layers(test::job_a());
  EXPECT_EQ(layer_counts(test::job_a()), (std::vector<int>{20, 20, 20, 20}));
  EXPECT_TRUE(chunks.front().front().embedding);
  EXPECT_FALSE(chunks.front().front().head);
  EXPECT_TRUE(chunks.back().front().head);
  EXPECT_EQ(chunks[2].front().first_layer, 40);
}

// arXiv:2407.21783 section 3.3.2: one layer fewer on the first and on the last rank; interleaved,
// the first chunk is the embedding alone and the last one the head alone.
TEST(AssignLayers, Llama405bHasOneLayerFewerAtBothEnds) {
  TrainingJob job = llama_405b();
  std::vector<int> expected(16, 8);
  expected.front() = expected.back() = 7;
  EXPECT_EQ(layer_counts(job), expected);
  job.parallel.virtual_stages = 8;
  EXPECT_EQ(layer_counts(job), expected);
  const auto chunks = assign_layers(job);
  EXPECT_EQ(chunks.front().front().layers, 0);
  EXPECT_TRUE(chunks.front().front().embedding);
  EXPECT_EQ(chunks.back().back().layers, 0);
  EXPECT_TRUE(chunks.back().back().head);
  EXPECT_EQ(chunks[1][0].first_layer, 0);
}

RC_GTEST_PROP(AssignLayersProperty, CoversEveryLayerOnceInOrder, ()) {
  TrainingJob job = test::job_a();
  job.parallel.pipeline = *rc::gen::inRange(1, 9);
  job.parallel.virtual_stages = job.parallel.pipeline > 1 ? *rc::gen::inRange(1, 5) : 1;
  const int stages = job.parallel.pipeline * job.parallel.virtual_stages;
  job.model.layers = *rc::gen::inRange(stages, 200);
  const auto chunks = assign_layers(job);
  int next = 0;
  for (int stage = 0; stage < stages; ++stage) {
    const ChunkContents& chunk = chunks[static_cast<std::size_t>(stage % job.parallel.pipeline)]
                                       [static_cast<std::size_t>(stage / job.parallel.pipeline)];
    RC_ASSERT(chunk.first_layer == next);
    RC_ASSERT(chunk.layers >= 0);
    RC_ASSERT(chunk.embedding == (stage == 0));
    RC_ASSERT(chunk.head == (stage == stages - 1));
    next += chunk.layers;
  }
  RC_ASSERT(next == job.model.layers);
}

TEST(LocalParameters, StagesOfLlama70b) {
  const TrainingJob job = test::job_a();
  EXPECT_EQ(parameters(job, 0), 2'271'543'296);
  EXPECT_EQ(parameters(job, 1), 2'139'422'720);
  EXPECT_EQ(parameters(job, 2), 2'139'422'720);
  EXPECT_EQ(parameters(job, 3), 2'271'551'488);
}

TEST(LocalParameters, StagesOfGpt175bWithATiedTableAtBothEnds) {
  const TrainingJob job = test::job_b();
  EXPECT_EQ(parameters(job, 0), 1'463'270'400);
  EXPECT_EQ(parameters(job, 7), 1'359'461'376);
  EXPECT_EQ(parameters(job, 15), 1'438'129'152);
}

TEST(LocalParameters, StagesOfLlama405b) {
  const TrainingJob job = llama_405b();
  EXPECT_EQ(parameters(job, 0), 3'053'682'688);
  EXPECT_EQ(parameters(job, 1), 3'187'933'184);
  EXPECT_EQ(parameters(job, 15), 3'053'699'072);
}

// One rank holds exactly the model: 8,030,261,248, and the tied GPT with V = 51200 174,615,846,912.
TEST(LocalParameters, OneRankHoldsThePublishedCount) {
  EXPECT_EQ(parameters(test::job_d(), 0), 8'030'261'248);
  EXPECT_EQ(layer_parameters_per_rank(test::job_d(), 0), 218'112'000);
  TrainingJob gpt = test::job_b();
  gpt.parallel = ParallelPlan{};
  EXPECT_EQ(parameters(gpt, 0), 174'615'846'912);
}

// MoE and MLA layers are counted too: DeepSeek-V3's attention 187,107,328 and MoE layer
// 11,507,286,272.
TEST(LocalParameters, DeepSeekV3Layers) {
  TrainingJob job;
  job.model = test::llama(61, 7168, 128, 18432, 128);
  job.model.mla = MlaSpec{1536, 512, 128, 64, 128};
  MoeSpec moe;
  moe.experts = 256;
  moe.top_k = 8;
  moe.shared_experts = 1;
  moe.expert_ffn_hidden = 2048;
  moe.first_dense_layers = 3;
  moe.router_bias = true;
  job.model.moe = moe;
  job.sequence_length = 4096;
  job.global_batch = 1;
  EXPECT_EQ(layer_parameters_per_rank(job, 0), 583'483'392);
  EXPECT_EQ(layer_parameters_per_rank(job, 3), 11'507'286'272);
  job.model.vocab = 129280;
  job.options.vocab_multiple = 1;
  EXPECT_DOUBLE_EQ(flops_per_token(job).exact_causal.value(), 250'457'382'912.0);
}

TEST(GradientBuckets, MegatronCutsTheFirstStage) {
  const TrainingJob job = test::job_a();
  const auto chunks = assign_layers(job);
  const auto buckets = gradient_buckets(job, chunks[0][0]);
  ASSERT_EQ(buckets.size(), 40u);
  EXPECT_EQ(buckets[0], 88'080'384);
  EXPECT_EQ(buckets[1], 48'250'880);
  EXPECT_EQ(std::accumulate(buckets.begin(), buckets.end(), std::int64_t{0}), parameters(job, 0));
  EXPECT_EQ(gradient_buckets(job, chunks[1][0]).size(), 1u);
  TrainingJob late = job;
  late.options.overlap_grad_reduce = false;
  EXPECT_EQ(gradient_buckets(late, chunks[0][0]).size(), 1u);
}

TEST(GradientBuckets, DeepSpeedFlushesBeforePassingItsLimit) {
  TrainingJob job = test::job_d(Framework::kDeepSpeed);
  job.sharding = Sharding::kGradients;
  job.options.bucket_parameters = 500'000'000;
  const auto buckets = gradient_buckets(job, assign_layers(job)[0][0]);
  ASSERT_EQ(buckets.size(), 17u);
  EXPECT_EQ(buckets[0], 525'336'576);
  EXPECT_EQ(buckets[1], 494'956'544);
  EXPECT_EQ(buckets.back(), 525'336'576);
}

TEST(GradientBuckets, FullyShardedUnitsAreLayersAndEnds) {
  const TrainingJob job = test::job_d();
  const auto units = gradient_buckets(job, assign_layers(job)[0][0]);
  ASSERT_EQ(units.size(), 34u);
  EXPECT_EQ(2 * units.front(), 1'050'681'344);
  EXPECT_EQ(2 * units[1], 436'224'000);
  EXPECT_EQ(2 * units.back(), 1'050'673'152);
}

TEST(GradientBuckets, DistributedDataParallelStartsWithASmallBucket) {
  TrainingJob job = test::job_d(Framework::kDdp);
  job.sharding = Sharding::kNone;
  job.options.bucket_parameters = (25 << 20) / 4;
  const auto buckets = gradient_buckets(job, assign_layers(job)[0][0]);
  EXPECT_EQ(buckets.front(), 525'336'576);  // the head alone passes 1 MiB
  EXPECT_EQ(std::accumulate(buckets.begin(), buckets.end(), std::int64_t{0}), 8'030'261'248);
}

TEST(PipelineMessage, IsCutByTheTensorGroupUnderSequenceParallelism) {
  EXPECT_EQ(pipeline_message_bytes(test::job_a()).count(), 16'777'216);
  EXPECT_EQ(pipeline_message_bytes(test::job_b()).count(), 6'291'456);
  TrainingJob whole = test::job_b();
  whole.parallel.sequence_parallel = false;
  EXPECT_EQ(pipeline_message_bytes(whole).count(), 50'331'648);
}

// Megatron counts s/2 pairs, the exact form (s+1)/2: they differ by 6 L q_w per token.
TEST(FlopsPerToken, AgreesWithPublishedConventions) {
  const double a = flops_per_token(test::job_a()).exact_causal.value();
  EXPECT_DOUBLE_EQ(a - 6.0 * 80 * 8192, 449'260'290'048.0);
  const FlopsPerToken d = flops_per_token(test::job_d());
  EXPECT_DOUBLE_EQ(d.exact_causal.value() - 6.0 * 32 * 4096, 51'470'401'536.0);
  // torchtitan's figure counts norm weights as if they were matrices.
  EXPECT_DOUBLE_EQ(d.full_attention.value() + 6.0 * (65 * 4096), 57'914'449'920.0);
  EXPECT_DOUBLE_EQ(d.hardware.value(), d.exact_causal.value());
}

TEST(FlopsPerToken, FullRecomputationAddsAThirdExceptForTheHead) {
  TrainingJob job = test::job_d();
  job.recompute = RecomputeMode::kFull;
  const FlopsPerToken flops = flops_per_token(job);
  const double head = 6.0 * 4096 * 128256;
  EXPECT_NEAR(flops.hardware.value() - flops.exact_causal.value(),
              (flops.exact_causal.value() - head) / 3, 1.0);
}

}  // namespace
}  // namespace foretrain
