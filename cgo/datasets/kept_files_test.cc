#include "kept_files.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "records_test.h"

namespace millrace {
namespace {

class KeptFilesTest : public ::testing::Test {
 protected:
  RecordTable Table() {
    return RecordTable({a_.path(), none_.path(), b_.path()}, {2, 0, 1},
                       lengths_.data());
  }

  const std::vector<uint32_t> lengths_ = {2, 3, 4};
  const std::string first_ = Frame("a0") + Frame("a-1"),
                    second_ = Frame("b--0");
  TempFile a_{first_}, none_{""}, b_{second_};
};

// Threads that request the same file at the same time get the same bytes.
TEST_F(KeptFilesTest, HasTheContentsForSeveralThreads) {
  const RecordTable table = Table();
  ASSERT_TRUE(KeptFiles::Fit(table));
  KeptFiles files(table);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      EXPECT_EQ(std::string_view(files.Contents(0), first_.size()), first_);
      EXPECT_NE(files.Contents(1), nullptr);
      EXPECT_EQ(std::string_view(files.Contents(2), second_.size()), second_);
    });
  }
  for (std::thread& thread : threads) thread.join();
  a_.Write("");
  EXPECT_EQ(std::string_view(files.Contents(0), first_.size()), first_);
}

// A file that has changed since it was indexed is not kept, but the others are.
TEST_F(KeptFilesTest, LeavesOutOtherFiles) {
  const RecordTable table = Table();
  for (const std::string& other : {first_ + "x", first_.substr(1)}) {
    a_.Write(other);
    KeptFiles files(table);
    EXPECT_EQ(files.Contents(0), nullptr);
    EXPECT_NE(files.Contents(2), nullptr);
  }
  unlink(a_.path().c_str());
  EXPECT_EQ(KeptFiles(table).Contents(0), nullptr);
}

TEST_F(KeptFilesTest, AreSmall) {
  const std::vector<uint32_t> lengths = {40 << 20, 20 << 20, 10 << 20};
  EXPECT_FALSE(KeptFiles::Fit(RecordTable({"a", "b"}, {2, 1}, lengths.data())));
  EXPECT_TRUE(KeptFiles::Fit(RecordTable({"a"}, {2}, lengths.data())));
}

}  // namespace
}  // namespace millrace
