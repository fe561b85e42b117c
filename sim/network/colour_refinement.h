// Finds columns and links that no max-min allocation can tell apart, and the smaller problem that
// is left when each such class is one column or one link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/network/max_min_solver.h"

namespace foretrain {

/// Colour refinement on the bipartite graph of columns and links.
///
/// Start: a column's colour is (share, cap, multiplicity), a link's its capacity. Each round
/// appends the multiset of (neighbour's colour, weight), until the number of colours stops growing.
/// The partition is then equitable: every link of a class carries the same total weight of each
/// column class, and every column of a class touches the same link classes. By induction over the
/// rounds of progressive filling the rates are equal inside a class and equal those of the quotient
///   for each link class L:  sum over column classes F of a(L, F) * rate(F) <= capacity(L),
/// with a(L, F) = weight of all F on one link of L. Colours are 64-bit hashes: for 10^5 objects two
/// different ones coincide with probability below 10^-9.
/// O(E) per round plus sorting the colours.
/// @source Grohe, Kersting, Mladenov, Selman, "Dimension reduction via colour refinement", ESA
/// 2014.
class ColourRefinement {
 public:
  /// False if the quotient would not be at most half as large as the problem: it is then not built.
  bool refine(const MaxMinProblem& problem);
  [[nodiscard]] const MaxMinProblem& quotient() const { return quotient_; }
  /// Column of the quotient that stands for a column of the problem.
  [[nodiscard]] const std::vector<std::uint32_t>& class_of_column() const { return column_class_; }

 private:
  void initial_colours(const MaxMinProblem& problem);
  void refine_links(const MaxMinProblem& problem);
  void refine_columns(const MaxMinProblem& problem);
  [[nodiscard]] std::size_t count_colours(const std::vector<std::uint64_t>& colours);
  /// Numbers classes by first appearance.
  void number_classes(const std::vector<std::uint64_t>& colours,
                      std::vector<std::uint32_t>& class_of, std::vector<std::uint32_t>& first);
  void build_quotient(const MaxMinProblem& problem);

  struct Coefficient {
    std::uint32_t column_class;
    std::uint32_t link_class;
    std::uint32_t entry;
    double load;
  };

  std::vector<std::uint64_t> column_colour_, link_colour_, scratch_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> order_;
  std::vector<std::uint32_t> column_class_, first_column_, link_class_, first_link_,
      representative_;
  std::vector<Coefficient> coefficients_;
  MaxMinProblem quotient_;
};

}  // namespace foretrain
