#include "sequence_order.h"

#include <gtest/gtest.h>

#include <vector>

namespace millrace {
namespace {

using Order = std::vector<int64_t>;

// The first numbers of Go's rand.NewPCG(1, 2).
TEST(SequenceOrder, DrawsAsGoDoes) {
  Pcg draws(1, 2);
  EXPECT_EQ(draws.Next(), 0xc4f5a58656eef510u);
  EXPECT_EQ(draws.Next(), 0x9dcec3ad077dec6cu);
}

TEST(SequenceOrder, SortsStably) {
  const int32_t frames[] = {3, 1, 3, 2, 1};
  EXPECT_EQ(Arrange({Ordering::kDefault}, 5, nullptr, 0),
            (Order{0, 1, 2, 3, 4}));
  EXPECT_EQ(Arrange({Ordering::kReverse}, 5, nullptr, 0),
            (Order{4, 3, 2, 1, 0}));
  EXPECT_EQ(Arrange({Ordering::kSorted}, 5, frames, 0), (Order{1, 4, 3, 0, 2}));
  EXPECT_EQ(Arrange({Ordering::kSortedReverse}, 5, frames, 0),
            (Order{0, 2, 3, 1, 4}));
}

TEST(SequenceOrder, SortsWithinBins) {
  std::vector<int32_t> frames;
  for (int32_t i = 0; i < 20; ++i) frames.push_back(i * 7 % 20);
  const Order order =
      Arrange({Ordering::kLaplace, 3, 11}, 20, frames.data(), 1);
  EXPECT_NE(order, Arrange({Ordering::kLaplace, 3, 11}, 20, frames.data(), 2));
  Order sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(sorted[i], i);
  for (int64_t i = 1; i < 20; ++i) {
    if (i == 6 || i == 13) continue;  // where bins begin
    const bool grows = i < 6 || i > 13;
    EXPECT_EQ(frames[order[i - 1]] < frames[order[i]], grows) << i;
  }
}

// A mixture draws from its parts. Each part comes in its order, and in another
// one when it begins again.
TEST(SequenceOrder, MixesParts) {
  const std::vector<MixedPart> parts = {{{0, 4, INT64_MAX / 2}, 0},
                                        {{4, 3, INT64_MAX}, 0}};
  const Order order = Mix({Ordering::kDefault, 0, 5}, parts, 40, nullptr, 2);
  std::vector<int64_t> taken(2);
  for (int64_t at = 0; at < 40; ++at) {
    const size_t part =
        DrawPart(5, {parts[0].sequences, parts[1].sequences}, at);
    const OrderPart& of = parts[part].sequences;
    EXPECT_EQ(order[at], of.first + taken[part]++ % of.records) << at;
  }
  EXPECT_GT(taken[0], 10);
  EXPECT_GT(taken[1], 10);
  const Order drawn = Mix({Ordering::kRandom, 0, 5}, parts, 40, nullptr, 2);
  EXPECT_NE(drawn, Mix({Ordering::kRandom, 0, 5}, parts, 40, nullptr, 3));
  Order first, second;
  for (const int64_t number : drawn) {
    if (number < 4) (first.size() < 4 ? first : second).push_back(number);
  }
  EXPECT_EQ(first, Arrange({Ordering::kRandom, 0, 5}, 4, nullptr, 2));
  second.resize(4);
  EXPECT_EQ(second,
            Arrange({Ordering::kRandom, 0, 5}, 4, nullptr, PassOf(2, 1)));
}

TEST(SequenceOrder, DividesInParts) {
  EXPECT_EQ(BeginOf(10, 4, 0), 0);
  EXPECT_EQ(BeginOf(10, 4, 1), 3);
  EXPECT_EQ(BeginOf(10, 4, 2), 6);
  EXPECT_EQ(BeginOf(10, 4, 3), 8);
  EXPECT_EQ(BeginOf(10, 4, 4), 10);
}

}  // namespace
}  // namespace millrace
