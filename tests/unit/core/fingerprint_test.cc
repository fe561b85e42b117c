#include "sim/core/fingerprint.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <string>

namespace foretrain {
namespace {

// FNV-1a written down a second time, byte by byte, as its authors define it.
std::uint64_t fnv_1a(const std::string& bytes) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : bytes) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  return hash;
}

std::string little_endian(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

// Known answers of Fowler, Noll and Vo's own test suite.
TEST(Fingerprint, KnownAnswersOfFnv1a) {
  EXPECT_EQ(fnv_1a(""), 0xcbf29ce484222325ULL);
  EXPECT_EQ(fnv_1a("a"), 0xaf63dc4c8601ec8cULL);
  EXPECT_EQ(fnv_1a("foobar"), 0x85944171f73967e8ULL);
  EXPECT_EQ(Fingerprint{}.value(), fnv_1a(""));
}

RC_GTEST_PROP(Fingerprint, NumbersAreLittleEndianBytes, (std::uint64_t value)) {
  Fingerprint fingerprint;
  fingerprint.add(value);
  RC_ASSERT(fingerprint.value() == fnv_1a(little_endian(value)));
}

RC_GTEST_PROP(Fingerprint, TextsAreBytesAndLength, (const std::string& text)) {
  Fingerprint fingerprint;
  fingerprint.add(text);
  RC_ASSERT(fingerprint.value() == fnv_1a(text + little_endian(text.size())));
}

// The length keeps "ab" + "c" apart from "a" + "bc".
TEST(Fingerprint, BordersBetweenTextsCount) {
  Fingerprint one;
  one.add("ab");
  one.add("c");
  Fingerprint two;
  two.add("a");
  two.add("bc");
  EXPECT_NE(one.value(), two.value());
}

}  // namespace
}  // namespace foretrain
