#include "sim/execution/planner.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "sim/core/contracts.h"
#include "sim/execution/chunk_time.h"
#include "sim/execution/comm_patterns.h"

namespace foretrain {

void ExecutionPlan::check() const {
  std::vector<int> arrivals(ops.size(), 0);
  for (const Actor& actor : actors) {
    for (const Instruction& instruction : actor.program) {
      const std::size_t limit =
          instruction.kind == InstructionKind::kCompute ? segments.size() : ops.size();
      FORETRAIN_ASSERT(
          instruction.index >= 0 && static_cast<std::size_t>(instruction.index) < limit,
          "instruction refers to something that exists");
      if (instruction.kind == InstructionKind::kStart)
        ++arrivals[static_cast<std::size_t>(instruction.index)];
    }
  }
  for (std::size_t i = 0; i < ops.size(); ++i) {
    FORETRAIN_ASSERT(arrivals[i] >= ops[i].needed, "every transfer gets the arrivals it needs");
  }
}

namespace {

GroupFamily family_of(GroupKind kind) {
  switch (kind) {
    case GroupKind::kTensor: return GroupFamily::kTensor;
    case GroupKind::kContext: return GroupFamily::kContext;
    default: return GroupFamily::kDataContext;
  }
}

/// Instances of a template: where each lane or group runs, and its ranks.
struct TemplateInstances {
  int base = 0;  // first op
  int count = 1;
  int pattern_class = -1;
};

class Planner {
 public:
  explicit Planner(const PlanInputs& inputs) : in_(inputs), job_(inputs.job), layout_(inputs.job) {
    const auto links = in_.topology.links();
    capacities_.reserve(links.size());
    for (std::size_t l = 0; l < links.size(); ++l) {
      const double speed = in_.link_speed.empty() ? 1.0 : in_.link_speed[l];
      capacities_.push_back(links[l].bandwidth * speed);
    }
    lanes_ = layout_.world_size() / job_.parallel.pipeline;
  }

  PlannedStep plan() {
    UnitCoster coster{in_.compute, job_.options, in_.interference,
                      [this](const CollectiveOp& op) { return inline_cost(op); }};
    const bool sharded = job_.sharding == Sharding::kParameters && job_.parallel.pipeline == 1;
    result_.step = sharded ? sharded_template(job_, coster) : pipeline_template(job_, coster);
    build_classes();
    const bool healthy = in_.gpu_speed.empty();
    const bool symmetric =
        healthy && (in_.contention ? is_symmetric(classes_, capacities_) : alike(classes_));
    std::int64_t unfolded = 0;
    for (const auto& program : result_.step.programs) {
      unfolded += static_cast<std::int64_t>(program.size()) * lanes_;
    }
    const bool fold =
        in_.fold && (symmetric || (healthy && unfolded > in_.max_unfolded_instructions));
    result_.plan.folded = fold;
    result_.plan.fold_exact = symmetric || !fold;
    instantiate(fold);
    result_.plan.check();
    summarize_groups();
    return std::move(result_);
  }

 private:
  [[nodiscard]] const TransferTemplate& transfer(std::size_t i) const {
    return result_.step.transfers[i];
  }

  // ---- groups ----

  const RankGroups& groups(GroupFamily family) {
    auto [entry, inserted] = groups_.try_emplace(family);
    if (inserted) entry->second = make_groups(layout_, job_, family);
    return entry->second;
  }
  [[nodiscard]] RankId rank_of(int pipeline_rank, int lane) const {
    const ParallelPlan& plan = job_.parallel;
    RankCoordinates at;
    at.tensor = lane % plan.tensor;
    at.context = lane / plan.tensor % plan.context;
    at.data = lane / plan.tensor / plan.context;
    at.pipeline = pipeline_rank;
    return layout_.rank(at);
  }
  /// Group numbers of a family within one pipeline rank, in the order of their first lane.
  const std::vector<int>& groups_of_stage(GroupFamily family, int stage) {
    auto [entry, inserted] = stage_groups_.try_emplace({family, stage});
    if (!inserted) return entry->second;
    const RankGroups& all = groups(family);
    std::vector<bool> seen(all.groups.size(), false);
    for (int lane = 0; lane < lanes_; ++lane) {
      const int number = all.group_of_rank[rank_of(stage, lane).position()];
      if (seen[static_cast<std::size_t>(number)]) continue;
      seen[static_cast<std::size_t>(number)] = true;
      entry->second.push_back(number);
    }
    return entry->second;
  }
  [[nodiscard]] ProcessGroup process_group(const std::vector<RankId>& ranks) const {
    ProcessGroup group;
    for (const RankId rank : ranks) group.gpus.push_back(in_.topology.gpu(rank.index()));
    return group;
  }

