// The result as people read it on a terminal.
#pragma once

#include <string>

#include "sim/results/run_report.h"

namespace foretrain {

struct TextOptions {
  bool color = false;
  bool all = false;  // every link, collective and operation instead of the top few
};

[[nodiscard]] std::string to_text(const RunReport& report, const TextOptions& options);

/// "1,234,567" – thousands separated, no digits behind the point.
[[nodiscard]] std::string grouped(double value);

}  // namespace foretrain
