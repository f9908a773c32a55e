#include "record_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "records_test.h"

namespace millrace {
namespace {

using Outcome = RecordReader::Outcome;

// ReadAll returns the records of a file up to its end or the first fault.
std::vector<std::string> ReadAll(const std::string& path, Fault* fault,
                                 size_t buffer_bytes = 1) {
  RecordReader reader(buffer_bytes, OpenFile);
  std::vector<std::string> records;
  if (!reader.Open(path, 0, 0, fault)) return records;
  std::string_view record;
  while (reader.Next(&record, fault) == Outcome::kRecord) {
    records.emplace_back(record);
  }
  return records;
}

std::vector<std::string> ReadBytes(const std::string& bytes, Fault* fault) {
  return ReadAll(TempFile(bytes).path(), fault);
}

// Numbered returns records of different sizes, the first of them empty.
std::vector<std::string> Numbered(int n) {
  std::vector<std::string> records;
  for (int i = 0; i < n; ++i) records.emplace_back(7 * i, 'a' + i % 26);
  return records;
}

std::string Framed(const std::vector<std::string>& records) {
  std::string bytes;
  for (const std::string& record : records) bytes += Frame(record);
  return bytes;
}

TEST(RecordReader, ReadsRecordsOfEverySize) {
  const std::vector<std::string> records = {
      "", "a", std::string(70000, 'b'), "", std::string(3 << 20, 'c'), "d"};
  const TempFile file(Framed(records));
  for (const size_t buffer : {size_t{0}, size_t{1} << 20}) {
    Fault fault;
    EXPECT_EQ(ReadAll(file.path(), &fault, buffer), records);
    EXPECT_EQ(fault.cause, Cause::kNone) << fault.text;
  }
}

TEST(RecordReader, ReadsAnEmptyFile) {
  Fault fault;
  EXPECT_TRUE(ReadBytes("", &fault).empty());
  EXPECT_EQ(fault.cause, Cause::kNone);
}

// A file that is cut at any byte yields the records before the cut, and a fault
// unless the cut is between two records.
TEST(RecordReader, FindsEachCut) {
  const std::vector<std::string> records = Numbered(10);
  const std::string bytes = Framed(records);
  std::vector<size_t> ends = {0};
  for (const auto& r : records) ends.push_back(ends.back() + 16 + r.size());
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    Fault fault;
    const size_t n = ReadBytes(bytes.substr(0, cut), &fault).size();
    ASSERT_LE(ends[n], cut);
    ASSERT_TRUE(n == records.size() || cut < ends[n + 1]) << "cut " << cut;
    if (ends[n] == cut) {
      ASSERT_EQ(fault.cause, Cause::kNone) << fault.text;
    } else {
      ASSERT_EQ(fault.cause, Cause::kTruncated);
      ASSERT_NE(fault.text.find("the file is truncated"), std::string::npos)
          << fault.text;
    }
  }
}

TEST(RecordReader, FindsEachFlippedBit) {
  const std::vector<std::string> records = Numbered(10);
  const std::string bytes = Framed(records);
  std::vector<size_t> ends = {0};
  for (const auto& r : records) ends.push_back(ends.back() + 16 + r.size());
  for (size_t bit = 0; bit < bytes.size() * 8; bit += 11) {
    std::string flipped = bytes;
    flipped[bit / 8] ^= 1 << (bit % 8);
    Fault fault;
    const size_t n = ReadBytes(flipped, &fault).size();
    ASSERT_EQ(fault.cause, Cause::kDataLoss) << "bit " << bit;
    ASSERT_LE(ends[n], bit / 8);
    ASSERT_LT(bit / 8, ends[n + 1]);
    const std::string place = "record " + std::to_string(n) + " (offset " +
                              std::to_string(ends[n]) + "): ";
    ASSERT_NE(fault.text.find(place), std::string::npos) << fault.text;
    ASSERT_EQ(fault.place.record, static_cast<int64_t>(n));
    ASSERT_EQ(fault.place.offset, static_cast<int64_t>(ends[n]));
  }
}

// A header with a correct checksum may claim any length.
TEST(RecordReader, TakesNoMemoryForWhatAHeaderClaims) {
  const struct {
    uint64_t length;
    Cause cause;
    const char* text;
  } tests[] = {
      {1000, Cause::kTruncated, "3 of 1000 data bytes"},
      {3, Cause::kTruncated, "0 of 4 data checksum bytes"},
      {256 << 20, Cause::kTruncated, "3 of 268435456 data bytes"},
      {(256 << 20) + 1, Cause::kTooLarge, "it claims 268435457 bytes"},
      {INT64_MAX, Cause::kTooLarge, "cap 256 MiB"},
      {UINT64_MAX - 15, Cause::kTooLarge, "cap 256 MiB"},
      {UINT64_MAX, Cause::kTooLarge, "3 remain"},
  };
  for (const auto& test : tests) {
    Fault fault;
    EXPECT_TRUE(ReadBytes(Header(test.length) + "abc", &fault).empty());
    EXPECT_EQ(fault.cause, test.cause) << fault.text;
    EXPECT_NE(fault.text.find(test.text), std::string::npos) << fault.text;
  }
}

TEST(RecordReader, SaysWhichFileCannotBeOpened) {
  const std::string dir = ::testing::TempDir();
  const TempFile file("");
  const std::string fifo = file.path() + ".fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const struct {
    std::string path;
    Cause cause;
    const char* text;
  } tests[] = {
      {file.path() + ".none", Cause::kNotFound, "open"},
      {file.path() + "/below", Cause::kNotFound, "open"},
      {dir, Cause::kFailedPrecondition, "not a regular file"},
      // The pipe has no writer: opening must not wait.
      {fifo, Cause::kFailedPrecondition, "not a regular file"},
  };
  for (const auto& test : tests) {
    Fault fault;
    RecordReader reader(1, OpenFile);
    EXPECT_FALSE(reader.Open(test.path, 0, 0, &fault));
    EXPECT_EQ(fault.cause, test.cause) << fault.text;
    EXPECT_NE(fault.text.find(test.path), std::string::npos) << fault.text;
    EXPECT_NE(fault.text.find(test.text), std::string::npos) << fault.text;
  }
  unlink(fifo.c_str());
}

