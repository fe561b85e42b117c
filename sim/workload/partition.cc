// Who holds which layers, how many parameters that makes, and in which pieces gradients travel.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "sim/core/contracts.h"
#include "sim/workload/parameter_tensors.h"
#include "sim/workload/shapes.h"
#include "sim/workload/step_program.h"

namespace foretrain {
namespace {

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

/// Layers of each of `chunks` chunks in model order. If they do not divide, embedding and head
/// weigh one layer each, and layers left over go to the chunks after the first.
std::vector<int> layers_per_chunk(int layers, int chunks) {
  std::vector<int> counts(static_cast<std::size_t>(chunks), layers / chunks);
  if (layers % chunks == 0) return counts;
  FORETRAIN_EXPECTS(layers + 2 >= chunks, "more pipeline chunks than layers");
  const int base = (layers + 2) / chunks;
  int left = (layers + 2) % chunks;
  std::fill(counts.begin(), counts.end(), base);
  counts.front() -= 1;
  counts.back() -= 1;
  for (std::size_t i = 1; left > 0; ++i, --left) counts[i % counts.size()] += 1;
  return counts;
}

/// Closes a bucket at the first tensor that makes it reach the limit (Megatron-LM, PyTorch DDP).
/// `first_limit` serves for the first bucket.
std::vector<std::int64_t> fill_until_reached(const std::vector<std::int64_t>& tensors,
                                             std::int64_t first_limit, std::int64_t limit) {
  std::vector<std::int64_t> buckets;
  std::int64_t open = 0;
  for (const std::int64_t tensor : tensors) {
    open += tensor;
    if (open >= (buckets.empty() ? first_limit : limit)) {
      buckets.push_back(open);
      open = 0;
    }
  }
  if (open > 0) buckets.push_back(open);
  return buckets;
}

/// Closes a bucket before the tensor that would pass the limit; a larger tensor stands alone
/// (DeepSpeed).
std::vector<std::int64_t> fill_below(const std::vector<std::int64_t>& tensors, std::int64_t limit) {
  std::vector<std::int64_t> buckets;
  std::int64_t open = 0;
  for (const std::int64_t tensor : tensors) {
    if (open > 0 && open + tensor > limit) {
      buckets.push_back(open);
      open = 0;
    }
    open += tensor;
  }
  if (open > 0) buckets.push_back(open);
  return buckets;
}

/// Tensors of a chunk in the order in which its backward makes their gradients.
std::vector<std::int64_t> tensors_backward(const TrainingJob& job, const ChunkContents& chunk) {
  std::vector<std::int64_t> tensors;
  const auto append = [&](const std::vector<std::int64_t>& more) {
    tensors.insert(tensors.end(), more.begin(), more.end());
  };
  if (chunk.embedding) append(embedding_tensors(job));
  for (int i = 0; i < chunk.layers; ++i) append(layer_tensors(job, chunk.first_layer + i));
  if (chunk.head) append(head_tensors(job, chunk));
  std::reverse(tensors.begin(), tensors.end());
  return tensors;
}

/// FSDP: [norm, head], each layer, embedding; one unit for both ends if the table is shared.
std::vector<std::int64_t> unit_gradients(const TrainingJob& job, const ChunkContents& chunk) {
  std::vector<std::int64_t> units;
  if (chunk.head) units.push_back(sum(head_tensors(job, chunk)));
  for (int i = chunk.layers - 1; i >= 0; --i) {
    units.push_back(layer_parameters_per_rank(job, chunk.first_layer + i));
  }
  if (chunk.embedding) units.push_back(sum(embedding_tensors(job)));
  return units;
}

}  // namespace

std::vector<std::vector<ChunkContents>> assign_layers(const TrainingJob& job) {
  const int stages = job.parallel.pipeline;
  const int chunks = job.parallel.virtual_stages;
  const std::vector<int> counts =
      layers_per_chunk(static_cast<int>(job.model.layers), stages * chunks);
  std::vector<std::vector<ChunkContents>> contents(
      static_cast<std::size_t>(stages),
      std::vector<ChunkContents>(static_cast<std::size_t>(chunks)));
  int first = 0;
  for (int stage = 0; stage < stages * chunks; ++stage) {
    ChunkContents& chunk = contents[static_cast<std::size_t>(stage % stages)]
                                   [static_cast<std::size_t>(stage / stages)];
    chunk.first_layer = first;
    chunk.layers = counts[static_cast<std::size_t>(stage)];
    chunk.embedding = stage == 0;
    chunk.head = stage == stages * chunks - 1;
    first += chunk.layers;
  }
  return contents;
}

std::int64_t layer_parameters_per_rank(const TrainingJob& job, int layer) {
  return sum(layer_tensors(job, layer));
}

std::int64_t local_parameters(const TrainingJob& job, const ChunkContents& chunk) {
  return sum(tensors_backward(job, chunk));
}

std::vector<std::int64_t> gradient_buckets(const TrainingJob& job, const ChunkContents& chunk) {
  if (is_fully_sharded(job) && job.framework != Framework::kDeepSpeed)
    return unit_gradients(job, chunk);
  const std::vector<std::int64_t> tensors = tensors_backward(job, chunk);
  const std::int64_t limit = job.options.bucket_parameters;
  if (job.framework == Framework::kDeepSpeed) return fill_below(tensors, limit);
  if (job.framework == Framework::kMegatronLm || job.framework == Framework::kNone) {
    // Megatron cuts only the first stage's first chunk into buckets: later stages reduce at the end
    // of their own backward, in the pipeline's bubble.
    if (!job.options.overlap_grad_reduce || !chunk.embedding) return {sum(tensors)};
    const std::int64_t ranks = static_cast<std::int64_t>(job.parallel.data) * job.parallel.context;
    const std::int64_t reached = std::max(limit, 1'000'000 * ranks);
    return fill_until_reached(tensors, reached, reached);
  }
  // PyTorch DDP: the first bucket is 1 MiB, so that reduction starts early.
  const std::int64_t first = std::min<std::int64_t>((1 << 20) / job.options.gradient_bytes, limit);
  return fill_until_reached(tensors, first, limit);
}

Bytes pipeline_message_bytes(const TrainingJob& job) {
  const LocalShapes shapes = local_shapes(job);
  const double elements =
      static_cast<double>(shapes.region_tokens) * static_cast<double>(shapes.hidden);
  return Bytes{std::llround(shapes.element_bytes * elements)};
}

}  // namespace foretrain
