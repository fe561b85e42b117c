#include "sim/network/max_min_solver.h"

#include <algorithm>
#include <cmath>

#include "sim/core/contracts.h"

namespace foretrain {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kGrowing = -1;  // rate of a column that is not frozen yet

}  // namespace

void MaxMinProblem::clear() {
  capacity.clear();
  share.clear();
  cap.clear();
  multiplicity.clear();
  begin.resize(1);
  entry_link.clear();
  entry_weight.clear();
}

void MaxMinProblem::end_column(double column_share, double column_cap, double column_multiplicity) {
  begin.push_back(static_cast<std::uint32_t>(entry_link.size()));
  share.push_back(column_share);
  cap.push_back(column_cap);
  multiplicity.push_back(column_multiplicity);
}

void MaxMinSolver::solve(const MaxMinProblem& problem, std::vector<double>& rates) {
  prepare(problem, rates);
  if (growing_ > 0) fill(problem, rates);
}

// Splits off what needs no filling: a link that one column uses is only a bound on its rate.
void MaxMinSolver::prepare(const MaxMinProblem& problem, std::vector<double>& rates) {
  const std::size_t columns = problem.num_columns();
  degree_.assign(problem.num_links(), 0);
  for (const std::uint32_t link : problem.entry_link) ++degree_[link];
  rates.assign(columns, kGrowing);
  bound_.assign(columns, kInfinity);
  bounds_.clear();
  growing_ = 0;
  for (std::uint32_t column = 0; column < columns; ++column) {
    double bound = problem.cap[column];
    bool shared = false;
    for (std::uint32_t e = problem.begin[column]; e < problem.begin[column + 1]; ++e) {
      const std::uint32_t link = problem.entry_link[e];
      if (degree_[link] > 1) {
        shared = true;
        continue;
      }
      const double load = problem.multiplicity[column] * problem.entry_weight[e];
      bound = std::min(bound, problem.capacity[link] / load);
    }
    bound_[column] = bound;
    if (!shared) {
      FORETRAIN_ASSERT(bound < kInfinity, "activity without links needs a rate cap");
      rates[column] = bound;
      continue;
    }
    ++growing_;
    if (bound < kInfinity) bounds_.emplace_back(bound / problem.share[column], column);
  }
  if (growing_ == 0) return;
  std::sort(bounds_.begin(), bounds_.end());
  index_links(problem);
}

// Entries by link, in column order, so that sums do not depend on how activities arrived.
void MaxMinSolver::index_links(const MaxMinProblem& problem) {
  const std::size_t num_links = problem.num_links();
  links_.assign(num_links, Link{});
  link_begin_.assign(num_links + 1, 0);
  for (std::size_t link = 0; link < num_links; ++link) {
    link_begin_[link + 1] = link_begin_[link] + (degree_[link] > 1 ? degree_[link] : 0);
    links_[link].capacity = problem.capacity[link];
  }
  entries_.resize(link_begin_[num_links]);
  for (std::uint32_t column = 0; column < problem.num_columns(); ++column) {
    for (std::uint32_t e = problem.begin[column]; e < problem.begin[column + 1]; ++e) {
      const std::uint32_t index = problem.entry_link[e];
      if (degree_[index] < 2) continue;
      Link& link = links_[index];
      const double load = problem.multiplicity[column] * problem.entry_weight[e];
      entries_[link_begin_[index] + link.growing] = {column, load};
      ++link.growing;
      link.claim += load * problem.share[column];
    }
  }
  heap_.clear();
  for (std::uint32_t index = 0; index < num_links; ++index) {
    Link& link = links_[index];
    if (link.growing == 0) continue;
    link.initial_claim = link.claim;
    link.level = link.capacity / link.claim;
    heap_.push_back(index);
  }
  for (std::size_t i = heap_.size() / 2; i-- > 0;) sift_down(i);
}

