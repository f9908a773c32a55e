#include "crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace millrace {
namespace {

uint32_t Portable(const std::string& s) {
  return ExtendCrc32cPortable(0, s.data(), s.size());
}

// The values are from RFC 3720, appendix B.4.
TEST(Crc32c, GivesThePublishedValues) {
  std::string rising, falling;
  for (int i = 0; i < 32; ++i) {
    rising += static_cast<char>(i);
    falling += static_cast<char>(31 - i);
  }
  const struct {
    std::string data;
    uint32_t want;
  } tests[] = {
      {"", 0},
      {"123456789", 0xe3069283},
      {std::string(32, '\0'), 0x8a9136aa},
      {std::string(32, '\xff'), 0x62a8ab43},
      {rising, 0x46dd794e},
      {falling, 0x113fdb5c},
  };
  for (const auto& test : tests) {
    EXPECT_EQ(Crc32c(test.data.data(), test.data.size()), test.want);
    EXPECT_EQ(Portable(test.data), test.want);
  }
}

// Each length takes another path through lanes, folds and remainders.
TEST(Crc32c, AgreesWithThePortableOneAtEveryLengthAndAlignment) {
  std::mt19937 random(1);
  std::vector<char> data(40000);
  for (char& c : data) c = static_cast<char>(random());
  for (int i = 0; i < 3000; ++i) {
    const size_t n = i < 1000 ? i : random() % 30000;
    const size_t at = random() % 100;
    ASSERT_EQ(Crc32c(&data[at], n), ExtendCrc32cPortable(0, &data[at], n))
        << n << " bytes";
  }
}

TEST(Crc32c, ExtendsOverParts) {
  std::mt19937 random(2);
  std::vector<char> data(20000);
  for (char& c : data) c = static_cast<char>(random());
  const uint32_t whole = Crc32c(data.data(), data.size());
  for (int round = 0; round < 300; ++round) {
    uint32_t crc = 0, portable = 0;
    for (size_t at = 0; at < data.size();) {
      const size_t n = std::min<size_t>(random() % 7000, data.size() - at);
      crc = ExtendCrc32c(crc, &data[at], n);
      portable = ExtendCrc32cPortable(portable, &data[at], n);
      at += n;
    }
    ASSERT_EQ(crc, whole);
    ASSERT_EQ(portable, whole);
  }
}

// The second value is in the header of each empty record.
TEST(MaskCrc, IsTheFormInFiles) {
  EXPECT_EQ(MaskCrc(0), 0xa282ead8u);
  EXPECT_EQ(MaskCrc(Crc32c(std::string(8, '\0').data(), 8)), 0x07980329u);
}

}  // namespace
}  // namespace millrace
