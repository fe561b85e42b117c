// Parameter counts against hand calculations and published values; properties of the formula.
#include "sim/workload/model_spec.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace foretrain {
namespace {

ModelSpec deepseek_v3() {
  ModelSpec model;
  model.layers = 61;
  model.hidden = 7168;
  model.heads = model.kv_heads = 128;
  model.head_dim = 192;
  model.ffn_hidden = 18432;
  model.vocab = 129280;
  model.moe = MoeSpec{.experts = 256,
                      .top_k = 8,
                      .shared_experts = 1,
                      .expert_ffn_hidden = 2048,
                      .first_dense_layers = 3,
                      .router_bias = true};
  model.mla = MlaSpec{.q_lora_rank = 1536,
                      .kv_lora_rank = 512,
                      .qk_nope_head_dim = 128,
                      .qk_rope_head_dim = 64,
                      .v_head_dim = 128};
  return model;
}

// One MTP module of DeepSeek-V3: an MoE layer and 2h^2 + 3h more (arXiv:2412.19437, section 2.2).
TEST(CountParameters, AddsOneMultiTokenPredictionModule) {
  ModelSpec model = deepseek_v3();
  const auto without = count_parameters(model);
  EXPECT_EQ(without.total, 671'026'419'200);
  model.mtp_layers = 1;
  EXPECT_EQ(count_parameters(model).total - without.total, 11'610'068'224);
}

// 58 MoE layers x 256 experts x 3 x 7168 x 2048 leave the routed experts alone.
TEST(CountParameters, CountsRoutedExpertsOfDeepSeekV3) {
  ModelSpec model = deepseek_v3();
  const auto all = count_parameters(model);
  const std::int64_t one_expert = std::int64_t{58} * 3 * 7168 * 2048;
  EXPECT_EQ(256 * one_expert, 653'908'770'816);
  EXPECT_EQ(all.total - all.active, (256 - 8) * one_expert);
}

// Without a query rank the query projection is one matrix h x a (d_n + d_r) = 7168 x 128 x 192 in
// place of the two low-rank ones and their norm, as in DeepSeek-V2-Lite.
TEST(CountParameters, ProjectsQueriesDirectlyWithoutQueryRank) {
  ModelSpec model = deepseek_v3();
  const auto low_rank = count_parameters(model).attention_per_layer;
  model.mla->q_lora_rank = 0;
  const std::int64_t removed = 7168 * 1536 + 1536 + std::int64_t{1536} * 128 * 192;
  EXPECT_EQ(count_parameters(model).attention_per_layer,
            low_rank - removed + std::int64_t{7168} * 128 * 192);
}

// Megatron pads to a multiple of 128 t; GPT-2 and Llama 3 as Megatron-LM prints them.
TEST(PaddedVocab, PadsAsMegatron) {
  EXPECT_EQ(padded_vocab(50257, 128, 1), 50304);
  EXPECT_EQ(padded_vocab(50257, 128, 2), 50432);
  EXPECT_EQ(padded_vocab(50257, 128, 4), 50688);
  EXPECT_EQ(padded_vocab(50257, 128, 8), 51200);
  EXPECT_EQ(padded_vocab(128256, 128, 4), 128512);
  EXPECT_EQ(padded_vocab(128256, 128, 8), 129024);
  EXPECT_EQ(padded_vocab(129280, 128, 1), 129280);
  EXPECT_EQ(padded_vocab(50257, 1, 8), 50257);
}

ModelSpec arbitrary_dense() {
  ModelSpec model;
  model.layers = *rc::gen::inRange<std::int64_t>(1, 100);
  model.heads = *rc::gen::inRange<std::int64_t>(1, 64);
  model.kv_heads = model.heads;
  model.head_dim = *rc::gen::element<std::int64_t>(64, 128);
  model.hidden = model.heads * model.head_dim;
  model.ffn_hidden = 4 * model.hidden;
  model.vocab = *rc::gen::inRange<std::int64_t>(1000, 200'000);
  return model;
}

// A plain dense transformer has 12 L h^2 parameters in its matrices (4 h^2 attention, 8 h^2 MLP);
// RMSNorm weights add (2 L + 1) h (Kaplan et al. 2020, table 1).
RC_GTEST_PROP(CountParameters, DenseTransformerHasTwelveHiddenSquaredPerLayer, ()) {
  ModelSpec model = arbitrary_dense();
  model.activation = Activation::kGelu;
  const std::int64_t h = model.hidden;
  RC_ASSERT(count_parameters(model).non_embedding ==
            12 * model.layers * h * h + (2 * model.layers + 1) * h);
}

// One expert with top-1 is the dense model plus a router of width one.
RC_GTEST_PROP(CountParameters, OneExpertIsDensePlusRouter, ()) {
  ModelSpec model = arbitrary_dense();
  const auto dense = count_parameters(model);
  model.moe = MoeSpec{.experts = 1, .top_k = 1, .expert_ffn_hidden = model.ffn_hidden};
  const auto moe = count_parameters(model);
  RC_ASSERT(moe.total == dense.total + model.layers * model.hidden);
  RC_ASSERT(moe.active == moe.total);
}

// Tying saves exactly one table; grouped queries save two K/V slices per head given up.
RC_GTEST_PROP(CountParameters, TyingAndGroupingSaveWhatTheyShare, ()) {
  ModelSpec model = arbitrary_dense();
  const auto full = count_parameters(model);
  ModelSpec tied = model;
  tied.tied_embeddings = true;
  RC_ASSERT(full.total - count_parameters(tied).total == model.vocab * model.hidden);
  RC_ASSERT(full.non_embedding == count_parameters(tied).non_embedding);
  ModelSpec grouped = model;
  grouped.kv_heads = 1;
  RC_ASSERT(full.attention_per_layer - count_parameters(grouped).attention_per_layer ==
            2 * (model.heads - 1) * model.head_dim * model.hidden);
}

}  // namespace
}  // namespace foretrain
