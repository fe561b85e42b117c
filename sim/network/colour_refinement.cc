#include "sim/network/colour_refinement.h"

#include <algorithm>
#include <tuple>

#include "sim/network/hash_mix.h"

namespace foretrain {

bool ColourRefinement::refine(const MaxMinProblem& problem) {
  initial_colours(problem);
  std::size_t count = count_colours(column_colour_);
  while (true) {
    if (2 * count > problem.num_columns()) return false;
    refine_links(problem);
    refine_columns(problem);
    const std::size_t next = count_colours(column_colour_);
    if (next == count) break;
    count = next;
  }
  number_classes(column_colour_, column_class_, first_column_);
  number_classes(link_colour_, link_class_, first_link_);
  build_quotient(problem);
  return true;
}

void ColourRefinement::initial_colours(const MaxMinProblem& problem) {
  column_colour_.resize(problem.num_columns());
  for (std::size_t i = 0; i < problem.num_columns(); ++i) {
    column_colour_[i] =
        mix_pair(mix_pair(mix_pair(1, problem.share[i]), problem.cap[i]), problem.multiplicity[i]);
  }
  link_colour_.resize(problem.num_links());
  for (std::size_t i = 0; i < problem.num_links(); ++i) {
    link_colour_[i] = mix_pair(2, problem.capacity[i]);
  }
}

// Sums of mixed words stand for multisets: addition does not depend on order.
void ColourRefinement::refine_links(const MaxMinProblem& problem) {
  scratch_.assign(problem.num_links(), 0);
  for (std::size_t column = 0; column < problem.num_columns(); ++column) {
    for (std::uint32_t e = problem.begin[column]; e < problem.begin[column + 1]; ++e) {
      scratch_[problem.entry_link[e]] += mix_pair(column_colour_[column], problem.entry_weight[e]);
    }
  }
  for (std::size_t i = 0; i < scratch_.size(); ++i) {
    link_colour_[i] = mix_pair(link_colour_[i], scratch_[i]);
  }
}

void ColourRefinement::refine_columns(const MaxMinProblem& problem) {
  for (std::size_t column = 0; column < problem.num_columns(); ++column) {
    std::uint64_t sum = 0;
    for (std::uint32_t e = problem.begin[column]; e < problem.begin[column + 1]; ++e) {
      sum += mix_pair(link_colour_[problem.entry_link[e]], problem.entry_weight[e]);
    }
    column_colour_[column] = mix_pair(column_colour_[column], sum);
  }
}

std::size_t ColourRefinement::count_colours(const std::vector<std::uint64_t>& colours) {
  scratch_ = colours;
  std::sort(scratch_.begin(), scratch_.end());
  return static_cast<std::size_t>(std::unique(scratch_.begin(), scratch_.end()) - scratch_.begin());
}

void ColourRefinement::number_classes(const std::vector<std::uint64_t>& colours,
                                      std::vector<std::uint32_t>& class_of,
                                      std::vector<std::uint32_t>& first) {
  const auto count = static_cast<std::uint32_t>(colours.size());
  order_.clear();
  for (std::uint32_t i = 0; i < count; ++i) order_.emplace_back(colours[i], i);
  std::sort(order_.begin(), order_.end());
  representative_.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool is_first = i == 0 || order_[i].first != order_[i - 1].first;
    representative_[order_[i].second] =
        is_first ? order_[i].second : representative_[order_[i - 1].second];
  }
  class_of.resize(count);
  first.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (representative_[i] == i) {
      class_of[i] = static_cast<std::uint32_t>(first.size());
      first.push_back(i);
    } else {
      class_of[i] = class_of[representative_[i]];
    }
  }
}

// The first link of each class shows the load that every column class puts on one such link.
void ColourRefinement::build_quotient(const MaxMinProblem& problem) {
  coefficients_.clear();
  for (std::size_t column = 0; column < problem.num_columns(); ++column) {
    for (std::uint32_t e = problem.begin[column]; e < problem.begin[column + 1]; ++e) {
      const std::uint32_t link = problem.entry_link[e];
      const std::uint32_t link_class = link_class_[link];
      if (first_link_[link_class] != link) continue;
      coefficients_.push_back({column_class_[column], link_class, e,
                               problem.multiplicity[column] * problem.entry_weight[e]});
    }
  }
  std::sort(coefficients_.begin(), coefficients_.end(),
            [](const Coefficient& a, const Coefficient& b) {
              return std::tie(a.column_class, a.link_class, a.entry) <
                     std::tie(b.column_class, b.link_class, b.entry);
            });
  quotient_.clear();
  for (const std::uint32_t link : first_link_) quotient_.add_link(problem.capacity[link]);
  std::size_t at = 0;
  for (std::uint32_t column_class = 0; column_class < first_column_.size(); ++column_class) {
    while (at < coefficients_.size() && coefficients_[at].column_class == column_class) {
      const std::uint32_t link_class = coefficients_[at].link_class;
      double load = 0;
      for (; at < coefficients_.size() && coefficients_[at].column_class == column_class &&
             coefficients_[at].link_class == link_class;
           ++at) {
        load += coefficients_[at].load;
      }
      quotient_.add_entry(link_class, load);
    }
    const std::uint32_t column = first_column_[column_class];
    quotient_.end_column(problem.share[column], problem.cap[column], 1);
  }
}

}  // namespace foretrain
