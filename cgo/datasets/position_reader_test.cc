#include "position_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "records_test.h"

namespace millrace {
namespace {

constexpr int kSmall = 40;  // records of the small file

FeatureSpec FloatSpec(int64_t values) {
  FeatureSpec f;
  f.key = "x";
  f.kind = Kind::kFloat;
  f.values = values;
  return f;
}

// SmallFile has records of three positions of one float: id, id + 0.5 and -id.
std::string SmallFile() {
  std::string bytes;
  for (int id = 0; id < kSmall; ++id) {
    const auto x = static_cast<float>(id);
    bytes += Frame(Features(Entry("x", Floats({x, x + 0.5f, -x}))));
  }
  return bytes;
}

float SmallValue(int64_t position) {
  const auto id = static_cast<float>(position / 3);
  const float values[] = {id, id + 0.5f, -id};
  return values[position % 3];
}

// SmallReader reads such a file; Read copies a range into memory of its size.
struct SmallReader {
  PositionReader reader{{FloatSpec(3)}, {4}, 3, 1, 1};
  Fault fault;
  std::vector<float> x;

  bool Read(int64_t begin, int64_t n, int64_t keep) {
    x.assign(static_cast<size_t>(n), -1);
    char* const to[] = {reinterpret_cast<char*>(x.data())};
    return reader.Copy(begin, n, keep, to, &fault);
  }
};

TEST(PositionReader, CopiesRangesAcrossRecords) {
  const TempFile file(SmallFile());
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    SmallReader r;
    ASSERT_TRUE(r.reader.Open(file.path(), kSmall, 0, 0, &r.fault));
    for (int64_t begin = 0;;) {
      const int64_t n = 1 + random() % 20;
      if (begin + n > 3 * kSmall) break;
      // The next range follows, overlaps or leaves a gap.
      const int64_t next = begin + (random() % 2 == 0 ? n : random() % 30);
      ASSERT_TRUE(r.Read(begin, n, next)) << r.fault.text;
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(r.x[i], SmallValue(begin + i)) << "position " << begin + i;
      }
      begin = next;
      if (random() % 8 == 0) {
        int64_t offset = 0, ordinal = 0;
        r.reader.Resume(begin, &offset, &ordinal);
        ASSERT_TRUE(
            r.reader.Open(file.path(), kSmall, offset, ordinal, &r.fault));
      }
    }
    ASSERT_TRUE(r.reader.Finish(&r.fault)) << r.fault.text;
    ASSERT_FALSE(r.reader.is_open());
  }
}

TEST(PositionReader, CopiesEachFeature) {
  FeatureSpec y;
  y.key = "y";
  y.kind = Kind::kInt64;
  y.values = 2;
  std::string bytes;
  for (int64_t i = 0; i < 10; ++i) {
    bytes += Frame(Features(Entry("x", Floats({i + 0.0f, i + 0.5f})) +
                            Entry("y", Ints({2 * i, 2 * i + 1}))));
  }
  const TempFile file(bytes);
  PositionReader reader({FloatSpec(2), y}, {4, 8}, 2, 1, 1);
  Fault fault;
  ASSERT_TRUE(reader.Open(file.path(), 10, 0, 0, &fault));
  std::vector<float> got_x(13);
  std::vector<int64_t> got_y(13);
  char* const to[] = {reinterpret_cast<char*>(got_x.data()),
                      reinterpret_cast<char*>(got_y.data())};
  ASSERT_TRUE(reader.Copy(3, 13, 16, to, &fault)) << fault.text;
  for (int64_t i = 0; i < 13; ++i) {
    EXPECT_EQ(got_x[i], (i + 3) / 2.0f);
    EXPECT_EQ(got_y[i], i + 3);
  }
}

TEST(PositionReader, RefusesPositionsItDroppedAndPositionsBehindTheEnd) {
  const TempFile file(SmallFile());
  SmallReader r;
  ASSERT_TRUE(r.reader.Open(file.path(), kSmall, 0, 0, &r.fault));
  ASSERT_TRUE(r.Read(50, 2, 50));
  EXPECT_FALSE(r.Read(3, 1, 4));
  EXPECT_EQ(r.fault.text, "positions are asked for again");
  SmallReader past;
  ASSERT_TRUE(past.reader.Open(file.path(), kSmall, 0, 0, &past.fault));
  EXPECT_FALSE(past.Read(3 * kSmall - 1, 2, 3 * kSmall));
  EXPECT_EQ(past.fault.cause, Cause::kFailedPrecondition);
}

TEST(PositionReader, HoldsTheFileToItsCount) {
  const TempFile file(SmallFile());
  const struct {
    int64_t count;
    const char* text;
  } tests[] = {
      {kSmall - 1, "39 records were counted, it has more"},
      {kSmall + 1, "41 records were counted, it has only 40"},
  };
  for (const auto& test : tests) {
    SmallReader r;
    ASSERT_TRUE(r.reader.Open(file.path(), test.count, 0, 0, &r.fault));
    EXPECT_FALSE(r.reader.Finish(&r.fault));
    EXPECT_EQ(r.fault.cause, Cause::kFailedPrecondition);
    EXPECT_NE(r.fault.text.find(test.text), std::string::npos) << r.fault.text;
  }
}

