#include "sim/core/random_stream.h"

#include <Random123/philox.h>

#include "sim/core/contracts.h"

namespace foretrain {

std::uint64_t RandomStream::bits(std::uint64_t entity, std::uint64_t index) const {
  r123::Philox4x32 generator;
  const r123::Philox4x32::ctr_type counter{
      {static_cast<std::uint32_t>(entity), static_cast<std::uint32_t>(entity >> 32),
       static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32)}};
  // The purpose is mixed into the high key word, so that two purposes of one seed share no draw.
  const r123::Philox4x32::key_type key{{static_cast<std::uint32_t>(seed_),
                                        static_cast<std::uint32_t>(seed_ >> 32) ^
                                            (static_cast<std::uint32_t>(purpose_) * 0x9E3779B9U)}};
  const auto words = generator(counter, key);
  return (static_cast<std::uint64_t>(words[1]) << 32) | words[0];
}

double RandomStream::uniform(std::uint64_t entity, std::uint64_t index) const {
  return static_cast<double>(bits(entity, index) >> 11) * 0x1.0p-53;
}

std::uint64_t RandomStream::below(std::uint64_t bound, std::uint64_t entity,
                                  std::uint64_t index) const {
  FORETRAIN_EXPECTS(bound > 0, "bound must be positive");
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(bits(entity, index)) * bound) >> 64);
}

}  // namespace foretrain
