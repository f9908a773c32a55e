#include "buffer_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace millrace {
namespace {

using Numbers = std::vector<int64_t>;

Numbers Take(BufferOrder* order, int64_t epoch, int64_t from, int64_t n) {
  Numbers all;
  for (int64_t i = 0; i < n; ++i) all.push_back(order->At(epoch, from + i));
  return all;
}

// The known answer for a key and a counter of 0.
TEST(Philox, GivesTheKnownNumbers) {
  Philox generator(0, 0);
  for (const uint32_t want :
       {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}) {
    EXPECT_EQ(generator.Next(), want);
  }
}

// The expected numbers come from tf.data's datasets: graph/dataset/native
// compares many more.
TEST(BufferOrder, IsThatOfTensorFlow) {
  BufferOrder order({3, 2, 4}, -7, {3, 0, 5, 1, 4});
  EXPECT_EQ(Take(&order, 0, 0, 13),
            (Numbers{8, 4, 9, 5, 7, 10, 6, 3, 11, 1, 2, 12, 0}));
  EXPECT_EQ(Take(&order, 1, 0, 13),
            (Numbers{3, 4, 5, 6, 1, 0, 7, 8, 2, 10, 11, 9, 12}));
  BufferOrder large({9, 5, 100}, (int64_t{1} << 40) + 3, {2, 3});
  EXPECT_EQ(Take(&large, 0, 0, 5), (Numbers{0, 3, 1, 2, 4}));
}

TEST(BufferOrder, IsTheSameFromEveryPosition) {
  BufferOrder order({3, 2, 4}, -7, {3, 0, 5, 1, 4});
  for (const int64_t from : {9, 4, 4, 12, 0}) {
    for (const int64_t epoch : {1, 0}) {
      BufferOrder begun({3, 2, 4}, -7, {3, 0, 5, 1, 4});
      const Numbers all = Take(&begun, epoch, 0, 13);
      EXPECT_EQ(order.At(epoch, from), all[static_cast<size_t>(from)]);
      EXPECT_EQ(Take(&order, epoch, from, 13 - from),
                Numbers(all.begin() + from, all.end()));
    }
  }
}

// Records are announced in their order, piece by piece, and each before it is
// returned.
TEST(BufferOrder, AnnouncesRecords) {
  constexpr int64_t kPiece = 3;
  BufferOrder order({2, 2, 5}, 1, {10, 2, 0, 7});
  std::vector<bool> told(19);
  order.Announce(kPiece, [&](int64_t begin, int64_t end) {
    EXPECT_LT(begin, end);
    EXPECT_LE(end - begin, 2 * kPiece);
    for (int64_t i = begin; i < end; ++i) {
      EXPECT_FALSE(told[static_cast<size_t>(i)]) << i;
      told[static_cast<size_t>(i)] = true;
    }
  });
  for (int64_t i = 0; i < 19; ++i) {
    const int64_t n = order.At(0, i);
    const int64_t last = n < 10   ? 9
                         : n < 12 ? 11
                                  : 18;  // last record of the file of n
    for (int64_t k = n; k <= std::min(n + kPiece, last); ++k) {
      EXPECT_TRUE(told[static_cast<size_t>(k)]) << i << ": " << k;
    }
  }
  EXPECT_EQ(told, std::vector<bool>(19, true));
}

// Each record is returned once, whatever the sizes are.
TEST(BufferOrder, HasEachRecordOnce) {
  for (const int64_t size : {1, 2, 7, 20, 1000}) {
    for (const int64_t files_at_once : {1, 2, 100}) {
      BufferOrder order({size, files_at_once, size}, 5, {4, 0, 0, 9, 1, 0});
      std::vector<bool> seen(14);
      for (const int64_t n : Take(&order, 3, 0, 14)) {
        ASSERT_LT(n, 14);
        seen[static_cast<size_t>(n)] = true;
      }
      EXPECT_EQ(seen, std::vector<bool>(14, true));
    }
  }
}

}  // namespace
}  // namespace millrace
