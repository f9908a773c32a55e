#include "window_plan.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <utility>
#include <vector>

namespace millrace {
namespace {

struct Range {
  int64_t epoch, file, begin, size;
  bool operator==(const Range& o) const {
    return epoch == o.epoch && file == o.file && begin == o.begin &&
           size == o.size;
  }
};

void PrintTo(const Range& r, std::ostream* out) {
  *out << "epoch " << r.epoch << " file " << r.file << " [" << r.begin << ", "
       << r.begin + r.size << ")";
}

// All returns the windows up to a number of them.
std::vector<Range> All(const WindowRules& rules, size_t most = 1000) {
  std::vector<Range> all;
  WindowPosition at;
  Window w;
  while (all.size() < most && NextWindow(rules, &at, &w)) {
    all.push_back({w.epoch, w.file, w.begin, w.size});
  }
  return all;
}

WindowRules Fixed(int64_t size, std::vector<int64_t> sizes) {
  WindowRules rules;
  rules.min = rules.max = size;
  rules.sizes = std::move(sizes);
  return rules;
}

TEST(NextWindow, FollowOneAnotherAndDropTheTail) {
  const std::vector<Range> want = {{0, 0, 0, 3}, {0, 0, 3, 3}, {0, 2, 0, 3}};
  EXPECT_EQ(All(Fixed(3, {8, 2, 3})), want);
}

TEST(NextWindow, OverlapOrLeaveGapsByTheStride) {
  WindowRules rules = Fixed(3, {7});
  rules.stride = 2;
  EXPECT_EQ(All(rules),
            (std::vector<Range>{{0, 0, 0, 3}, {0, 0, 2, 3}, {0, 0, 4, 3}}));
  rules.stride = 4;
  EXPECT_EQ(All(rules), (std::vector<Range>{{0, 0, 0, 3}, {0, 0, 4, 3}}));
  rules.stride = 100;
  EXPECT_EQ(All(rules), (std::vector<Range>{{0, 0, 0, 3}}));
}

TEST(NextWindow, PadATail) {
  WindowRules rules = Fixed(3, {7, 0, 1});
  rules.pad_tail = true;
  EXPECT_EQ(All(rules),
            (std::vector<Range>{
                {0, 0, 0, 3}, {0, 0, 3, 3}, {0, 0, 6, 3}, {0, 2, 0, 3}}));
  WindowPosition at;
  std::vector<int64_t> padding;
  for (Window w; NextWindow(rules, &at, &w);) padding.push_back(w.padding);
  EXPECT_EQ(padding, (std::vector<int64_t>{0, 0, 2, 2}));
  rules.sizes = {0};
  EXPECT_FALSE(HasWindows(rules));
}

TEST(NextWindow, PadOverlappingWindowsOnce) {
  WindowRules rules = Fixed(4, {5});
  rules.pad_tail = true;
  rules.stride = 1;
  EXPECT_EQ(All(rules),
            (std::vector<Range>{{0, 0, 0, 4}, {0, 0, 1, 4}, {0, 0, 2, 4}}));
}

TEST(NextWindow, KeepATailOfAtLeastMin) {
  WindowRules rules;
  rules.min = 2;
  rules.max = 5;
  rules.keep_tail = true;
  rules.sizes = {17, 1, 0, 2, 40};
  rules.epochs = 3;
  const std::vector<Range> all = All(rules);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    for (int64_t file = 0; file < 5; ++file) {
      int64_t end = 0;
      for (const Range& r : all) {
        if (r.epoch != epoch || r.file != file) continue;
        EXPECT_EQ(r.begin, end);
        EXPECT_GE(r.size, 2);
        EXPECT_LE(r.size, 5);
        end += r.size;
      }
      // Fewer than min positions are left, and none of a file too short.
      EXPECT_LE(end, rules.sizes[file]);
      EXPECT_LT(rules.sizes[file] - end, 2) << "file " << file;
    }
  }
}

TEST(NextWindow, EndWithTheEpochs) {
  WindowRules rules = Fixed(4, {4});
  rules.epochs = 0;
  EXPECT_EQ(All(rules), std::vector<Range>{});
  rules.epochs = 2;
  EXPECT_EQ(All(rules), (std::vector<Range>{{0, 0, 0, 4}, {1, 0, 0, 4}}));
  rules.epochs = -1;
  EXPECT_EQ(All(rules, 7).back(), (Range{6, 0, 0, 4}));
}

TEST(NextWindow, EndIfNoFileIsLongEnough) {
  for (const int64_t epochs : {int64_t{1}, INT64_MAX, int64_t{-1}}) {
    WindowRules rules = Fixed(5, {4, 0});
    rules.epochs = epochs;
    EXPECT_FALSE(HasWindows(rules));
    EXPECT_EQ(All(rules), std::vector<Range>{});
  }
  EXPECT_FALSE(HasWindows(Fixed(1, {})));
  EXPECT_TRUE(HasWindows(Fixed(4, {1, 4})));
}

TEST(NextWindow, GoOnFromAPosition) {
  WindowRules rules;
  rules.min = 1;
  rules.max = 9;
  rules.seed = 5;
  rules.sizes = {50, 30};
  rules.epochs = 2;
  const std::vector<Range> all = All(rules);
  for (size_t begin = 0; begin < all.size(); ++begin) {
    WindowPosition at;
    Window w;
    for (size_t i = 0; i < begin; ++i) NextWindow(rules, &at, &w);
    const WindowPosition saved = at;
    at = saved;
    for (size_t i = begin; i < all.size(); ++i) {
      ASSERT_TRUE(NextWindow(rules, &at, &w));
      ASSERT_EQ((Range{w.epoch, w.file, w.begin, w.size}), all[i]);
    }
    EXPECT_FALSE(NextWindow(rules, &at, &w));
  }
}

// The words are the known answers that Random123 publishes for Philox with a
// counter and a key of zeros.
TEST(DrawnSize, IsPhilox) {
  WindowRules rules;
  rules.min = 1;
  rules.max = int64_t{1} << 31;
  EXPECT_EQ(DrawnSize(rules, {0, 0, 0, 0}), 1 + (0x6627e8d5 & INT32_MAX));
  EXPECT_EQ(DrawnSize(rules, {0, 0, 0, 1}),
            1 + static_cast<int64_t>(0xbc57ac4c & INT32_MAX));
}

TEST(DrawnSize, DependsOnSeedEpochFileAndOrdinalAlone) {
  WindowRules rules;
  rules.min = 10;
  rules.max = 1000000;
  rules.seed = 7;
  const WindowPosition at{3, 4, 0, 5};
  const int64_t drawn = DrawnSize(rules, at);
  WindowRules later = rules;
  later.first_epoch = 3;
  later.first_file = 4;
  EXPECT_EQ(DrawnSize(later, {0, 0, 99, 5}), drawn);
  later.seed = 8;
  EXPECT_NE(DrawnSize(later, {0, 0, 99, 5}), drawn);
  EXPECT_NE(DrawnSize(rules, {3, 4, 0, 6}), drawn);
  EXPECT_NE(DrawnSize(rules, {3, 5, 0, 5}), drawn);
  EXPECT_NE(DrawnSize(rules, {4, 4, 0, 5}), drawn);
}

TEST(DrawnSize, ReachesEachSizeAboutAsOften) {
  WindowRules rules;
  rules.min = 3;
  rules.max = 7;
  std::vector<int> counts(5);
  for (int64_t i = 0; i < 5000; ++i) {
    ++counts.at(DrawnSize(rules, {0, 0, 0, i}) - 3);
  }
  for (int count : counts) EXPECT_NEAR(count, 1000, 150);
  rules.min = 7;
  EXPECT_EQ(DrawnSize(rules, {0, 0, 0, 0}), 7);
}

}  // namespace
}  // namespace millrace
