// Collectives chunk by chunk on the shared network: the fidelity `chunk`.
#pragma once

#include <vector>

#include "sim/collectives/chunk_schedule.h"
#include "sim/core/units.h"
#include "sim/network/network_model.h"

namespace foretrain {

/// Transfers of one schedule beyond which it is refused: about two seconds and 2 GB.
inline constexpr std::size_t kMostChunkTransfers = 20'000'000;

struct ChunkTime {
  double seconds = 0;    // from the call to the last byte, launch included
  bool finished = true;  // false: a link of capacity 0 is in the way
  std::size_t transfers = 0;
};

/// All schedules begin at once and share the links; the slowest counts. Links of capacity 0 carry
/// nothing.
[[nodiscard]] ChunkTime run_chunks(const std::vector<CommunicationSchedule>& schedules,
                                   const LinkCapacities& capacities);

}  // namespace foretrain
