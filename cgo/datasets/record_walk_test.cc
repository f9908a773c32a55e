#include "record_walk.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "records_test.h"

namespace millrace {
namespace {

// Three files: the records "a0" and "a1", none, and "c0".
class RecordWalkTest : public ::testing::Test {
 protected:
  FileList Files(int64_t epochs) const {
    FileList files;
    files.names = {a_.path(), none_.path(), c_.path()};
    files.counts = {2, 0, 1};
    files.epochs = epochs;
    return files;
  }

  // All returns the records up to a number of them, and the end or fault of the
  // walk.
  std::string All(RecordWalk* walk, size_t most = 100) {
    std::string all;
    for (size_t n = 0; n < most; ++n) {
      std::string_view record;
      bool end = false;
      if (!walk->Next(&record, &end, &fault_)) return all + "fault";
      if (end) return all + "end";
      all += std::string(record) + " ";
    }
    return all + "more";
  }

  std::string All(const FileList& files, size_t most = 100) {
    RecordWalk walk(files, 1, OpenFile);
    return All(&walk, most);
  }

  const TempFile a_{Frame("a0") + Frame("a1")};
  const TempFile none_{""};
  const TempFile c_{Frame("c0")};
  Fault fault_;
};

TEST_F(RecordWalkTest, ReadsFilesAndEpochsInOrder) {
  EXPECT_EQ(All(Files(0)), "end");
  EXPECT_EQ(All(Files(1)), "a0 a1 c0 end");
  EXPECT_EQ(All(Files(2)), "a0 a1 c0 a0 a1 c0 end");
  EXPECT_EQ(All(Files(-1), 7), "a0 a1 c0 a0 a1 c0 a0 more");
}

// Skipped records are not delivered, whether they can be read or not.
TEST_F(RecordWalkTest, SkipsRecords) {
  FileList files = Files(2);
  ASSERT_TRUE(files.skipped.Set({0, 0, 18, 2, 0, -1}));
  EXPECT_EQ(All(files), "a1 a1 end");
  std::string damaged = Frame("b0");
  damaged[12] ^= 1;
  const std::string last = Frame("b2");
  const TempFile b(damaged + Frame("b1") + last.substr(0, 5));
  files.names[1] = b.path();
  files.counts[1] = 2;
  ASSERT_TRUE(files.skipped.Set({1, 0, 18, 1, 2, -1}));
  EXPECT_EQ(All(files), "a0 a1 b1 c0 a0 a1 b1 c0 end");
  ASSERT_TRUE(files.skipped.Set({1, 0, 18}));
  EXPECT_EQ(All(files), "a0 a1 b1 fault");
  files.skipped = {};
  EXPECT_EQ(All(files), "a0 a1 fault");
}

TEST(SkippedRecords, HaveOneForm) {
  SkippedRecords skipped;
  EXPECT_FALSE(skipped.Set({0, 1}));
  EXPECT_FALSE(skipped.Set({0, 1, 2, 0, 1, 2}));
  EXPECT_FALSE(skipped.Set({1, 0, 2, 0, 0, 2}));
  EXPECT_FALSE(skipped.Set({-1, 0, 2}));
  EXPECT_FALSE(skipped.Set({0, 0, -2}));
  const std::vector<int64_t> numbers = {0, 1, 40, 2, 0, 20, 2, 5, -1};
  ASSERT_TRUE(skipped.Set(numbers));
  EXPECT_EQ(skipped.Numbers(), numbers);
  EXPECT_EQ(skipped.Find(2, 5)->next, -1);
  EXPECT_EQ(skipped.Find(2, 1), nullptr);
  EXPECT_EQ(skipped.From(2).Numbers(),
            (std::vector<int64_t>{0, 0, 20, 0, 5, -1}));
  EXPECT_EQ(skipped.From(2).From(-2).From(1).size(), 2u);
  EXPECT_EQ(skipped.InOrder({3, 2, 5}), (std::vector<int64_t>{1, 5}));
  EXPECT_EQ(skipped.CutFiles(), (std::vector<int64_t>{2}));
}

TEST_F(RecordWalkTest, CountsTheRecordsOfAnEpoch) {
  FileList files = Files(1);
  EXPECT_EQ(files.Records(), 3);
  files.counts[1] = -1;
  EXPECT_EQ(files.Records(), -1);
  files.counts = {INT64_MAX, 1, 0};
  EXPECT_EQ(files.Records(), -1);
  EXPECT_EQ(FileList().Records(), 0);
}

// Many epochs without a record must neither take long nor overflow the stack.
TEST_F(RecordWalkTest, EndsWhereNoFileHasARecord) {
  FileList files;
  files.epochs = INT64_MAX;
  EXPECT_EQ(All(files), "end");
  files.names = {none_.path()};
  files.counts = {0};
  EXPECT_EQ(All(files), "end");
  files.epochs = -1;
  EXPECT_EQ(All(files), "fault");
  EXPECT_EQ(fault_.cause, Cause::kFailedPrecondition);
  EXPECT_EQ(fault_.text, "there are no records to repeat without end");
}

TEST_F(RecordWalkTest, HoldsFilesToTheirCounts) {
  const struct {
    int64_t count;
    const char *got, *text;
  } tests[] = {
      {-1, "a0 a1 c0 end", ""},
      {1, "a0 fault", "1 records were counted, it has more"},
      {0, "fault", "0 records were counted, it has more"},
      {3, "a0 a1 fault", "3 records were counted, it has only 2"},
  };
  for (const auto& test : tests) {
    FileList files = Files(1);
    files.counts[0] = test.count;
    EXPECT_EQ(All(files), test.got) << test.count;
    if (*test.text == '\0') continue;
    EXPECT_EQ(fault_.cause, Cause::kFailedPrecondition);
    EXPECT_EQ(fault_.place.file, a_.path());
    EXPECT_NE(fault_.text.find(test.text), std::string::npos) << fault_.text;
  }
}

TEST_F(RecordWalkTest, GoesOnFromAnyPosition) {
  const FileList files = Files(2);
  for (size_t begin = 0; begin <= 6; ++begin) {
    RecordWalk walk(files, 1, OpenFile);
    const std::string head = All(&walk, begin);
    const WalkPosition at = walk.position();
    ASSERT_TRUE(walk.Fits(at));
    const std::string tail = All(&walk);
    RecordWalk other(files, 1, OpenFile);
    other.Seek(at);
    EXPECT_EQ(All(&other), tail) << "from record " << begin;
    EXPECT_EQ(head.substr(0, head.size() - 4) + tail, "a0 a1 c0 a0 a1 c0 end");
  }
}

TEST_F(RecordWalkTest, RefusesPositionsOfOtherFiles) {
  const FileList files = Files(2);
  const RecordWalk walk(files, 1, OpenFile);
  const WalkPosition bad[] = {
      {-1, 0, 0, 0, 0}, {0, -1, 0, 0, 0}, {0, 4, 0, 0, 0},
      {0, 0, -1, 0, 0}, {0, 0, 0, -1, 0}, {0, 0, 0, 0, -1},
  };
  for (const WalkPosition& at : bad) EXPECT_FALSE(walk.Fits(at));
  EXPECT_TRUE(walk.Fits({1, 3, 0, 0, 3}));
}

TEST_F(RecordWalkTest, KnowsTheLastRecord) {
  const FileList files = Files(1);
  RecordWalk walk(files, 1, OpenFile);
  std::string_view record;
  bool end = false;
  ASSERT_TRUE(walk.Next(&record, &end, &fault_));
  ASSERT_TRUE(walk.Next(&record, &end, &fault_));
  EXPECT_EQ(walk.file(), 0);
  EXPECT_EQ(walk.ordinal(), 1);
  EXPECT_EQ(walk.offset(), 18);
  fault_.Set(Cause::kInvalidArgument, "bad");
  walk.Describe(&fault_);
  EXPECT_EQ(fault_.place.file, a_.path());
  EXPECT_EQ(fault_.place.record, 1);
  EXPECT_EQ(fault_.place.offset, 18);
  ASSERT_TRUE(walk.Next(&record, &end, &fault_));
  EXPECT_EQ(walk.file(), 2);
  EXPECT_EQ(walk.ordinal(), 0);
}

}  // namespace
}  // namespace millrace
