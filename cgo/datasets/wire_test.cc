#include "wire.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "records_test.h"

namespace millrace {
namespace wire {
namespace {

// Input is bytes to read from, and how many of them were read.
class Input {
 public:
  explicit Input(const std::string& bytes)
      : exact_(bytes),
        begin_(reinterpret_cast<const uint8_t*>(exact_.view().data())),
        p(begin_),
        end(begin_ + bytes.size()) {}

 private:
  const Exact exact_;
  const uint8_t* const begin_;

 public:
  int64_t taken() const { return p - begin_; }

  const uint8_t* p;
  const uint8_t* const end;
};

TEST(Varint64, ReadsEveryLength) {
  for (int bits = 0; bits <= 64; ++bits) {
    const uint64_t want = bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
    const std::string bytes = Varint(want);
    Input in(bytes);
    uint64_t got = 0;
    ASSERT_TRUE(Varint64(&in.p, in.end, &got)) << bits << " bits";
    EXPECT_EQ(got, want);
    EXPECT_EQ(in.taken(), static_cast<int64_t>(bytes.size()));
  }
}

TEST(Varint64, TakesMoreBytesThanNeeded) {
  Input in(std::string("\x85\x80\x80\x80\x80\x80\x80\x80\x80\x00", 10));
  uint64_t got = 0;
  ASSERT_TRUE(Varint64(&in.p, in.end, &got));
  EXPECT_EQ(got, 5u);
  EXPECT_EQ(in.taken(), 10);
}

TEST(Varint64, DropsBitsAbove64) {
  Input in(std::string(9, '\xff') + '\x7f');
  uint64_t got = 0;
  ASSERT_TRUE(Varint64(&in.p, in.end, &got));
  EXPECT_EQ(got, UINT64_MAX);
}

TEST(Varint64, RefusesElevenBytesAndCutOnes) {
  uint64_t got = 0;
  Input eleven(std::string(10, '\x80') + '\x01');
  EXPECT_FALSE(Varint64(&eleven.p, eleven.end, &got));
  for (size_t n = 0; n < 10; ++n) {
    Input cut(std::string(n, '\x80'));
    EXPECT_FALSE(Varint64(&cut.p, cut.end, &got)) << n << " bytes";
  }
}

TEST(Varint32, DropsBitsAbove32) {
  Input in(Varint(uint64_t{7} << 32 | 3));
  uint32_t got = 0;
  ASSERT_TRUE(Varint32(&in.p, in.end, &got));
  EXPECT_EQ(got, 3u);
}

TEST(Limit, EndsWithTheMessageAround) {
  const Input in("12345678");
  EXPECT_EQ(Limit(in.p, in.end, 0), in.p);
  EXPECT_EQ(Limit(in.p, in.end, 3), in.p + 3);
  EXPECT_EQ(Limit(in.p, in.end, 8), in.end);
  EXPECT_EQ(Limit(in.p, in.end, 9), in.end);
  EXPECT_EQ(Limit(in.p, in.end, INT32_MAX), in.end);
  EXPECT_EQ(Limit(in.p, in.end, UINT32_MAX), in.end);
}

TEST(Text, NeedsAllItsBytes) {
  std::string_view text;
  Input whole(
      "\x03"
      "abcd");
  ASSERT_TRUE(Text(&whole.p, whole.end, &text));
  EXPECT_EQ(text, "abc");
  EXPECT_EQ(whole.taken(), 4);
  Input empty(std::string(1, '\0'));
  ASSERT_TRUE(Text(&empty.p, empty.end, &text));
  EXPECT_EQ(text, "");
  Input cut(
      "\x03"
      "ab");
  EXPECT_FALSE(Text(&cut.p, cut.end, &text));
  Input huge(Varint(UINT32_MAX) + "ab");
  EXPECT_FALSE(Text(&huge.p, huge.end, &text));
  Input none("");
  EXPECT_FALSE(Text(&none.p, none.end, &text));
}

TEST(Skip, PassesOverEachWireType) {
  const struct {
    const char* name;
    std::string bytes;
    int64_t taken;
  } tests[] = {
      {"varint", "\x18\x96\x01z", 3},
      {"fixed64",
       "\x19"
       "12345678z",
       9},
      {"length",
       "\x1a\x02"
       "abz",
       4},
      {"fixed32",
       "\x1d"
       "1234z",
       5},
      {"a field number of two bytes", "\xa0\x01\x05z", 3},
      {"field number 0", std::string("\x00\x05z", 3), 2},
      {"a length beyond the end",
       "\x1a\x09"
       "ab",
       4},
      {"a negative length", "\x1a" + Varint(0x80000000) + "ab", 6},
  };
  for (const auto& test : tests) {
    Input in(test.bytes);
    EXPECT_TRUE(Skip(&in.p, in.end)) << test.name;
    EXPECT_EQ(in.taken(), test.taken) << test.name;
  }
}

TEST(Skip, RefusesGroupsAndWhatIsCut) {
  const struct {
    const char* name;
    std::string bytes;
  } tests[] = {
      {"start of a group", "\x1b\x05"},
      {"end of a group", "\x1c\x05"},
      {"wire type 6", "\x1e\x05"},
      {"wire type 7", "\x1f\x05"},
      {"cut tag", "\x98"},
      {"cut varint", "\x18\x96"},
      {"cut fixed64",
       "\x19"
       "1234567"},
      {"cut fixed32",
       "\x1d"
       "123"},
      {"no length", "\x1a"},
      {"nothing", ""},
  };
  for (const auto& test : tests) {
    Input in(test.bytes);
    EXPECT_FALSE(Skip(&in.p, in.end)) << test.name;
  }
}

}  // namespace
}  // namespace wire
}  // namespace millrace
