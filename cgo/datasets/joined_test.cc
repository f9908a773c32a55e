#include "joined.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace millrace {
namespace {

// Elements of every size are copied completely, and no byte after them changes.
TEST(Joined, CopiesElementsThatAreElsewhere) {
  std::mt19937 random(1);
  for (size_t bytes = 1; bytes < 1100; bytes += bytes < 80 ? 1 : 37) {
    for (const size_t stride : {bytes, bytes + 1, bytes + 8}) {
      constexpr size_t kElements = 5;
      std::string record(kElements * stride, '\0');
      for (char& c : record) c = static_cast<char>(random());
      Joined list;
      list.Clear();
      ASSERT_TRUE(list.ReferEach(record.data(), kElements, bytes, stride));
      list.EndRecord(kElements);
      std::string want;
      for (size_t i = 0; i < kElements; ++i) {
        want += record.substr(i * stride, bytes);
      }
      std::string got(want.size() + 64, 'x');
      list.Copy(0, bytes, got.data());
      ASSERT_EQ(got, want + std::string(64, 'x')) << bytes << " of " << stride;
    }
  }
}

// Adding elements after referred ones copies these first.
TEST(Joined, AddsBehindElementsThatAreElsewhere) {
  const std::string record = "abc.def.";
  Joined list;
  list.Clear();
  ASSERT_TRUE(list.ReferEach(record.data(), 2, 3, 4));
  list.EndRecord(2);
  char* const at = list.Add(3);
  ASSERT_NE(at, nullptr);
  record.copy(at, 3, 4);
  list.EndRecord(1);
  EXPECT_EQ(std::string(list.data(), list.size()), "abcdefdef");
}

}  // namespace
}  // namespace millrace
