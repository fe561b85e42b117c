#include "sim/core/contracts.h"

#include <cstdio>
#include <cstdlib>

namespace foretrain {

void contract_violation(const char* kind, const char* condition, const char* message,
                        const char* file, int line) noexcept {
  std::fprintf(stderr, "foretrain: %s violated: %s (%s) at %s:%d\n", kind, message, condition, file,
               line);
  std::abort();
}

}  // namespace foretrain
