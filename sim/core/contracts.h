// Always-on contracts. A violated contract is a defect of foretrain, never a user's mistake: it
// prints the condition and the place, and aborts (the process ends by signal).
#pragma once

namespace foretrain {

/// Prints `kind`, `condition`, `message` and the place to stderr and aborts.
[[noreturn]] void contract_violation(const char* kind, const char* condition, const char* message,
                                     const char* file, int line) noexcept;

}  // namespace foretrain

#define FORETRAIN_CONTRACT_(kind, condition, message) \
  (static_cast<bool>(condition)                       \
       ? static_cast<void>(0)                         \
       : ::foretrain::contract_violation(kind, #condition, message, __FILE__, __LINE__))

#define FORETRAIN_EXPECTS(condition, message) \
  FORETRAIN_CONTRACT_("precondition", condition, message)
#define FORETRAIN_ENSURES(condition, message) \
  FORETRAIN_CONTRACT_("postcondition", condition, message)
#define FORETRAIN_ASSERT(condition, message) FORETRAIN_CONTRACT_("invariant", condition, message)
