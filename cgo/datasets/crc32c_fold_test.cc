#include "crc32c_fold.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "crc32c.h"

namespace millrace {
namespace {

TEST(FoldCrc32c, TakesWholeBlocksAndLeavesTheRest) {
  if (!CanFoldCrc32c()) GTEST_SKIP() << "this processor cannot fold";
  std::mt19937 random(1);
  std::vector<uint8_t> data(5000);
  for (uint8_t& b : data) b = static_cast<uint8_t>(random());
  for (size_t size = 0; size < data.size(); size += 1 + random() % 9) {
    const auto begin = static_cast<uint32_t>(random());
    const uint8_t* p = data.data();
    size_t left = size;
    const uint32_t folded = ~FoldCrc32c(~begin, &p, &left);
    ASSERT_LT(left, 256u);
    ASSERT_EQ(p + left, data.data() + size);
    ASSERT_EQ(folded, ExtendCrc32cPortable(begin, data.data(), size - left));
  }
}

}  // namespace
}  // namespace millrace