  // ---- lowering ----

  RawPattern lower(CollectiveKind kind, Bytes size, const std::vector<RankId>& ranks) const {
    RawPattern pattern;
    if (ranks.size() < 2) return pattern;
    LoweredCollective lowered = in_.collectives.lower(
        kind, size, process_group(ranks), static_cast<std::uint64_t>(ranks.front().index()));
    pattern.usage = std::move(lowered.usage);
    pattern.work_bytes = lowered.work_bytes;
    pattern.rate_cap = lowered.rate_cap;
    pattern.latency = lowered.latency;
    pattern.choice = lowered.choice;
    return pattern;
  }

  RawPattern lower_message(Bytes size, RankId from, RankId to) const {
    RawPattern pattern = lower(CollectiveKind::kSendRecv, size, {from, to});
    const auto label = static_cast<std::uint64_t>(from.index()) * 1'000'003U +
                       static_cast<std::uint64_t>(to.index());
    pattern.usage =
        in_.router.route(in_.topology.gpu(from.index()), in_.topology.gpu(to.index()), label).links;
    pattern.work_bytes = size.as_double();
    return pattern;
  }

  /// Groups of one family all at once, alone on the machine: seconds of the slowest.
  InlineCollective inline_cost(const CollectiveOp& op) {
    const auto key = std::tuple{op.kind, op.group, op.size.count()};
    const auto found = inline_.find(key);
    if (found != inline_.end()) return found->second;
    InlineCollective cost;
    const RankGroups& all = groups(family_of(op.group));
    const int per_node = in_.topology.gpus_per_node();
    const bool in_node = std::all_of(all.groups.begin(), all.groups.end(), [&](const auto& group) {
      return stays_in_node(group, per_node);
    });
    constexpr std::size_t kMostGroups = 256;  // beyond, neighbours repeat
    PatternClass together;
    std::vector<const std::vector<RankId>*> members;
    for (const auto& group : all.groups) {
      if (in_node && group.front().index() >= per_node) break;
      if (together.instances.size() >= kMostGroups) break;
      together.instances.push_back(lower(op.kind, op.size, group));
      members.push_back(&group);
    }
    const bool chunked = in_.by_chunk && all.groups.front().size() > 1;
    cost.seconds = chunked ? chunk_seconds(op.kind, op.size, members) : slowest_seconds(together);
    const RawPattern& first = together.instances.front();
    const auto ranks = static_cast<int>(all.groups.front().size());
    if (ranks > 1) cost.channels = first.choice.channels;
    inline_.emplace(key, cost);
    if (ranks > 1) {
      note_use(op.group == GroupKind::kTensor ? "tensor" : "context", op.kind,
               {{}, op.size, ranks, first.choice, cost.seconds});
    }
    return cost;
  }

  /// Bytes of work per second of a transfer alone, by its cap and capacities; 0: no bound. Links
  /// between switches count only with contention: what bounds one transfer there are collisions of
  /// its own flows.
  [[nodiscard]] double alone_rate(const RawPattern& pattern) const {
    double rate = pattern.rate_cap.bytes_per_second();
    for (const LinkShare& use : pattern.usage) {
      if (!in_.contention && in_.topology.link(use.link).tier == LinkTier::kInterSwitch) continue;
      const double limit = capacities_[use.link.position()].bytes_per_second() / use.share;
      if (rate <= 0 || limit < rate) rate = limit;
    }
    return rate;
  }

  [[nodiscard]] double slowest_alone_seconds(const PatternClass& together) const {
    double slowest = 0;
    for (const RawPattern& pattern : together.instances) {
      if (pattern.work_bytes <= 0) continue;
      slowest =
          std::max(slowest, to_seconds(pattern.latency) + pattern.work_bytes / alone_rate(pattern));
    }
    return slowest;
  }

