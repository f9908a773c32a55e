#include "record_block.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "block_pool.h"
#include "records_test.h"

namespace millrace {
namespace {

class SizeSlot : public RecordSlot {
 public:
  size_t size() const { return size_; }

 protected:
  bool Decode(std::string_view record, Fault*) override {
    size_ = record.size();
    return true;
  }

 private:
  size_t size_ = 0;
};

constexpr size_t kSize = 100;           // bytes of a record
constexpr size_t kStored = kSize + 16;  // bytes of a record in the file

class RecordBlockTest : public ::testing::Test {
 protected:
  RecordBlockTest() {
    std::string bytes;
    for (int i = 0; i < 100; ++i) bytes += Frame(std::string(kSize, 'x'));
    file_.Write(bytes);
  }

  bool Find(size_t piece, int64_t record = 0, int64_t count = -1) {
    Fault fault;
    WalkPosition at;
    at.offset = record * static_cast<int64_t>(kStored);
    at.ordinal = record;
    return block_.Find(FileSource::Open(file_.path(), &fault), at, count,
                       piece);
  }

  // Whole returns the number of records that were loaded without a fault.
  size_t Whole() {
    block_.Load();
    size_t n = 0;
    while (n < block_.size() && block_.slot(n).intact()) ++n;
    return n;
  }

  TempFile file_{""};
  RecordBlock block_{[] { return std::make_unique<SizeSlot>(); }};
};

TEST_F(RecordBlockTest, FindsWhatBeginsInAPiece) {
  const struct {
    size_t piece;
    size_t records;
  } tests[] = {
      {12, 1},       // a header
      {kStored, 1},  // the next header is missing
      {kStored + 11, 1},
      {kStored + 12, 2},
      {1 << 20, RecordBlock::kMostRecords},
  };
  for (const auto& test : tests) {
    ASSERT_TRUE(Find(test.piece)) << test.piece;
    EXPECT_EQ(block_.size(), test.records) << test.piece;
    EXPECT_EQ(block_.bytes(), test.records * kStored);
    EXPECT_EQ(Whole(), test.records);
    const auto& last =
        static_cast<const SizeSlot&>(block_.slot(test.records - 1));
    EXPECT_EQ(last.size(), kSize);
    EXPECT_EQ(last.behind().offset,
              static_cast<int64_t>(test.records * kStored));
    EXPECT_EQ(last.behind().ordinal, static_cast<int64_t>(test.records));
  }
}

TEST_F(RecordBlockTest, StopsAtTheEndOfAFile) {
  ASSERT_TRUE(Find(1 << 20, 97));
  EXPECT_EQ(block_.size(), 3u);
  EXPECT_EQ(Whole(), 3u);
  ASSERT_TRUE(Find(1 << 20, 97, 98));
  EXPECT_EQ(block_.size(), 1u);
  EXPECT_FALSE(Find(1 << 20, 98, 98));
  EXPECT_FALSE(Find(1 << 20, 100));
}

TEST_F(RecordBlockTest, FindsThatAFileShrank) {
  ASSERT_TRUE(Find(kStored + 50));
  file_.Truncate(kStored + 60);
  EXPECT_EQ(block_.size(), 2u);
  EXPECT_EQ(Whole(), 1u);
}

TEST_F(RecordBlockTest, FindsThatAFileChanged) {
  ASSERT_TRUE(Find(kStored + 50));
  file_.Set(kStored + 70, 'y');
  EXPECT_EQ(Whole(), 1u);
}

TEST_F(RecordBlockTest, HoldsARecord) {
  Fault fault;
  const WalkPosition at = {0, 3, 40, 2, 7};
  ASSERT_TRUE(block_.Hold("text", at, &fault));
  ASSERT_EQ(block_.size(), 1u);
  EXPECT_TRUE(block_.slot(0).intact());
  EXPECT_EQ(static_cast<const SizeSlot&>(block_.slot(0)).size(), 4u);
  EXPECT_EQ(block_.slot(0).behind().offset, 60);
  EXPECT_EQ(block_.slot(0).behind().file, 3);
}

TEST(BlockPoolTest, UsesBlocksAgain) {
  auto pool =
      std::make_unique<BlockPool>([] { return std::make_unique<SizeSlot>(); });
  auto a = pool->Take();
  const RecordBlock* const first = a.get();
  auto b = pool->Take();
  EXPECT_NE(b.get(), first);
  a = nullptr;
  EXPECT_EQ(pool->Take().get(), first);
  pool = nullptr;
  b = nullptr;  // frees the block, since the pool is gone
}

}  // namespace
}  // namespace millrace
