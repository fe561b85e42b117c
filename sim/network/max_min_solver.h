// Weighted max-min fair rates by progressive filling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "sim/network/network_model.h"

namespace foretrain {

/// Levels that differ by less count as equal, so that symmetric activities freeze together although
/// their sums were rounded differently.
inline constexpr double kLevelTolerance = 1e-12;

/// Columns (kinds of activities with a multiplicity) and the links that they touch. Links are
/// numbered as they are added. Filled again for each solve; buffers are kept.
struct MaxMinProblem {
  std::vector<double> capacity;            // bytes per second, by link
  std::vector<double> share;               // by column
  std::vector<double> cap;                 // bytes per second, by column; infinite: none
  std::vector<double> multiplicity;        // identical activities that the column stands for
  std::vector<std::uint32_t> begin = {0};  // of its entries, by column; one more than columns
  std::vector<std::uint32_t> entry_link;
  std::vector<double> entry_weight;

  void clear();
  std::uint32_t add_link(double link_capacity) {
    capacity.push_back(link_capacity);
    return static_cast<std::uint32_t>(capacity.size() - 1);
  }
  /// Adds an entry to the column that the next end_column closes.
  void add_entry(std::uint32_t link, double weight) {
    entry_link.push_back(link);
    entry_weight.push_back(weight);
  }
  void end_column(double column_share, double column_cap, double column_multiplicity);

  [[nodiscard]] std::size_t num_columns() const { return share.size(); }
  [[nodiscard]] std::size_t num_links() const { return capacity.size(); }
};

/// Progressive filling: all rates grow as share * level; a link whose capacity is used up freezes
/// the activities that cross it, a cap freezes its own activity; the rest grow on.
///
/// Links live in a heap keyed by the level at which they saturate; keys only grow, so they are
/// refreshed when they reach the top. A link's level is summed anew, compensated, just before it
/// saturates; all links and caps within kLevelTolerance of the lowest level freeze in one round
/// at one and the same level. Links that a single column uses are folded into a bound on it first.
/// O(E + (L + refreshes) log L) for E entries and L shared links; no allocation once grown.
class MaxMinSolver {
 public:
  /// @param rates  out: bytes per second of one activity of each column.
  /// @pre each column has a link or a finite cap.
  void solve(const MaxMinProblem& problem, std::vector<double>& rates);

 private:
  enum class Key : std::uint8_t { kExact, kApproximate, kStale };
  struct Link {
    double capacity = 0;
    double frozen = 0;  // load of frozen columns
    double claim = 0;   // sum of multiplicity * weight * share of growing columns
    double initial_claim = 0;
    double level = 0;  // key in the heap: exact, or a lower bound
    std::uint32_t growing = 0;
    Key key = Key::kExact;
  };
  struct Entry {
    std::uint32_t column;
    double load;  // multiplicity * weight
  };

  void prepare(const MaxMinProblem& problem, std::vector<double>& rates);
  void index_links(const MaxMinProblem& problem);
  void fill(const MaxMinProblem& problem, std::vector<double>& rates);
  void freeze(const MaxMinProblem& problem, std::uint32_t column, double rate,
              std::vector<double>& rates);
  [[nodiscard]] static double level_below(const Link& link, std::uint32_t degree);
  [[nodiscard]] double exact_level(const MaxMinProblem& problem, std::uint32_t link,
                                   const std::vector<double>& rates) const;
  /// Level of the next link to saturate (it is heap_.front()), or infinity.
  double next_link_level(const MaxMinProblem& problem, const std::vector<double>& rates);
  void pop_link();
  void sift_down(std::size_t position);
  [[nodiscard]] bool is_before(std::uint32_t a, std::uint32_t b) const;

  std::vector<Link> links_;
  std::vector<std::uint32_t> degree_;
  std::vector<std::uint32_t> link_begin_;
  std::vector<Entry> entries_;                            // by link; columns ascend
  std::vector<double> bound_;                             // by column: cap and unshared links
  std::vector<std::pair<double, std::uint32_t>> bounds_;  // (level, column), ascending
  std::vector<std::uint32_t> heap_;
  std::vector<std::uint32_t> saturated_;
  std::size_t growing_ = 0;  // columns not frozen
  double last_level_ = 0;
};

}  // namespace foretrain
