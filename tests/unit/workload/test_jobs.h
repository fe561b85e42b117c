// Jobs with published shapes, shared by the workload and memory tests.
#pragma once

#include "sim/workload/training_job.h"

namespace foretrain::test {

inline ModelSpec llama(std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                       std::int64_t ffn_hidden, std::int64_t kv_heads = 8) {
  ModelSpec model;
  model.layers = layers;
  model.hidden = hidden;
  model.heads = heads;
  model.kv_heads = kv_heads;
  model.head_dim = 128;
  model.ffn_hidden = ffn_hidden;
  model.vocab = 128256;
  return model;
}
inline ModelSpec llama_3_8b() { return llama(32, 4096, 32, 14336); }
inline ModelSpec llama_3_70b() { return llama(80, 8192, 64, 28672); }
inline ModelSpec llama_3_405b() { return llama(126, 16384, 128, 53248); }

/// GPT with LayerNorm, GELU, biases, tied embeddings and 2048 learned positions.
inline ModelSpec gpt(std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  ModelSpec model;
  model.layers = layers;
  model.hidden = hidden;
  model.heads = model.kv_heads = heads;
  model.head_dim = hidden / heads;
  model.ffn_hidden = 4 * hidden;
  model.vocab = 51200;
  model.activation = Activation::kGelu;
  model.norm = Norm::kLayerNorm;
  model.norm_bias = true;
  model.positions = Positions::kLearned;
  model.learned_position_rows = 2048;
  model.tied_embeddings = true;
  model.qkv_bias = model.attention_output_bias = model.mlp_bias = true;
  return model;
}

/// Llama 3 70B on 1,024 GPUs: t8 p4 D32, sequence parallel, s 8192, B 1024.
inline TrainingJob job_a() {
  TrainingJob job;
  job.model = llama_3_70b();
  job.sequence_length = 8192;
  job.parallel.tensor = 8;
  job.parallel.pipeline = 4;
  job.parallel.data = 32;
  job.parallel.sequence_parallel = true;
  job.global_batch = 1024;
  job.framework = Framework::kMegatronLm;
  job.sharding = Sharding::kOptimizer;
  return job;
}

/// GPT-3 175B on 1,024 GPUs: t8 p16 D8, sequence parallel, s 2048.
inline TrainingJob job_b() {
  TrainingJob job;
  job.model = gpt(96, 12288, 96);
  job.sequence_length = 2048;
  job.parallel.tensor = 8;
  job.parallel.pipeline = 16;
  job.parallel.data = 8;
  job.parallel.sequence_parallel = true;
  job.global_batch = 1536;
  job.framework = Framework::kMegatronLm;
  return job;
}

/// Llama 3 8B, FSDP on 8 GPUs, s 8192.
inline TrainingJob job_d(Framework framework = Framework::kTorchTitan) {
  TrainingJob job;
  job.model = llama_3_8b();
  job.sequence_length = 8192;
  job.parallel.data = 8;
  job.global_batch = 8;
  job.framework = framework;
  job.sharding = Sharding::kParameters;
  job.options.vocab_multiple = 1;
  return job;
}

/// Llama 3 8B, context parallel over 4, s 32768.
inline TrainingJob job_e() {
  TrainingJob job;
  job.model = llama_3_8b();
  job.sequence_length = 32768;
  job.parallel.context = 4;
  job.global_batch = 1;
  job.framework = Framework::kMegatronLm;
  return job;
}

}  // namespace foretrain::test