  /// What the groups' collectives take chunk by chunk, all at once; if that cannot be said, it is a
  /// problem of the plan.
  double chunk_seconds(CollectiveKind kind, Bytes size,
                       const std::vector<const std::vector<RankId>*>& all) {
    std::vector<CommunicationSchedule> schedules;
    std::size_t left = kMostChunkTransfers;
    for (const std::vector<RankId>* ranks : all) {
      Result<CommunicationSchedule> schedule =
          in_.collectives.schedule(kind, size, process_group(*ranks),
                                   static_cast<std::uint64_t>(ranks->front().index()), left);
      if (!schedule) {
        if (result_.problems.empty()) result_.problems = schedule.error();
        return 1;
      }
      left -= schedule->size();
      schedules.push_back(std::move(*schedule));
    }
    const ChunkTime time = run_chunks(schedules, capacities_);
    result_.chunk_transfers += time.transfers;
    if (!time.finished && result_.problems.empty()) {
      result_.problems.push_back({Severity::kError,
                                  {},
                                  "cluster.faults",
                                  "a link that carries nothing cuts off a collective",
                                  {}});
    }
    return time.seconds;
  }

  /// Stretches the groups' fluid transfers to the time of their chunks: latency and work alike, so
  /// that what else is on the links counts as before. Bytes on links grow by as much.
  void pace(PatternClass& pattern_class, double seconds) const {
    const double fluid = slowest_seconds(pattern_class);
    if (fluid <= 0) return;
    for (RawPattern& pattern : pattern_class.instances) {
      pattern.latency = duration_from_seconds(to_seconds(pattern.latency) * seconds / fluid);
      pattern.work_bytes *= seconds / fluid;
    }
  }

  [[nodiscard]] double slowest_seconds(const PatternClass& together) const {
    if (!in_.contention) return slowest_alone_seconds(together);
    std::vector<std::vector<LinkShare>> usages;
    for (const RawPattern& pattern : together.instances) usages.push_back(pattern.usage);
    const CompressedLinks links = compress_links(usages, capacities_);
    std::vector<ActivitySpec> activities;
    for (std::size_t i = 0; i < together.instances.size(); ++i) {
      ActivitySpec spec;
      spec.usage = links.patterns[i].usage;
      spec.work_bytes = together.instances[i].work_bytes;
      spec.rate_cap = together.instances[i].rate_cap;
      activities.push_back(std::move(spec));
    }
    const std::vector<DataRate> rates = max_min_rates(links.capacities, activities);
    double slowest = 0;
    for (std::size_t i = 0; i < activities.size(); ++i) {
      if (activities[i].work_bytes <= 0) continue;
      slowest = std::max(slowest, to_seconds(together.instances[i].latency) +
                                      activities[i].work_bytes / rates[i].bytes_per_second());
    }
    return slowest;
  }

  /// Keeps the largest call of each purpose.
  void note_use(const std::string& family, CollectiveKind kind, PlannedStep::CollectiveUse use) {
    use.purpose = family + " " + std::string{to_string(kind)};
    for (auto& known : result_.collectives) {
      if (known.purpose != use.purpose) continue;
      if (known.size < use.size) known = std::move(use);
      return;
    }
    result_.collectives.push_back(std::move(use));
  }

  // ---- classes ----

  void build_classes() {
    instances_.resize(result_.step.transfers.size());
    for (std::size_t i = 0; i < result_.step.transfers.size(); ++i) {
      const TransferTemplate& t = transfer(i);
      TemplateInstances& instances = instances_[i];
      if (t.scope == TransferScope::kBarrier) continue;
      const auto key = std::tuple{t.scope, t.from, t.to, t.collective, t.family, t.size.count()};
      const auto found = class_of_.find(key);
      if (found != class_of_.end()) {
        instances.pattern_class = found->second;
      } else {
        instances.pattern_class = static_cast<int>(classes_.size());
        class_of_.emplace(key, instances.pattern_class);
        classes_.push_back(make_class(t));
      }
      instances.count = static_cast<int>(
          classes_[static_cast<std::size_t>(instances.pattern_class)].instances.size());
    }
  }