TEST(PositionReader, NamesTheRecordThatCannotBeDecoded) {
  const std::string good = Frame(Features(Entry("x", Floats({1, 2, 3}))));
  const std::string bad = Frame(Features(Entry("x", Floats({1, 2}))));
  const TempFile file(good + good + bad + good);
  SmallReader r;
  ASSERT_TRUE(r.reader.Open(file.path(), 4, 0, 0, &r.fault));
  EXPECT_FALSE(r.Read(0, 12, 12));
  EXPECT_EQ(r.fault.cause, Cause::kInvalidArgument);
  EXPECT_NE(r.fault.text.find(": record 2 (offset "), std::string::npos)
      << r.fault.text;
  EXPECT_NE(r.fault.text.find("feature \"x\": 2 values stored, want 3"),
            std::string::npos)
      << r.fault.text;
}

// Large records go straight from the file to their destination in runs, which
// several threads read.

constexpr int kLarge = 20;  // records of three positions
constexpr int kRow = 4096;  // floats of a position

// Around are the other features of a large record.
enum class Around { kNothing, kBefore, kAfter, kMixed };

std::string LargeRecord(int id, Around around) {
  std::vector<float> x(3 * kRow);
  for (size_t i = 0; i < x.size(); ++i) x[i] = id * 100000.0f + i;
  const std::string other = Entry("other", Floats({1, 2}));
  std::string entries = Entry("x", Floats(x));
  if (around == Around::kBefore) entries = other + entries;
  if (around == Around::kAfter) entries += other;
  return Features(entries);
}

float LargeValue(int64_t value) {
  return value / (3 * kRow) * 100000.0f + value % (3 * kRow);
}

class LargeTest : public ::testing::TestWithParam<int> {
 protected:
  // Large returns a file, and in `ends` the end of each record.
  std::string Large(Around around, std::vector<size_t>* ends) {
    std::string bytes;
    for (int i = 0; i < kLarge; ++i) {
      const Around this_one = around == Around::kMixed
                                  ? static_cast<Around>(random_() % 3)
                                  : around;
      bytes += Frame(LargeRecord(i, this_one));
      ends->push_back(bytes.size());
    }
    return bytes;
  }

  bool Read(PositionReader* reader, int64_t begin, int64_t n) {
    x_.resize(static_cast<size_t>(n * kRow));
    char* const to[] = {reinterpret_cast<char*>(x_.data())};
    return reader->Copy(begin, n, begin + n, to, &fault_);
  }

  std::mt19937 random_{4};
  std::vector<float> x_;
  Fault fault_;
};

TEST_P(LargeTest, CopiesRunsOfRecords) {
  for (const Around around :
       {Around::kNothing, Around::kBefore, Around::kAfter, Around::kMixed}) {
    std::vector<size_t> ends;
    const TempFile file(Large(around, &ends));
    PositionReader reader({FloatSpec(3 * kRow)}, {4 * kRow}, 3, 1, GetParam());
    ASSERT_TRUE(reader.Open(file.path(), kLarge, 0, 0, &fault_));
    for (int64_t begin = 0; begin < 3 * kLarge;) {
      const int64_t n =
          std::min<int64_t>(1 + random_() % 17, 3 * kLarge - begin);
      ASSERT_TRUE(Read(&reader, begin, n)) << fault_.text;
      int64_t right = 0;
      while (right < n * kRow &&
             x_[right] == LargeValue(begin * kRow + right)) {
        ++right;
      }
      ASSERT_EQ(right, n * kRow) << "range [" << begin << ", " << begin + n;
      begin += n;
    }
    ASSERT_TRUE(reader.Finish(&fault_)) << fault_.text;
  }
}

TEST_P(LargeTest, NamesTheDamagedRecord) {
  for (int round = 0; round < 12; ++round) {
    std::vector<size_t> ends;
    std::string bytes = Large(static_cast<Around>(round % 4), &ends);
    const size_t flip = random_() % bytes.size();
    const auto bad =
        std::upper_bound(ends.begin(), ends.end(), flip) - ends.begin();
    bytes[flip] ^= 16;
    const TempFile file(bytes);
    PositionReader reader({FloatSpec(3 * kRow)}, {4 * kRow}, 3, 1, GetParam());
    ASSERT_TRUE(reader.Open(file.path(), kLarge, 0, 0, &fault_));
    int64_t begin = 0, n = 0;
    for (bool ok = true; ok; begin += ok ? n : 0) {
      ASSERT_LT(begin, 3 * kLarge) << "the damage was not seen";
      n = std::min<int64_t>(1 + random_() % 17, 3 * kLarge - begin);
      ok = Read(&reader, begin, n);
    }
    EXPECT_LE(begin, 3 * bad + 2);
    EXPECT_LT(3 * bad, begin + n);
    EXPECT_EQ(fault_.cause, Cause::kDataLoss);
    const std::string place = ": record " + std::to_string(bad) + " (";
    EXPECT_NE(fault_.text.find(place), std::string::npos) << fault_.text;
  }
}

TEST_P(LargeTest, FindsAFileThatShrinks) {
  std::vector<size_t> ends;
  const std::string bytes = Large(Around::kNothing, &ends);
  for (const size_t left : {bytes.size() - 1, ends[13], size_t{0}}) {
    TempFile file(bytes);
    PositionReader reader({FloatSpec(3 * kRow)}, {4 * kRow}, 3, 1, GetParam());
    ASSERT_TRUE(reader.Open(file.path(), kLarge, 0, 0, &fault_));
    ASSERT_TRUE(Read(&reader, 0, 15)) << fault_.text;
    file.Truncate(left);
    EXPECT_FALSE(Read(&reader, 15, 3 * kLarge - 15));
    EXPECT_EQ(fault_.cause, Cause::kFailedPrecondition);
    EXPECT_NE(fault_.text.find("the file shrank"), std::string::npos)
        << fault_.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, LargeTest, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace millrace
