#include "record_blocks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "records_test.h"

namespace millrace {
namespace {

// TextSlot holds a text record. It refuses the text "refused".
class TextSlot : public RecordSlot {
 public:
  std::string_view text() const { return text_; }

 protected:
  bool Decode(std::string_view record, Fault* fault) override {
    text_ = record;
    return record != "refused" ||
           fault->SetFeature("x", Cause::kInvalidArgument, "no text");
  }

 private:
  std::string_view text_;
};

class RecordBlocksTest : public ::testing::TestWithParam<int64_t> {
 protected:
  std::unique_ptr<RecordBlocks> Open() {
    return std::make_unique<RecordBlocks>(files_, 0, GetParam(), pool_);
  }

  // Read returns up to n records, and the end or the fault after them.
  std::string Read(RecordBlocks* reader, int n = 1000) {
    std::string all;
    for (int i = 0; i < n; ++i) {
      std::shared_ptr<const RecordSlot> slot;
      bool end = false;
      fault_ = Fault();
      if (!reader->Next(&slot, &end, &fault_)) return all + "fault";
      if (end) return all + "end";
      all += static_cast<const TextSlot&>(*slot).text();
      all += ' ';
    }
    return all + "more";
  }

  std::string All() { return Read(Open().get()); }

  TempFile a_{Frame("a0") + Frame("a1") + Frame("a2")};
  TempFile none_{""};
  TempFile b_{Frame("b0") + Frame("")};
  FileList files_{{a_.path(), none_.path(), b_.path()}, {3, 0, -1}, 1};
  Fault fault_;
  std::atomic<int> slots_{0};
  std::shared_ptr<BlockPool> pool_ = std::make_shared<BlockPool>([this] {
    ++slots_;
    return std::make_unique<TextSlot>();
  });
};

TEST_P(RecordBlocksTest, ReadsFilesInOrder) {
  EXPECT_EQ(All(), "a0 a1 a2 b0  end");
  EXPECT_EQ(Read(Open().get(), 2), "a0 a1 more");
  files_ = FileList();
  EXPECT_EQ(All(), "end");
}

TEST_P(RecordBlocksTest, StaysAtTheEnd) {
  const auto reader = Open();
  EXPECT_EQ(Read(reader.get()), "a0 a1 a2 b0  end");
  EXPECT_EQ(Read(reader.get()), "end");
}

TEST_P(RecordBlocksTest, GoesOnFromEveryPosition) {
  const std::string all = "a0 a1 a2 b0  end";
  const auto reader = Open();
  for (size_t n = 0; n <= 5; ++n) {
    const WalkPosition at = reader->position();
    const auto other = Open();
    other->Seek(at);
    EXPECT_EQ(Read(other.get()), all.substr(std::min<size_t>(3 * n, 13)))
        << "record " << n;
    Read(reader.get(), 1);
  }
}

// A referenced slot keeps its record; the others are reused.
TEST_P(RecordBlocksTest, UsesSlotsAgain) {
  std::string bytes;
  for (int i = 0; i < 5000; ++i) bytes += Frame(std::to_string(i));
  a_.Write(bytes);
  files_ = {{a_.path()}, {5000}, 1};
  const auto reader = Open();
  std::shared_ptr<const RecordSlot> kept, slot;
  bool end = false;
  ASSERT_TRUE(reader->Next(&kept, &end, &fault_));
  for (int i = 1; i < 5000; ++i) {
    ASSERT_TRUE(reader->Next(&slot, &end, &fault_));
    EXPECT_EQ(static_cast<const TextSlot&>(*slot).text(), std::to_string(i));
    EXPECT_EQ(slot->at().ordinal, i);
  }
  EXPECT_EQ(static_cast<const TextSlot&>(*kept).text(), "0");
  EXPECT_LE(slots_, 1000);
}

TEST_P(RecordBlocksTest, HoldsRecordsBeyondItsLife) {
  std::shared_ptr<const RecordSlot> slot;
  bool end = false;
  ASSERT_TRUE(Open()->Next(&slot, &end, &fault_));
  EXPECT_EQ(static_cast<const TextSlot&>(*slot).text(), "a0");
}

TEST_P(RecordBlocksTest, ReadsRecordsLargerThanABlock) {
  const std::string large(5 << 20, 'x');
  a_.Write(Frame(large) + Frame("a1") + Frame(large));
  EXPECT_EQ(All(), large + " a1 " + large + " b0  end");
}

// A fault comes after the preceding records, and again on each later call.
TEST_P(RecordBlocksTest, NamesADamagedRecord) {
  std::string bytes = Frame("a0") + Frame("a1");
  bytes[bytes.size() - 5] ^= 1;
  a_.Write(bytes + Frame("a2"));
  const auto reader = Open();
  EXPECT_EQ(Read(reader.get()), "a0 fault");
  EXPECT_EQ(fault_.cause, Cause::kDataLoss);
  EXPECT_EQ(fault_.place.file, a_.path());
  EXPECT_EQ(fault_.place.record, 1);
  EXPECT_EQ(fault_.place.offset, 18);
  EXPECT_EQ(Read(reader.get()), "fault");
}

TEST_P(RecordBlocksTest, NamesARecordThatIsNotDecoded) {
  a_.Write(Frame("a0") + Frame("refused") + Frame("a2"));
  const auto reader = Open();
  EXPECT_EQ(Read(reader.get()), "a0 fault");
  EXPECT_EQ(fault_.place.file, a_.path());
  EXPECT_EQ(fault_.place.record, 1);
  EXPECT_EQ(fault_.place.feature, "x");
  EXPECT_EQ(Read(reader.get()), "fault");
}

TEST_P(RecordBlocksTest, NamesWhatIsWrongWithAFile) {
  const std::string whole = Frame("a0") + Frame("a1") + Frame("a2");
  const struct {
    std::string bytes;
    std::string read;
    Cause cause;
  } tests[] = {
      {whole.substr(0, whole.size() - 1), "a0 a1 fault", Cause::kTruncated},
      {whole.substr(0, whole.size() - 10), "a0 a1 fault", Cause::kTruncated},
      {Frame("a0") + Header(uint64_t{1} << 40), "a0 fault", Cause::kTooLarge},
      {Frame("a0") + "no record is like this", "a0 fault", Cause::kDataLoss},
      {Frame("a0") + Frame("a1"), "a0 a1 fault", Cause::kFailedPrecondition},
      {whole + Frame("a3"), "a0 a1 a2 fault", Cause::kFailedPrecondition},
  };
  for (const auto& test : tests) {
    a_.Write(test.bytes);
    EXPECT_EQ(All(), test.read);
    EXPECT_EQ(fault_.cause, test.cause) << fault_.text;
    EXPECT_EQ(fault_.place.file, a_.path());
  }
  files_.names[1] = a_.path() + ".missing";
  a_.Write(whole);
  EXPECT_EQ(All(), "a0 a1 a2 fault");
  EXPECT_EQ(fault_.cause, Cause::kNotFound);
}

// A file that was changed does not match a position.
TEST_P(RecordBlocksTest, FindsAFileThatChanged) {
  const auto reader = Open();
  EXPECT_EQ(Read(reader.get(), 1), "a0 more");
  const WalkPosition at = reader->position();
  a_.Truncate(20);
  reader->Seek(at);
  EXPECT_EQ(Read(reader.get()), "fault");
  EXPECT_EQ(fault_.cause, Cause::kTruncated) << fault_.text;
}

// Damage to records that were not read ahead yet is found when they are read.
TEST_P(RecordBlocksTest, NamesWhatChangedWhileItWasRead) {
  const std::string large(1 << 20, 'x');
  std::string bytes;
  for (int i = 0; i < 12; ++i) bytes += Frame(large);
  const auto at = static_cast<int64_t>(9 * Frame(large).size());
  std::string before;
  for (int i = 0; i < 9; ++i) before += large + " ";
  files_ = {{a_.path()}, {12}, 1};
  for (const bool shrinks : {true, false}) {
    a_.Write(bytes);
    const auto reader = Open();
    std::string read = Read(reader.get(), 1);
    read.resize(read.size() - 4);  // "more"
    if (shrinks) {
      a_.Truncate(static_cast<size_t>(at) + 1000);
    } else {
      a_.Set(at + 1000, 'y');
    }
    EXPECT_EQ(read + Read(reader.get()), before + "fault") << shrinks;
    EXPECT_EQ(fault_.cause, shrinks ? Cause::kTruncated : Cause::kDataLoss);
    EXPECT_EQ(fault_.place.file, a_.path());
    EXPECT_EQ(fault_.place.record, 9);
    EXPECT_EQ(fault_.place.offset, at);
  }
}

// A reader may be destroyed at any moment, and started anywhere.
TEST_P(RecordBlocksTest, IsLeftWhileItReadsAhead) {
  std::string bytes;
  for (int i = 0; i < 2000; ++i) bytes += Frame(std::string(1000, 'x'));
  a_.Write(bytes);
  files_ = {{a_.path()}, {2000}, 1};
  for (int i = 0; i < 50; ++i) {
    const auto reader = Open();
    Read(reader.get(), 37 * i);
    const WalkPosition at = reader->position();
    EXPECT_EQ(at.ordinal, 37 * i);
    reader->Seek({});
    Read(reader.get(), i);
    reader->Seek(at);
    Read(reader.get(), 2);
    EXPECT_EQ(reader->position().ordinal, 37 * i + 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, RecordBlocksTest, ::testing::Values(1, 3));

}  // namespace
}  // namespace millrace
