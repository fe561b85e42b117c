// The weight tensors of a rank, in the order in which its framework registers them.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload/step_program.h"

namespace foretrain {

/// Elements of each tensor of one layer. Megatron: projection, norm, QKV, norm, MLP up, MLP down;
/// others (Hugging Face, torchtitan): Q, K, V, output, gate, up, down, norms. Biases follow their
/// weight inside the same entry.
[[nodiscard]] std::vector<std::int64_t> layer_tensors(const TrainingJob& job, int layer);

/// Embedding side of a chunk (empty if it holds no embedding): table, positions, embedding norm.
[[nodiscard]] std::vector<std::int64_t> embedding_tensors(const TrainingJob& job);
/// Head side: final norm, and the head's weight unless it is the table of the same rank.
[[nodiscard]] std::vector<std::int64_t> head_tensors(const TrainingJob& job,
                                                     const ChunkContents& chunk);

}  // namespace foretrain