  PatternClass make_class(const TransferTemplate& t) {
    PatternClass result;
    if (t.scope == TransferScope::kGroup) {
      const RankGroups& all = groups(t.family);
      std::vector<const std::vector<RankId>*> members;
      for (const int number : groups_of_stage(t.family, t.from)) {
        members.push_back(&all.groups[static_cast<std::size_t>(number)]);
        result.instances.push_back(lower(t.collective, t.size, *members.back()));
      }
      if (in_.by_chunk && members.front()->size() > 1)
        pace(result, chunk_seconds(t.collective, t.size, members));
      const auto& ranks =
          all.groups[static_cast<std::size_t>(groups_of_stage(t.family, t.from).front())];
      if (ranks.size() > 1) {
        note_use("data", t.collective,
                 {{},
                  t.size,
                  static_cast<int>(ranks.size()),
                  result.instances.front().choice,
                  slowest_seconds(result)});
      }
      if (t.overlapped) {
        for (RawPattern& pattern : result.instances) slow_down(pattern);
      }
      if (!in_.contention) cap_alone(result);
      return result;
    }
    for (int lane = 0; lane < lanes_; ++lane) {
      const RankId from = rank_of(t.from, lane), to = rank_of(t.to, lane);
      result.instances.push_back(t.scope == TransferScope::kPipeline
                                     ? lower_message(t.size, from, to)
                                     : lower(t.collective, t.size, {from, to}));
    }
    if (!in_.contention) cap_alone(result);
    return result;
  }

  /// The rate alone becomes the cap; the plan's links then bound nothing (make_patterns).
  void cap_alone(PatternClass& pattern_class) const {
    for (RawPattern& pattern : pattern_class.instances) {
      pattern.rate_cap = DataRate::from_bytes_per_second(alone_rate(pattern));
    }
  }

  /// Beside computation a collective runs slower by gamma; as its rate cap when alone.
  void slow_down(RawPattern& pattern) const {
    const double rate = alone_rate(pattern);
    if (rate <= 0) return;
    pattern.rate_cap =
        DataRate::from_bytes_per_second(rate / in_.interference.communication_slowdown);
  }

  // ---- instantiation ----

  void instantiate(bool folded) {
    ExecutionPlan& plan = result_.plan;
    plan.segments = result_.step.segments;
    make_patterns(folded);
    make_actors(folded);
    make_ops(folded);
    make_programs(folded);
    plan.groups = std::move(op_groups_);
  }

  void make_patterns(bool folded) {
    std::vector<std::vector<LinkShare>> usages;
    for (PatternClass& pattern_class : classes_) {
      first_pattern_.push_back(static_cast<int>(usages.size()));
      if (folded) pattern_class.instances = {unite(pattern_class)};
      for (const RawPattern& instance : pattern_class.instances) usages.push_back(instance.usage);
    }
    CompressedLinks links = compress_links(usages, capacities_);
    result_.plan.patterns = std::move(links.patterns);
    result_.plan.capacities = std::move(links.capacities);
    if (!in_.contention) {
      // Links only count bytes: each transfer's cap already holds what they let it have alone.
      for (DataRate& capacity : result_.plan.capacities) {
        capacity = DataRate::from_bytes_per_second(std::numeric_limits<double>::max() / 16);
      }
    }
    result_.plan.link_class = std::move(links.members);
  }

  void make_actors(bool folded) {
    const int per_stage = folded ? 1 : lanes_;
    for (int p = 0; p < job_.parallel.pipeline; ++p) {
      for (int lane = 0; lane < per_stage; ++lane) {
        Actor actor;
        actor.pipeline_rank = p;
        actor.speed = folded || in_.gpu_speed.empty() ? 1.0 : lockstep_speed(p, lane);
        result_.plan.actors.push_back(std::move(actor));
      }
    }
  }

  /// Tensor-parallel ranks advance together: the slowest GPU of the group sets the pace.
  double lockstep_speed(int p, int lane) {
    const RankId rank = rank_of(p, lane);
    const RankGroups& tensor = groups(GroupFamily::kTensor);
    double speed = 1;
    for (const RankId member :
         tensor.groups[static_cast<std::size_t>(tensor.group_of_rank[rank.position()])]) {
      speed = std::min(speed, in_.gpu_speed[member.position()]);
    }
    return speed;
  }

