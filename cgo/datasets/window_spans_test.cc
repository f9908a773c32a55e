#include "window_spans.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millrace {
namespace {

// Text lists the windows: first record, records, begin and end.
std::string Text(const WindowForm& form, const std::vector<int64_t>& counts) {
  const WindowSpans spans(form, counts);
  std::string out;
  for (int64_t i = 0; i < spans.size(); ++i) {
    const WindowSpan w = spans.At(i);
    out += std::to_string(w.first) + "+" + std::to_string(w.records) + "[" +
           std::to_string(w.begin) + "," + std::to_string(w.end) + ") ";
  }
  return out;
}

TEST(WindowSpans, WithinFiles) {
  const std::vector<int64_t> counts = {2, 0, 1, 3};
  EXPECT_EQ(Text({2, 2, 3}, counts),
            "0+1[0,2) 0+2[2,4) 1+1[1,3) 2+1[0,2) "
            "3+1[0,2) 3+2[2,4) 4+1[1,3) 5+1[0,2) ");
  EXPECT_EQ(Text({2, 2, 3, true}, counts),
            "0+1[0,2) 0+2[2,4) 1+1[1,3) 2+1[0,2) 2+1[2,3) "
            "3+1[0,2) 3+2[2,4) 4+1[1,3) 5+1[0,2) 5+1[2,3) ");
  EXPECT_EQ(Text({2, 3, 1}, counts), "0+2[0,2) 3+2[0,2) ");
  EXPECT_EQ(Text({4, 1, 1}, counts), "");
}

TEST(WindowSpans, OfSomeRecords) {
  EXPECT_EQ(Text({2, 1, 1, false, 1, 5}, {4, 4}), "1+2[0,2) 2+2[0,2) ");
  EXPECT_EQ(Text({2, 2, 1, true, 3, 6}, {4, 4}), "3+1[0,1) 4+2[0,2) ");
  EXPECT_EQ(Text({1, 1, 1, false, 9, INT64_MAX}, {4, 4}), "");
}

}  // namespace
}  // namespace millrace