TEST(RecordReader, GoesOnFromAnyRecord) {
  const std::vector<std::string> records = Numbered(20);
  const TempFile file(Framed(records));
  RecordReader reader(1, OpenFile);
  Fault fault;
  ASSERT_TRUE(reader.Open(file.path(), 0, 0, &fault));
  std::string_view record;
  for (size_t i = 0; i < records.size(); ++i) {
    const int64_t offset = reader.offset(), ordinal = reader.ordinal();
    EXPECT_EQ(ordinal, static_cast<int64_t>(i));
    RecordReader other(1, OpenFile);
    ASSERT_TRUE(other.Open(file.path(), offset, ordinal, &fault));
    for (size_t k = i; k < records.size(); ++k) {
      ASSERT_EQ(other.Next(&record, &fault), Outcome::kRecord);
      ASSERT_EQ(record, records[k]);
    }
    ASSERT_EQ(other.Next(&record, &fault), Outcome::kEnd);
    ASSERT_EQ(reader.Next(&record, &fault), Outcome::kRecord);
  }
}

TEST(RecordReader, RefusesOffsetsOutsideTheFile) {
  const TempFile file(Frame("abc"));
  for (const int64_t offset : {int64_t{-1}, int64_t{20}, INT64_MAX}) {
    RecordReader reader(1, OpenFile);
    Fault fault;
    EXPECT_FALSE(reader.Open(file.path(), offset, 0, &fault));
    EXPECT_EQ(fault.cause, Cause::kFailedPrecondition) << fault.text;
  }
}

// A file is read up to its size when it was opened; a change is a fault.
TEST(RecordReader, FindsAFileThatChangesWhileItIsRead) {
  const std::string record(100000, 'r');
  const std::string bytes = Framed({record, record, record});
  const struct {
    const char* name;
    size_t size;
    const char* text;
  } tests[] = {
      {"cut in a record", bytes.size() - 1, "the file shrank"},
      {"cut between records", 2 * (record.size() + 16), "the file shrank"},
      {"emptied", 0, "the file shrank"},
      {"grown", bytes.size() + 5, "the file changed while it was read"},
  };
  for (const auto& test : tests) {
    TempFile file(bytes);
    RecordReader reader(1, OpenFile);
    Fault fault;
    ASSERT_TRUE(reader.Open(file.path(), 0, 0, &fault));
    std::string_view got;
    ASSERT_EQ(reader.Next(&got, &fault), Outcome::kRecord);
    file.Truncate(test.size);
    Outcome outcome;
    do {
      outcome = reader.Next(&got, &fault);
    } while (outcome == Outcome::kRecord);
    EXPECT_EQ(outcome, Outcome::kFault) << test.name;
    EXPECT_EQ(fault.cause, Cause::kFailedPrecondition) << test.name;
    EXPECT_NE(fault.text.find(test.text), std::string::npos) << fault.text;
  }
}

// Dripping is a source of unknown length that returns 64 KiB at a time, like an
// inflating source.
class Dripping : public ByteSource {
 public:
  explicit Dripping(std::string bytes) : bytes_(std::move(bytes)) {}
  bool Read(char* to, size_t n, size_t* got, Fault*) override {
    *got = std::min({n, size_t{64 << 10}, bytes_.size() - at_});
    std::memcpy(to, bytes_.data() + at_, *got);
    at_ += *got;
    return true;
  }
  bool Skip(int64_t n, Fault*) override {
    at_ += static_cast<size_t>(n);
    return true;
  }
  int64_t left() const override { return -1; }
  bool CheckEnd(Fault*) override { return true; }

 private:
  const std::string bytes_;
  size_t at_ = 0;
};

// If the rest of the file is unknown, a record of n bytes is copied at most
// twice.
TEST(RecordReader, CopiesALongRecordNoMoreThanTwice) {
  for (const size_t n : {size_t{1} << 20, size_t{32} << 20}) {
    const std::vector<std::string> records = {"a", std::string(n, 'x'), "b"};
    RecordReader reader(1, OpenFile);
    Fault fault;
    ASSERT_TRUE(reader.Open(std::make_unique<Dripping>(Framed(records)), "drip",
                            0, 0, &fault));
    std::string_view record;
    for (const std::string& want : records) {
      ASSERT_EQ(reader.Next(&record, &fault), Outcome::kRecord);
      EXPECT_TRUE(record == want);
    }
    EXPECT_EQ(reader.Next(&record, &fault), Outcome::kEnd);
    EXPECT_LT(reader.moved(), static_cast<int64_t>(2 * n));
  }
}

TEST(RecordReader, OpensAnotherFileAfterClose) {
  const TempFile one(Frame("one")), two(Frame("two"));
  RecordReader reader(1, OpenFile);
  Fault fault;
  std::string_view record;
  for (const TempFile* file : {&one, &two, &one}) {
    EXPECT_FALSE(reader.is_open());
    ASSERT_TRUE(reader.Open(file->path(), 0, 0, &fault));
    EXPECT_TRUE(reader.is_open());
    ASSERT_EQ(reader.Next(&record, &fault), Outcome::kRecord);
    EXPECT_EQ(record, file == &two ? "two" : "one");
    reader.Close();
  }
}

}  // namespace
}  // namespace millrace