  [[nodiscard]] int actor_of(int p, int lane, bool folded) const {
    return folded ? p : p * lanes_ + lane;
  }

  int group_index(std::vector<int> members) {
    const auto [entry, inserted] =
        known_groups_.try_emplace(members, static_cast<int>(op_groups_.size()));
    if (inserted) op_groups_.push_back(std::move(members));
    return entry->second;
  }

  void make_ops(bool folded) {
    for (std::size_t i = 0; i < instances_.size(); ++i) {
      TemplateInstances& instances = instances_[i];
      if (folded) instances.count = 1;
      instances.base = static_cast<int>(result_.plan.ops.size());
      for (int n = 0; n < instances.count; ++n) result_.plan.ops.push_back(make_op(i, n, folded));
      order_after(i, folded);
    }
  }

  /// Ops of the template that this one follows come first, rank by rank.
  void order_after(std::size_t i, bool folded) {
    const TransferTemplate& t = transfer(i);
    if (t.after < 0) return;
    const auto before = static_cast<std::size_t>(t.after);
    if (folded || transfer(before).family == t.family) {
      for (int n = 0; n < instances_[i].count; ++n) {
        result_.plan.order.emplace_back(instances_[before].base + n, instances_[i].base + n);
      }
      return;
    }
    std::set<std::pair<int, int>> edges;
    for (int lane = 0; lane < lanes_; ++lane) {
      edges.emplace(op_for(t.after, t.from, lane, false),
                    op_for(static_cast<int>(i), t.from, lane, false));
    }
    result_.plan.order.insert(result_.plan.order.end(), edges.begin(), edges.end());
  }

  CommOp make_op(std::size_t i, int instance, bool folded) {
    const TransferTemplate& t = transfer(i);
    const TemplateInstances& instances = instances_[i];
    CommOp op;
    op.kind = t.kind;
    std::vector<int> members = members_of(t, instance, folded);
    op.needed =
        t.scope == TransferScope::kPipeline && !t.rendezvous ? 1 : static_cast<int>(members.size());
    op.group = group_index(std::move(members));
    if (t.scope == TransferScope::kBarrier) {
      int levels = 0;
      while ((1 << levels) < layout_.world_size()) ++levels;
      op.latency = duration_from_seconds(in_.interference.barrier_seconds_per_level * levels);
      return op;
    }
    const auto at = static_cast<std::size_t>(instances.pattern_class);
    const RawPattern& pattern = classes_[at].instances[static_cast<std::size_t>(instance)];
    op.pattern = first_pattern_[at] + instance;
    op.work_bytes = pattern.work_bytes;
    op.rate_cap = pattern.rate_cap;
    op.latency = pattern.latency;
    if (t.overlapped && pattern.work_bytes > 0) {
      const int sms = std::min(pattern.choice.channels, in_.interference.max_sms);
      op.compute_slowdown = static_cast<float>(
          std::max(in_.compute.gemm_slowdown(sms), in_.interference.memory_slowdown));
    }
    return op;
  }

  std::vector<int> members_of(const TransferTemplate& t, int instance, bool folded) {
    std::vector<int> members;
    if (t.scope == TransferScope::kBarrier) {
      for (std::size_t a = 0; a < result_.plan.actors.size(); ++a)
        members.push_back(static_cast<int>(a));
      return members;
    }
    if (t.scope != TransferScope::kGroup) {
      members = {actor_of(t.from, instance, folded), actor_of(t.to, instance, folded)};
      return members;
    }
    if (folded) return {actor_of(t.from, 0, true)};
    const int number = groups_of_stage(t.family, t.from)[static_cast<std::size_t>(instance)];
    for (const RankId rank : groups(t.family).groups[static_cast<std::size_t>(number)]) {
      members.push_back(actor_of(t.from, lane_of(rank), false));
    }
    std::sort(members.begin(), members.end());
    return members;
  }

  [[nodiscard]] int lane_of(RankId rank) const {
    const RankCoordinates at = layout_.coordinates(rank);
    return at.tensor + job_.parallel.tensor * (at.context + job_.parallel.context * at.data);
  }

