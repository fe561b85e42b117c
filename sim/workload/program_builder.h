// Collects the steps of a program: the operators and collectives that layers, embedding and head
// are made of, with the precision, fusion and overlap rules of the job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/workload/shapes.h"
#include "sim/workload/step_program.h"

namespace foretrain {

/// Bytes per element and kernels of a memory-bound operation, for two-byte elements.
struct ElementCost {
  double read = 0;
  double written = 0;
  int launches = 1;
};

/// A linear layer on one rank. Several `outputs` are separate GEMMs on one input (Q, K, V).
struct LinearLayer {
  std::string name;
  std::vector<std::int64_t> outputs;
  std::int64_t inputs = 0;
  DataType type = DataType::kBf16;
  bool userbuffers = true;  // may be split against its collectives (tensor_overlap)
};

class ProgramBuilder {
 public:
  explicit ProgramBuilder(const TrainingJob& job);

  void compute(std::string name, Operator op, CostKind kind);
  /// A memory-bound step over `elements`; bytes scale with the job's element size.
  void elementwise(std::string name, double elements, ElementCost cost);
  /// A memory-bound step of given bytes.
  void memory(std::string name, MemoryOp op);
  /// Left out if the group has one rank.
  void collective(std::string name, CollectiveOp op, int beside_next = 0, bool pipelined = false);

  /// Column-parallel: the input is gathered (SP) or its gradient reduced over the tensor group.
  void column_forward(const LinearLayer& linear);
  void column_backward(const LinearLayer& linear);
  /// Row-parallel: the output is reduced, or reduced and scattered (SP).
  void row_forward(const LinearLayer& linear);
  void row_backward(const LinearLayer& linear);

  /// Appends another program's steps, marked as recomputation if so asked.
  void append(const Program& program, bool recompute = false);
  [[nodiscard]] Program take();

  [[nodiscard]] const TrainingJob& job() const { return job_; }
  [[nodiscard]] const LocalShapes& shapes() const { return shapes_; }

 private:
  void cast_forward(const LinearLayer& linear);
  void cast_backward(const LinearLayer& linear);
  void gemms(const LinearLayer& linear, const char* direction);
  void tensor_collective(std::string name, CollectiveKind kind, int beside_next, bool pipelined);
  [[nodiscard]] int group_size(GroupKind group) const;

  const TrainingJob& job_;
  LocalShapes shapes_;
  bool sequence_parallel_ = false;
  bool asynchronous_ = false;  // TP collectives of the backward run beside GEMMs
  bool pipelined_ = false;     // userbuffers
  Program program_;
};

}  // namespace foretrain
