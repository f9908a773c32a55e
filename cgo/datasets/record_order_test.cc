#include "record_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace millrace {
namespace {

using Numbers = std::vector<int64_t>;

Numbers Take(RecordOrder* order, int64_t from, int64_t n) {
  Numbers all;
  for (int64_t i = 0; i < n; ++i) all.push_back(order->At(from + i));
  return all;
}

// loaders/permutation/permutation_test.go has the same numbers.
TEST(Permutation, IsThatOfGo) {
  const auto take = [](int64_t n, int64_t seed, int64_t epoch) {
    const Permutation p(n, {seed, epoch});
    Numbers all;
    for (int64_t i = 0; i < 6; ++i) all.push_back(p.At(i));
    return all;
  };
  EXPECT_EQ(take(10, 1, 0), (Numbers{7, 5, 9, 3, 4, 6}));
  EXPECT_EQ(take(1000, -7, 3), (Numbers{340, 981, 605, 807, 328, 291}));
  EXPECT_EQ(take(int64_t{1} << 40, int64_t{1} << 60, 1),
            (Numbers{1028182752312, 730452331397, 78981743391, 547660451849,
                     344141095678, 782741635577}));
}

TEST(Permutation, FindsItsNumbers) {
  for (int64_t n : {1, 2, 255, 256, 257, 1000}) {
    const Permutation p(n, {3, 1, 9});
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(p.Find(p.At(i)), i);
  }
}

// loaders/permutation/order_test.go has the same numbers.
TEST(RecordOrder, IsThatOfGo) {
  OrderSpec blocks;
  blocks.shuffling = Shuffling::kBlock;
  blocks.seed = 7;
  blocks.block = 4;
  blocks.mixed = 9;
  blocks.size = 20;
  blocks.begin = 2;
  blocks.parts = {{100, 30, 0}};
  RecordOrder order(blocks);
  EXPECT_EQ(Take(&order, 15, 10),
            (Numbers{120, 113, 129, 102, 112, 116, 118, 104, 117, 112}));
  OrderSpec mixture;
  mixture.shuffling = Shuffling::kExact;
  mixture.seed = 5;
  mixture.size = 60;
  const int64_t quarter = INT64_MAX / 4;
  mixture.parts = {{0, 50, quarter}, {50, 10, 3 * quarter}, {60, 30, 0}};
  RecordOrder mixed(mixture);
  EXPECT_EQ(Take(&mixed, 55, 10),
            (Numbers{55, 50, 85, 53, 14, 87, 33, 75, 86, 7}));
}

TEST(RecordOrder, TellsWhereAWindowEnds) {
  OrderSpec spec;
  spec.shuffling = Shuffling::kBlock;
  spec.mixed = 10;
  spec.begin = 3;
  spec.size = 40;
  spec.parts = {{0, 100, 0}};
  const RecordOrder order(spec);
  EXPECT_EQ(order.WindowEnd(0), 7);
  EXPECT_EQ(order.WindowEnd(7), 17);
  EXPECT_EQ(order.WindowEnd(45), 47);
}

}  // namespace
}  // namespace millrace
