#include <fmt/format.h>

#include <cmath>

#include "sim/results/json_writer.h"
#include "sim/run/simulate.h"

namespace foretrain {
namespace {

std::string number_text(double value) { return fmt::format("{:.6g}", value); }

void check_number(const Expectation& expectation, double actual, ExpectationResult& result) {
  result.actual = number_text(actual);
  result.holds = true;
  if (expectation.value) {
    result.numeric = true;
    result.expected = fmt::format("{} within {:.3g} %", number_text(*expectation.value),
                                  expectation.within * 100);
    const double scale = std::abs(*expectation.value);
    result.relative_error = scale > 0 ? (actual - *expectation.value) / scale : actual;
    result.holds = std::abs(result.relative_error) <= expectation.within;
  }
  if (expectation.at_least) {
    result.expected += fmt::format("{}at least {}", result.expected.empty() ? "" : ", ",
                                   number_text(*expectation.at_least));
    result.holds = result.holds && actual >= *expectation.at_least;
  }
  if (expectation.at_most) {
    result.expected += fmt::format("{}at most {}", result.expected.empty() ? "" : ", ",
                                   number_text(*expectation.at_most));
    result.holds = result.holds && actual <= *expectation.at_most;
  }
  if (expectation.text) {
    result.expected = *expectation.text;
    result.holds = *expectation.text == result.actual;
  }
}

}  // namespace

void check_expectations(const Scenario& scenario, RunReport& report) {
  const MetricLookup lookup{report};
  for (const Expectation& expectation : scenario.expect) {
    ExpectationResult result;
    result.metric = expectation.metric;
    const std::optional<MetricValue> found = lookup.find(expectation.metric);
    if (!found) {
      const std::string nearest = nearest_name(expectation.metric, lookup.paths());
      result.expected = "a metric of the result";
      result.actual = nearest.empty() ? "no such metric" : "no such metric; meant " + nearest + "?";
    } else if (found->number) {
      check_number(expectation, *found->number, result);
    } else {
      result.expected = expectation.text.value_or("a number");
      result.actual = *found->text;
      result.holds = expectation.text && *expectation.text == *found->text;
    }
    report.expectations.push_back(std::move(result));
  }
}

}  // namespace foretrain
