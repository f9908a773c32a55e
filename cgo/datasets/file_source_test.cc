#include "file_source.h"

#include <gtest/gtest.h>

#include <string>

#include "records_test.h"

namespace millrace {
namespace {

// Rest reads the remaining bytes, up to n bytes at a time.
bool Rest(ByteSource* source, size_t n, std::string* rest, Fault* fault) {
  std::string buffer(n, '?');
  for (size_t got = 1; got > 0;) {
    if (!source->Read(buffer.data(), n, &got, fault)) return false;
    rest->append(buffer, 0, got);
  }
  return true;
}

TEST(FileSource, ReadsToTheEnd) {
  const TempFile file("0123456789");
  for (const size_t n : {1, 3, 10, 1000}) {
    Fault fault;
    const auto source = FileSource::Open(file.path(), &fault);
    ASSERT_NE(source, nullptr) << fault.text;
    EXPECT_EQ(source->left(), 10);
    std::string rest;
    ASSERT_TRUE(Rest(source.get(), n, &rest, &fault)) << fault.text;
    EXPECT_EQ(rest, "0123456789");
    EXPECT_EQ(source->left(), 0);
    EXPECT_TRUE(source->CheckEnd(&fault));
  }
}

TEST(FileSource, SkipsAndSeeks) {
  const TempFile file("0123456789");
  Fault fault;
  const auto source = FileSource::Open(file.path(), &fault);
  ASSERT_NE(source, nullptr);
  ASSERT_TRUE(source->Skip(4, &fault));
  EXPECT_EQ(source->at(), 4);
  std::string rest;
  ASSERT_TRUE(Rest(source.get(), 2, &rest, &fault));
  EXPECT_EQ(rest, "456789");
  source->SeekTo(8);
  rest.clear();
  ASSERT_TRUE(Rest(source.get(), 2, &rest, &fault));
  EXPECT_EQ(rest, "89");
  source->SeekTo(8);
  EXPECT_FALSE(source->Skip(3, &fault));
  EXPECT_EQ(fault.cause, Cause::kFailedPrecondition);
  EXPECT_EQ(fault.text, "it has 10 bytes, reading was to go on at 11");
}

TEST(FileSource, ReadsPartsAndStaysWhereItIs) {
  const TempFile file("0123456789");
  Fault fault;
  const auto source = FileSource::Open(file.path(), &fault);
  ASSERT_NE(source, nullptr);
  char one[2], two[3];
  struct iovec parts[] = {{one, 2}, {nullptr, 0}, {two, 3}};
  ASSERT_TRUE(source->ReadParts(parts, 3, 4));
  EXPECT_EQ(std::string(one, 2) + std::string(two, 3), "45678");
  EXPECT_EQ(source->at(), 0);
  struct iovec past[] = {{one, 2}, {two, 3}};
  EXPECT_FALSE(source->ReadParts(past, 2, 6));
}

TEST(FileSource, FindsAFileThatChanges) {
  TempFile file("0123456789");
  Fault fault;
  auto source = FileSource::Open(file.path(), &fault);
  file.Truncate(4);
  std::string rest;
  EXPECT_FALSE(Rest(source.get(), 3, &rest, &fault));
  EXPECT_EQ(rest, "0123");
  EXPECT_EQ(fault.cause, Cause::kFailedPrecondition);
  EXPECT_EQ(fault.text, "the file shrank while it was read");
  source = FileSource::Open(file.path(), &fault);
  file.Truncate(5);
  EXPECT_FALSE(source->CheckEnd(&fault));
  EXPECT_EQ(fault.text,
            "the file changed while it was read: it had 4 bytes and has 5");
}

TEST(FileSource, SaysWhyAFileCannotBeOpened) {
  Fault fault;
  EXPECT_EQ(FileSource::Open(::testing::TempDir(), &fault), nullptr);
  EXPECT_EQ(fault.cause, Cause::kFailedPrecondition);
  const TempFile file("");
  EXPECT_EQ(FileSource::Open(file.path() + ".none", &fault), nullptr);
  EXPECT_EQ(fault.cause, Cause::kNotFound);
  EXPECT_EQ(FileSource::Open("", &fault), nullptr);
  EXPECT_EQ(fault.cause, Cause::kNotFound);
}

}  // namespace
}  // namespace millrace
