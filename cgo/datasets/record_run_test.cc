#include "record_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "record_reader.h"
#include "records_test.h"
#include "worker_pool.h"

namespace millrace {
namespace {

using Outcome = RecordReader::Outcome;

// Records of one layout: "<", eight values and ">".
class NextRunTest : public ::testing::TestWithParam<int> {
 protected:
  static constexpr int64_t kRecords = 100;

  static std::string Values(int64_t i) {
    std::string s = std::to_string(i);
    return s + std::string(8 - s.size(), '_');
  }
  static std::string Record(int64_t i) { return "<" + Values(i) + ">"; }

  static Layout TheLayout() {
    Layout layout;
    layout.before = "<";
    layout.after = ">";
    layout.values = 8;
    return layout;
  }

  // Bytes returns a file in which record `odd`, if there is one, is `other`.
  static std::string Bytes(int64_t odd, const std::string& other) {
    std::string bytes;
    for (int64_t i = 0; i < kRecords; ++i) {
      bytes += i == odd ? other : Frame(Record(i));
    }
    return bytes;
  }

  WorkerPool workers_{GetParam()};
};

TEST_P(NextRunTest, ReadsValuesUpToTheNumberWanted) {
  const TempFile file(Bytes(-1, ""));
  RecordReader reader(1, OpenFile);
  Fault fault;
  ASSERT_TRUE(reader.Open(file.path(), 0, 0, &fault));
  for (int64_t begin = 0, step = 1; begin < kRecords; ++step) {
    const int64_t want = std::min(step, kRecords - begin);
    std::string got(static_cast<size_t>(8 * want), '?');
    ASSERT_EQ(reader.NextRun(TheLayout(), step, got.data(), &workers_), want);
    for (int64_t i = 0; i < want; ++i) {
      ASSERT_EQ(got.substr(8 * i, 8), Values(begin + i));
    }
    begin += want;
    EXPECT_EQ(reader.ordinal(), begin);
    EXPECT_EQ(reader.offset(), begin * 26);
  }
  std::string_view record;
  EXPECT_EQ(reader.Next(&record, &fault), Outcome::kEnd);
}

// The run ends before a record that is not of the layout, or is damaged. Next
// reads that record and reports its fault.
TEST_P(NextRunTest, EndsBeforeAnOddRecord) {
  std::string damaged = Frame(Record(1));
  damaged[15] ^= 1;
  std::string bad_header = Frame(Record(1));
  bad_header[9] ^= 1;
  const std::pair<std::string, bool> odd[] = {
      {Frame("[12345678]"), true},
      {Frame("<12345678"), true},
      {Frame("<123456789>"), true},
      {Frame(""), true},
      {damaged, false},
      {bad_header, false},
  };
  for (const auto& [bytes, sound] : odd) {
    for (const int64_t at : {0, 1, 7, 8, 63, 99}) {
      const TempFile file(Bytes(at, bytes));
      RecordReader reader(1, OpenFile);
      Fault fault;
      ASSERT_TRUE(reader.Open(file.path(), 0, 0, &fault));
      std::string got(8 * kRecords, '?');
      int64_t run = 0;
      while (run < at) {
        const int64_t n =
            reader.NextRun(TheLayout(), kRecords, got.data(), &workers_);
        if (n == 0) break;
        run += n;
      }
      ASSERT_EQ(run, at);
      std::string_view record;
      ASSERT_EQ(reader.Next(&record, &fault),
                sound ? Outcome::kRecord : Outcome::kFault);
      if (sound) continue;
      const std::string place = ": record " + std::to_string(at) + " (";
      EXPECT_NE(fault.text.find(place), std::string::npos) << fault.text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, NextRunTest, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace millrace
