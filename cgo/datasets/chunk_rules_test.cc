#include "chunk_rules.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace millrace {
namespace {

using Frames = std::vector<std::pair<int64_t, int64_t>>;

Frames Rows(const ChunkRules& rules, int64_t length) {
  Frames rows;
  for (int64_t k = 0; rules.HasRow(k, length); ++k) {
    rows.emplace_back(rules.Begin(k), rules.End(k, length));
  }
  return rows;
}

TEST(ChunkRules, CutsWhatALoopCuts) {
  for (int64_t size = 1; size < 6; ++size) {
    for (int64_t step = 1; step < 7; ++step) {
      for (bool keep_tail : {true, false}) {
        for (int64_t length = 0; length < 15; ++length) {
          Frames want;
          for (int64_t begin = 0; begin < length; begin += step) {
            const int64_t end = std::min(begin + size, length);
            if (keep_tail || end - begin == size) want.emplace_back(begin, end);
          }
          EXPECT_EQ(Rows({size, step, keep_tail}, length), want)
              << size << " " << step << " " << keep_tail << " " << length;
        }
      }
    }
  }
}

TEST(ChunkRules, WholeSequencesAreOneRow) {
  EXPECT_EQ(Rows(ChunkRules(), 7), (Frames{{0, 7}}));
  EXPECT_EQ(Rows(ChunkRules(), 0), (Frames{{0, 0}}));
}

// Sizes returns the number of rows of each batch.
std::vector<int> Sizes(Budget* budget,
                       const std::vector<std::vector<int64_t>>& rows) {
  std::vector<int> sizes;
  budget->Clear();
  for (const auto& row : rows) {
    if (sizes.empty() || !budget->Add(row)) {
      budget->Clear();
      EXPECT_TRUE(budget->Add(row));
      sizes.push_back(0);
    }
    ++sizes.back();
  }
  return sizes;
}

TEST(Budget, CountsPadding) {
  Budget budget(10, 0, {-1});
  EXPECT_EQ(Sizes(&budget, {{3}, {3}, {3}, {1}, {5}, {5}}),
            (std::vector<int>{3, 2, 1}));
}

TEST(Budget, ALongRowIsABatch) {
  Budget budget(4, 0, {-1});
  EXPECT_EQ(Sizes(&budget, {{2}, {9}, {2}, {2}}), (std::vector<int>{1, 1, 2}));
}

TEST(Budget, EverySequenceCounts) {
  Budget budget(6, 0, {-1, -1});
  EXPECT_EQ(Sizes(&budget, {{1, 3}, {1, 3}, {1, 3}, {3, 1}}),
            (std::vector<int>{2, 2}));
}

TEST(Budget, FixedSizesCountInFull) {
  Budget budget(8, 0, {4});
  EXPECT_EQ(Sizes(&budget, {{1}, {1}, {1}}), (std::vector<int>{2, 1}));
}

TEST(Budget, RowsWithoutFramesAreLimitedByNumberAlone) {
  Budget budget(1, 3, {-1});
  EXPECT_EQ(Sizes(&budget, {{0}, {0}, {0}, {0}}), (std::vector<int>{3, 1}));
}

}  // namespace
}  // namespace millrace
