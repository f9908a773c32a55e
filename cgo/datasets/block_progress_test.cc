#include "block_progress.h"

#include <gtest/gtest.h>

#include <vector>

namespace millrace {
namespace {

// Delivered blocks are not wanted again, and the first one that is missing is
// next.
TEST(BlockProgressTest, Deliver) {
  BlockProgress p(10, 30, {});
  EXPECT_EQ(p.Next(), 3);
  EXPECT_FALSE(p.Wanted(2));
  p.Deliver(4);
  p.Deliver(7);
  EXPECT_EQ(p.Next(), 3);
  EXPECT_EQ(p.Frontier(), 8);
  EXPECT_EQ(p.Ahead(), 2);
  EXPECT_FALSE(p.Wanted(4));
  EXPECT_TRUE(p.Wanted(5));
  p.Deliver(3);
  EXPECT_EQ(p.Next(), 5);
  EXPECT_EQ(p.Ahead(), 1);
  p.Deliver(5);
  p.Deliver(6);
  EXPECT_EQ(p.Next(), 8);
  EXPECT_EQ(p.Ahead(), 0);
}

// A run that continues has the missing rows alone: here of the blocks 0 and 2,
// and from the middle of block 4 on.
TEST(BlockProgressTest, Continue) {
  const std::vector<RowRange> parts = {{2, 4}, {7, 9}, {20, 30}};
  BlockProgress p(10, 45, parts);
  EXPECT_EQ(p.Next(), 0);
  EXPECT_FALSE(p.Wanted(1));
  EXPECT_TRUE(p.Wanted(2));
  EXPECT_FALSE(p.Wanted(3));
  EXPECT_EQ(p.Ahead(), 2);
  EXPECT_EQ(p.Rows(0), (std::vector<RowRange>{{2, 4}, {7, 9}}));
  EXPECT_EQ(p.Rows(2), (std::vector<RowRange>{{0, 10}}));
  EXPECT_EQ(p.Rows(4), (std::vector<RowRange>{{5, 10}}));
  EXPECT_EQ(p.Rows(5), (std::vector<RowRange>{{0, 10}}));
}

// The last of the missing rows may be in the block of the start.
TEST(BlockProgressTest, SameBlock) {
  const BlockProgress p(10, 45, {{40, 43}});
  EXPECT_EQ(p.Next(), 4);
  EXPECT_EQ(p.Rows(4), (std::vector<RowRange>{{0, 3}, {5, 10}}));
}

}  // namespace
}  // namespace millrace
