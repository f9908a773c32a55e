#include "feature_spec.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace {
namespace {

TEST(FeatureSpec, NamesTheListOfEachKind) {
  EXPECT_STREQ(ListName(ListTag(Kind::kInt64)), "int64");
  EXPECT_STREQ(ListName(ListTag(Kind::kFloat)), "float");
  EXPECT_STREQ(ListName(ListTag(Kind::kBytes)), "bytes");
  EXPECT_STREQ(ListName(ListTag(Kind::kRaw)), "bytes");
}

TEST(CopyRaw, ReversesTheBytesOfEachNumber) {
  const struct {
    int swap_bytes;
    std::string want;
  } tests[] = {
      {0, "abcdefgh"}, {1, "abcdefgh"}, {2, "badcfehg"},
      {4, "dcbahgfe"}, {8, "hgfedcba"},
  };
  for (const auto& test : tests) {
    FeatureSpec f;
    f.kind = Kind::kRaw;
    f.swap_bytes = test.swap_bytes;
    std::string got(8, '?');
    CopyRaw(f, "abcdefgh", got.data());
    EXPECT_EQ(got, test.want) << "swap_bytes " << test.swap_bytes;
  }
}

}  // namespace
}  // namespace millrace
