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
