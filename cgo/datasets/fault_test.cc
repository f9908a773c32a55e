#include "fault.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace {
namespace {

TEST(Fault, SetFormatsAndReturnsFalse) {
  Fault fault;
  EXPECT_EQ(fault.cause, Cause::kNone);
  EXPECT_FALSE(fault.Set(Cause::kDataLoss, "%d of %s", 3, "four"));
  EXPECT_EQ(fault.cause, Cause::kDataLoss);
  EXPECT_EQ(fault.text, "3 of four");
}

TEST(Fault, SetCutsLongTexts) {
  Fault fault;
  fault.Set(Cause::kUnknown, "%s", std::string(10000, 'x').c_str());
  EXPECT_EQ(fault.text, std::string(511, 'x'));
}

TEST(Fault, SaysInWordsAndInDataWhere) {
  Fault fault;
  EXPECT_FALSE(
      fault.SetFeature("x\n", Cause::kInvalidArgument, "%d values", 2));
  EXPECT_EQ(fault.place.feature, "x\n");
  EXPECT_EQ(fault.text, "feature \"x\\x0a\": 2 values");
  EXPECT_EQ(fault.place.record, -1);
  EXPECT_FALSE(fault.At("dir/\"f", 7, 96));
  EXPECT_EQ(fault.place.file, "dir/\"f");
  EXPECT_EQ(fault.place.record, 7);
  EXPECT_EQ(fault.place.offset, 96);
  EXPECT_EQ(fault.what, "2 values");
  EXPECT_EQ(fault.text,
            "file \"dir/\\\"f\": record 7 (offset 96): "
            "feature \"x\\x0a\": 2 values");
}

TEST(Fault, SetForgetsThePlaceOfTheFaultBefore) {
  Fault fault;
  fault.SetFeature("x", Cause::kInvalidArgument, "one");
  fault.At("file", 1, 2);
  fault.Set(Cause::kUnknown, "two");
  EXPECT_EQ(fault.text, "two");
  EXPECT_EQ(fault.place.file, "");
  EXPECT_EQ(fault.place.feature, "");
  EXPECT_EQ(fault.place.record, -1);
}

TEST(Quote, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(Quote("plain", 64), "\"plain\"");
  EXPECT_EQ(Quote("a\"b\\c", 64), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(Quote(std::string("\0\n\x1b\x7f\xc3", 5), 64),
            "\"\\x00\\x0a\\x1b\\x7f\\xc3\"");
}

TEST(Quote, CutsAtTheLimit) {
  EXPECT_EQ(Quote("12345", 5), "\"12345\"");
  EXPECT_EQ(Quote("123456", 5), "\"12345\"...");
  EXPECT_EQ(Quote("", 5), "\"\"");
}

}  // namespace
}  // namespace millrace