  /// The op of a template that a lane of a stage takes part in.
  int op_for(int transfer_index, int p, int lane, bool folded) {
    const TransferTemplate& t = transfer(static_cast<std::size_t>(transfer_index));
    const int base = instances_[static_cast<std::size_t>(transfer_index)].base;
    if (folded || t.scope == TransferScope::kBarrier) return base;
    if (t.scope != TransferScope::kGroup) return base + lane;
    auto [entry, inserted] = local_group_.try_emplace({t.family, p});
    if (inserted) {
      const auto& numbers = groups_of_stage(t.family, p);
      entry->second.resize(static_cast<std::size_t>(lanes_));
      std::map<int, int> position;
      for (std::size_t n = 0; n < numbers.size(); ++n) position[numbers[n]] = static_cast<int>(n);
      for (int l = 0; l < lanes_; ++l) {
        entry->second[static_cast<std::size_t>(l)] =
            position.at(groups(t.family).group_of_rank[rank_of(p, l).position()]);
      }
    }
    return base + entry->second[static_cast<std::size_t>(lane)];
  }

  void make_programs(bool folded) {
    const int per_stage = folded ? 1 : lanes_;
    for (int p = 0; p < job_.parallel.pipeline; ++p) {
      const auto& source = result_.step.programs[static_cast<std::size_t>(p)];
      for (int lane = 0; lane < per_stage; ++lane) {
        auto& program =
            result_.plan.actors[static_cast<std::size_t>(actor_of(p, lane, folded))].program;
        program.reserve(source.size());
        for (const Instruction& instruction : source) {
          Instruction bound = instruction;
          if (instruction.kind != InstructionKind::kCompute) {
            bound.index = op_for(instruction.index, p, lane, folded);
          }
          program.push_back(bound);
        }
      }
    }
  }

  void summarize_groups() {
    const auto add = [&](const char* name, GroupFamily family) {
      const RankGroups& all = groups(family);
      GroupSummary summary;
      summary.name = name;
      summary.size = static_cast<int>(all.groups.front().size());
      summary.groups = static_cast<int>(all.groups.size());
      const bool in_node = std::all_of(
          all.groups.begin(), all.groups.end(),
          [&](const auto& group) { return stays_in_node(group, in_.topology.gpus_per_node()); });
      summary.crosses = summary.size == 1 ? "gpu" : (in_node ? "node" : "fabric");
      result_.groups.push_back(summary);
    };
    add("tensor", GroupFamily::kTensor);
    add("context", GroupFamily::kContext);
    GroupSummary pipeline;
    pipeline.name = "pipeline";
    pipeline.size = job_.parallel.pipeline;
    pipeline.groups = lanes_;
    const int reach = job_.parallel.pipeline > 1 ? rank_of(1, 0).index() : 0;
    const bool in_node = layout_.world_size() <= in_.topology.gpus_per_node();
    pipeline.crosses = reach == 0 ? "gpu" : (in_node ? "node" : "fabric");
    result_.groups.push_back(pipeline);
    add("data", GroupFamily::kDataContext);
  }

  const PlanInputs& in_;
  const TrainingJob& job_;
  RankLayout layout_;
  int lanes_ = 1;
  LinkCapacities capacities_;
  PlannedStep result_;
  std::map<GroupFamily, RankGroups> groups_;
  std::map<std::pair<GroupFamily, int>, std::vector<int>> stage_groups_;
  std::map<std::pair<GroupFamily, int>, std::vector<int>> local_group_;
  std::map<std::tuple<CollectiveKind, GroupKind, std::int64_t>, InlineCollective> inline_;
  std::map<std::tuple<TransferScope, int, int, CollectiveKind, GroupFamily, std::int64_t>, int>
      class_of_;
  std::vector<PatternClass> classes_;
  std::vector<TemplateInstances> instances_;
  std::vector<int> first_pattern_;
  std::vector<std::vector<int>> op_groups_;
  std::map<std::vector<int>, int> known_groups_;
};

}  // namespace

PlannedStep plan_execution(const PlanInputs& inputs) { return Planner{inputs}.plan(); }

}  // namespace foretrain
