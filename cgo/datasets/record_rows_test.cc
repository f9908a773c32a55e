#include "record_rows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "records_test.h"

namespace millrace {
namespace {

class RecordRowsTest : public ::testing::Test {
 protected:
  // Read returns the next n records, or "none".
  std::string Read(FileCursor* cursor, size_t n) {
    if (!rows_.Find(cursor, n)) return "none";
    std::string all;
    for (size_t i = 0; i < rows_.size(); ++i) {
      all += rows_.record(i);
      all += rows_.Intact(i) ? " " : "? ";
    }
    return all;
  }

  TempFile a_{Frame("a0") + Frame("a1") + Frame("a2")};
  TempFile none_{""};
  TempFile b_{Frame("b0") + Frame("")};
  FileList files_{{a_.path(), none_.path(), b_.path()}, {3, 0, -1}, 1};
  RecordRows rows_;
};

TEST_F(RecordRowsTest, ReadsAcrossFiles) {
  FileCursor cursor(files_);
  EXPECT_EQ(Read(&cursor, 2), "a0 a1 ");
  EXPECT_EQ(rows_.behind().ordinal, 2);
  EXPECT_EQ(rows_.bytes(), 2 * Frame("a0").size());
  EXPECT_EQ(Read(&cursor, 2), "a2 b0 ");
  EXPECT_EQ(rows_.behind().file, 2);
  EXPECT_EQ(rows_.behind().seen, 3);
  EXPECT_EQ(rows_.behind().offset, static_cast<int64_t>(Frame("b0").size()));
  EXPECT_EQ(Read(&cursor, 2), "none");  // only one is left
}

TEST_F(RecordRowsTest, SkipsRecords) {
  files_.epochs = 2;
  ASSERT_TRUE(files_.skipped.Set({0, 1, 36, 2, 0, 18}));
  FileCursor cursor(files_);
  EXPECT_EQ(Read(&cursor, 4), "a0 a2  a0 ");
  EXPECT_EQ(rows_.behind().epoch, 1);
  EXPECT_EQ(rows_.behind().ordinal, 1);
  EXPECT_EQ(Read(&cursor, 2), "a2  ");
  EXPECT_EQ(Read(&cursor, 1), "none");
}

TEST_F(RecordRowsTest, ReadsAcrossEpochs) {
  files_.epochs = 2;
  FileCursor cursor(files_);
  EXPECT_EQ(Read(&cursor, 4), "a0 a1 a2 b0 ");
  EXPECT_EQ(Read(&cursor, 4), " a0 a1 a2 ");
  EXPECT_EQ(rows_.behind().epoch, 1);
  EXPECT_EQ(Read(&cursor, 3), "none");
  files_.epochs = -1;
  cursor.Seek(WalkPosition{7});
  EXPECT_EQ(Read(&cursor, 7), "a0 a1 a2 b0  a0 a1 ");
  EXPECT_EQ(rows_.behind().epoch, 8);
}

// Without a record an endless walk would never end.
TEST_F(RecordRowsTest, EndsWithoutRecords) {
  files_ = {{none_.path()}, {-1}, -1};
  FileCursor cursor(files_);
  EXPECT_EQ(Read(&cursor, 1), "none");
  files_ = FileList();
  cursor.Seek(WalkPosition());
  EXPECT_EQ(Read(&cursor, 1), "none");
}

TEST_F(RecordRowsTest, GoesOnFromEveryPosition) {
  files_.epochs = 2;
  FileCursor cursor(files_);
  for (int n = 0; n < 8; ++n) {
    const WalkPosition at = cursor.at();
    const std::string next = Read(&cursor, 2);
    FileCursor other(files_);
    other.Seek(at);
    EXPECT_EQ(Read(&other, 2), next) << n;
    cursor.Seek(at);
    Read(&cursor, 1);
  }
}

TEST_F(RecordRowsTest, ReadsRecordsOfAllSizes) {
  const std::string large(3 << 20, 'x'), larger(9 << 20, 'y');
  a_.Write(Frame("a0") + Frame(large) + Frame("a2"));
  b_.Write(Frame(larger) + Frame("b1"));
  files_.counts[2] = 2;
  FileCursor cursor(files_);
  EXPECT_EQ(Read(&cursor, 5), "a0 " + large + " a2 " + larger + " " + "b1 ");
  cursor.Seek(WalkPosition());
  EXPECT_EQ(Read(&cursor, 1), "a0 ");  // prefetches more than needed
  EXPECT_EQ(Read(&cursor, 1), large + " ");
}

// Faults are left to a reader of single records.
TEST_F(RecordRowsTest, LeavesFaultsToOthers) {
  const std::string whole = Frame("a0") + Frame("a1") + Frame("a2");
  std::string header = whole;
  header[Frame("a0").size()] ^= 1;
  for (const std::string& bytes :
       {whole.substr(0, whole.size() - 1), whole.substr(0, whole.size() - 17),
        Frame("a0") + Header(uint64_t{1} << 40), Frame("a0") + "no record",
        Frame("a0") + Frame("a1"), whole + Frame("a3"), header}) {
    a_.Write(bytes);
    FileCursor cursor(files_);
    EXPECT_EQ(Read(&cursor, 4), "none");
  }
  a_.Write(whole);
  files_.names[1] += ".missing";
  FileCursor cursor(files_);
  EXPECT_EQ(Read(&cursor, 3), "a0 a1 a2 ");
  EXPECT_EQ(Read(&cursor, 1), "none");
}

TEST_F(RecordRowsTest, TellsDamagedData) {
  std::string bytes = Frame("a0") + Frame("a1") + Frame("a2");
  bytes[Frame("a0").size() + 13] ^= 1;
  a_.Write(bytes);
  FileCursor cursor(files_);
  EXPECT_EQ(Read(&cursor, 3), "a0 a0? a2 ");
}

// A file that shrank is a fault, not a signal.
TEST_F(RecordRowsTest, LeavesAFileThatShrinks) {
  const std::string large(1 << 20, 'x');
  a_.Write(Frame(large) + Frame(large) + Frame(large));
  FileCursor cursor(files_);
  EXPECT_EQ(Read(&cursor, 1), large + " ");
  a_.Truncate(2 << 20);
  EXPECT_EQ(Read(&cursor, 2), "none");
}

}  // namespace
}  // namespace millrace
