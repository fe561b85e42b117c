// A stable 64-bit hash (FNV-1a over little-endian bytes), the same on every machine and run.
#pragma once

#include <cstdint>
#include <string_view>

namespace foretrain {

class Fingerprint {
 public:
  void add(std::uint64_t value) {
    for (int i = 0; i < 8; ++i) add_byte(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<std::uint8_t>(c));
    add(static_cast<std::uint64_t>(text.size()));
  }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  void add_byte(std::uint8_t byte) { state_ = (state_ ^ byte) * 0x100000001b3ULL; }
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace foretrain
