#include "record_lengths.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "records_test.h"

namespace millrace {
namespace {

bool Go() { return false; }

bool Lengths(const TempFile& file, std::vector<uint32_t>* lengths, Fault* fault,
             const SkippedRecords& skipped = {}) {
  return ReadLengths(file.path(), static_cast<int64_t>(lengths->size()),
                     lengths->data(), Go, skipped, 0, fault);
}

TEST(RecordLengths, OfShortAndLongRecords) {
  std::string bytes;
  std::vector<uint32_t> want;
  for (const uint32_t n : {0u, 7u, 70000u, 70001u, 3u, 200000u, 1u, 65520u}) {
    for (int i = 0; i < 5; ++i) {
      want.push_back(n + i);
      bytes += Frame(std::string(n + i, 'x'));
    }
  }
  const TempFile file(bytes);
  std::vector<uint32_t> got(want.size());
  Fault fault;
  ASSERT_TRUE(Lengths(file, &got, &fault)) << fault.text;
  EXPECT_EQ(got, want);
  EXPECT_TRUE(HoldsRecords(file.path(), 40, &fault));
}

TEST(RecordLengths, OfAnotherNumberOfRecords) {
  const TempFile file(Frame("abc") + Frame("") + Frame("de"));
  Fault fault;
  std::vector<uint32_t> two(2), four(4);
  EXPECT_FALSE(Lengths(file, &two, &fault));
  EXPECT_EQ(fault.cause, Cause::kFailedPrecondition);
  EXPECT_EQ(fault.what, "2 records were counted, it has more");
  EXPECT_FALSE(Lengths(file, &four, &fault));
  EXPECT_EQ(fault.what, "4 records were counted, it has only 3");
  EXPECT_FALSE(HoldsRecords(file.path(), 1000, &fault));
  EXPECT_EQ(fault.what, "1000 records were counted, it has at most 3");
  EXPECT_FALSE(HoldsRecords(file.path(), -1, &fault));
  EXPECT_FALSE(HoldsRecords(file.path() + ".none", 1, &fault));
  EXPECT_EQ(fault.cause, Cause::kNotFound);
}

TEST(RecordLengths, OfDamagedHeaders) {
  const std::string good = Frame("abc");
  const auto fails = [&](const std::string& end, Cause cause) {
    const TempFile file(good + end);
    std::vector<uint32_t> lengths(2);
    Fault fault;
    EXPECT_FALSE(Lengths(file, &lengths, &fault));
    EXPECT_EQ(fault.cause, cause) << fault.text;
    EXPECT_EQ(fault.place.record, 1);
    EXPECT_EQ(fault.place.offset, static_cast<int64_t>(good.size()));
  };
  std::string flipped = Frame("defg");
  flipped[0] ^= 1;
  fails(flipped, Cause::kDataLoss);
  fails(Frame("defg").substr(0, 11), Cause::kTruncated);
  fails(Frame("defg").substr(0, 18), Cause::kTruncated);
  fails(Header(uint64_t{1} << 40) + "xxxx", Cause::kTooLarge);
}

// The header of a skipped record is not read: the next one says how long it is.
TEST(RecordLengths, OfSkippedRecords) {
  std::string flipped = Frame("defg");
  flipped[9] ^= 1;
  const std::string good = Frame("abc");
  const int64_t next = static_cast<int64_t>(good.size() + flipped.size());
  const TempFile file(good + flipped + Frame("h") + "rest");
  std::vector<uint32_t> lengths(3);
  Fault fault;
  SkippedRecords skipped;
  ASSERT_TRUE(skipped.Set({0, 1, next}));
  EXPECT_FALSE(Lengths(file, &lengths, &fault, skipped));
  EXPECT_EQ(fault.what, "3 records were counted, it has more");
  ASSERT_TRUE(skipped.Set({0, 1, next, 0, 3, -1}));
  ASSERT_TRUE(Lengths(file, &lengths, &fault, skipped)) << fault.text;
  EXPECT_EQ(lengths, (std::vector<uint32_t>{3, 4, 1}));
  const TempFile last(good + flipped);
  std::vector<uint32_t> two(2);
  ASSERT_TRUE(Lengths(last, &two, &fault, skipped)) << fault.text;
  EXPECT_EQ(two, (std::vector<uint32_t>{3, 4}));
  for (const int64_t wrong : {int64_t{0}, next - 5, next + 100}) {
    ASSERT_TRUE(skipped.Set({0, 1, wrong, 0, 3, -1}));
    EXPECT_FALSE(Lengths(file, &lengths, &fault, skipped));
  }
}

TEST(RecordLengths, EndsWhenCancelled) {
  const TempFile file(Frame("abc"));
  std::vector<uint32_t> lengths(1);
  Fault fault;
  EXPECT_FALSE(ReadLengths(
      file.path(), 1, lengths.data(), [] { return true; }, {}, 0, &fault));
  EXPECT_EQ(fault.cause, Cause::kCancelled);
}

}  // namespace
}  // namespace millrace
