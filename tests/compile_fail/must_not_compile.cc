// Mistakes that the types must refuse. CMakeLists.txt compiles this file once per case; case 0 and
// any number beyond the last hold only right uses and must compile.
#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace foretrain {

[[maybe_unused]] void mistakes() {
  const Bytes size = mebibytes(4);
  const DataRate rate = gigabits_per_second(400);
  const SimTime start{};
  const SimDuration span{5};
  const RankId rank{1};
  const LinkId link{1};
  const FlopCount work{1e12};
  const FlopRate speed = teraflops(989);
  const Power power{700};
  const Ratio half = Ratio::of(0.5);
  static_cast<void>(transfer_time(size, rate));
  static_cast<void>(compute_time(work, speed));
  static_cast<void>(start + span);
  static_cast<void>(rank == RankId{2} && link == LinkId{2} && half == half && power == power);
#if FORETRAIN_CASE == 1
  static_cast<void>(size + rate);
#elif FORETRAIN_CASE == 2
  static_cast<void>(start + start);
#elif FORETRAIN_CASE == 3
  static_cast<void>(rank == link);
#elif FORETRAIN_CASE == 4
  static_cast<void>(transfer_time(rate, size));
#elif FORETRAIN_CASE == 5
  const DataRate bare = 400e9;
#elif FORETRAIN_CASE == 6
  const Bytes bare = 4096;
#elif FORETRAIN_CASE == 7
  const SimDuration seconds = 1.5;
#elif FORETRAIN_CASE == 8
  static_cast<void>(work + speed);
#elif FORETRAIN_CASE == 9
  static_cast<void>(compute_time(speed, work));
#elif FORETRAIN_CASE == 10
  static_cast<void>(SimClock::now());
#elif FORETRAIN_CASE == 11
  const Ratio bare{0.5};
#elif FORETRAIN_CASE == 12
  const DataRate bits_or_bytes{400e9};
#elif FORETRAIN_CASE == 13
  const RankId other = 3;
#elif FORETRAIN_CASE == 14
  static_cast<void>(power < speed);
#elif FORETRAIN_CASE == 15
  static_cast<void>(size * size);
#elif FORETRAIN_CASE == 16
  constexpr Ratio too_large = Ratio::of(1.5);
#endif
}

}  // namespace foretrain