void MaxMinSolver::fill(const MaxMinProblem& problem, std::vector<double>& rates) {
  last_level_ = 0;
  std::size_t next_bound = 0;
  while (growing_ > 0) {
    while (next_bound < bounds_.size() && rates[bounds_[next_bound].second] != kGrowing)
      ++next_bound;
    const double bound_level = next_bound < bounds_.size() ? bounds_[next_bound].first : kInfinity;
    const double level = std::min(bound_level, next_link_level(problem, rates));
    FORETRAIN_ASSERT(level < kInfinity, "a growing activity must meet a link or a cap");
    last_level_ = std::max(last_level_, level);
    const double limit = level * (1 + kLevelTolerance);
    // All that saturates now is found before anything freezes: freezing leaves tied links with
    // differences of nearly equal sums.
    saturated_.clear();
    while (next_link_level(problem, rates) <= limit) {
      saturated_.push_back(heap_.front());
      pop_link();
    }
    for (; next_bound < bounds_.size() && bounds_[next_bound].first <= limit; ++next_bound) {
      const std::uint32_t column = bounds_[next_bound].second;
      if (rates[column] == kGrowing) freeze(problem, column, bound_[column], rates);
    }
    for (const std::uint32_t link : saturated_) {
      for (std::uint32_t e = link_begin_[link]; e < link_begin_[link + 1]; ++e) {
        const std::uint32_t column = entries_[e].column;
        if (rates[column] != kGrowing) continue;
        freeze(problem, column, std::min(bound_[column], problem.share[column] * level), rates);
      }
    }
  }
}

void MaxMinSolver::freeze(const MaxMinProblem& problem, std::uint32_t column, double rate,
                          std::vector<double>& rates) {
  rates[column] = rate;
  --growing_;
  for (std::uint32_t e = problem.begin[column]; e < problem.begin[column + 1]; ++e) {
    Link& link = links_[problem.entry_link[e]];
    if (link.growing == 0) continue;
    const double load = problem.multiplicity[column] * problem.entry_weight[e];
    --link.growing;
    link.frozen += load * rate;
    link.claim -= load * problem.share[column];
    link.key = Key::kStale;
  }
}

// Sums with compensation (Neumaier): the difference of capacity and frozen load may be a thousand
// times smaller than either, and ties must survive that.
double MaxMinSolver::exact_level(const MaxMinProblem& problem, std::uint32_t link,
                                 const std::vector<double>& rates) const {
  double left = links_[link].capacity;
  double correction = 0;
  double claim = 0;
  for (std::uint32_t e = link_begin_[link]; e < link_begin_[link + 1]; ++e) {
    const Entry& entry = entries_[e];
    const double rate = rates[entry.column];
    if (rate == kGrowing) {
      claim += entry.load * problem.share[entry.column];
      continue;
    }
    const double term = -entry.load * rate;
    const double sum = left + term;
    correction += std::abs(left) >= std::abs(term) ? (left - sum) + term : (term - sum) + left;
    left = sum;
  }
  return std::max(last_level_, (left + correction) / claim);
}

// A lower bound from the running sums: what repeated adding and subtracting may have lost is taken
// off, so that no link can saturate unnoticed below its key.
double MaxMinSolver::level_below(const Link& link, std::uint32_t degree) {
  const double error = std::numeric_limits<double>::epsilon() * (degree + 8.0);
  return (link.capacity - link.frozen - error * link.capacity) /
         (link.claim + error * link.initial_claim);
}

double MaxMinSolver::next_link_level(const MaxMinProblem& problem,
                                     const std::vector<double>& rates) {
  while (!heap_.empty()) {
    const std::uint32_t top = heap_.front();
    Link& link = links_[top];
    if (link.growing == 0) {
      pop_link();
      continue;
    }
    if (link.key == Key::kExact) return link.level;
    if (link.key == Key::kStale) {
      link.level = std::max(last_level_, level_below(link, degree_[top]));
      link.key = Key::kApproximate;
    } else {
      link.level = exact_level(problem, top, rates);
      link.key = Key::kExact;
    }
    sift_down(0);
  }
  return kInfinity;
}

void MaxMinSolver::pop_link() {
  heap_.front() = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sift_down(0);
}

bool MaxMinSolver::is_before(std::uint32_t a, std::uint32_t b) const {
  return links_[a].level < links_[b].level || (links_[a].level == links_[b].level && a < b);
}

void MaxMinSolver::sift_down(std::size_t position) {
  const std::uint32_t link = heap_[position];
  while (true) {
    std::size_t child = 2 * position + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && is_before(heap_[child + 1], heap_[child])) ++child;
    if (!is_before(heap_[child], link)) break;
    heap_[position] = heap_[child];
    position = child;
  }
  heap_[position] = link;
}

}  // namespace foretrain
