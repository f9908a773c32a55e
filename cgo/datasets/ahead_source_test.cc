#include "ahead_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

namespace millrace {
namespace {

constexpr size_t kLarge = 5 << 20;  // needs the thread, and fills its blocks

std::string Bytes(size_t n) {
  std::string bytes(n, '\0');
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  return bytes;
}

// Slow yields bytes a few at a time, and then the end or a fault.
class Slow : public ByteSource {
 public:
  Slow(std::string bytes, Cause end) : bytes_(std::move(bytes)), end_(end) {}

  bool Read(char* to, size_t n, size_t* got, Fault* fault) override {
    *got = std::min({n, bytes_.size() - at_, size_t{7001}});
    std::copy_n(bytes_.data() + at_, *got, to);
    at_ += *got;
    if (*got > 0 || end_ == Cause::kNone) return true;
    return fault->Set(end_, "it is damaged");
  }
  bool Skip(int64_t n, Fault*) override {
    at_ += static_cast<size_t>(n);
    return true;
  }
  int64_t left() const override { return -1; }
  bool CheckEnd(Fault* fault) override {
    return fault->Set(Cause::kFailedPrecondition, "it changed");
  }

 private:
  const std::string bytes_;
  const Cause end_;
  size_t at_ = 0;
};

std::unique_ptr<AheadSource> Ahead(std::string bytes, Cause end) {
  return std::make_unique<AheadSource>(
      std::make_unique<Slow>(std::move(bytes), end));
}

// Rest returns the remaining bytes, read up to n bytes at a time.
std::string Rest(ByteSource* source, size_t n, Fault* fault) {
  std::string rest, buffer(n, '?');
  for (size_t got = 1; got > 0;) {
    if (!source->Read(buffer.data(), n, &got, fault)) break;
    rest.append(buffer, 0, got);
  }
  return rest;
}

TEST(AheadSourceReader, ReadsWhatTheSourceHas) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{300000}, kLarge}) {
    for (const bool early : {false, true}) {
      for (const size_t n : {size_t{4097}, size_t{1} << 20}) {
        Fault fault;
        const auto source = Ahead(Bytes(size), Cause::kNone);
        if (early) source->ReadAhead(1);
        EXPECT_TRUE(Rest(source.get(), n, &fault) == Bytes(size)) << size;
        EXPECT_EQ(fault.cause, Cause::kNone);
        EXPECT_FALSE(source->CheckEnd(&fault));
        EXPECT_EQ(fault.text, "it changed");
      }
    }
  }
}

// A fault is reported after all preceding bytes, and is sticky.
TEST(AheadSourceReader, FailsBehindTheBytesBeforeIt) {
  for (const size_t size : {size_t{0}, size_t{300000}, kLarge}) {
    for (const bool early : {false, true}) {
      const auto source = Ahead(Bytes(size), Cause::kDataLoss);
      if (early) source->ReadAhead(kLarge);
      Fault fault;
      EXPECT_TRUE(Rest(source.get(), 65536, &fault) == Bytes(size)) << size;
      EXPECT_EQ(fault.cause, Cause::kDataLoss);
      Fault again;
      EXPECT_EQ(Rest(source.get(), 65536, &again), "");
      EXPECT_EQ(again.text, "it is damaged");
    }
  }
}

TEST(AheadSourceReader, Skips) {
  for (const int64_t skipped : {int64_t{1}, int64_t{700000}}) {
    for (const bool early : {false, true}) {
      Fault fault;
      const auto source = Ahead(Bytes(kLarge), Cause::kNone);
      if (early) source->ReadAhead(1);
      ASSERT_TRUE(source->Skip(skipped, &fault)) << fault.text;
      EXPECT_TRUE(Rest(source.get(), 4096, &fault) ==
                  Bytes(kLarge).substr(static_cast<size_t>(skipped)));
    }
  }
  Fault fault;
  const auto source = Ahead(Bytes(100), Cause::kNone);
  source->ReadAhead(1);
  EXPECT_FALSE(source->Skip(101, &fault));
  EXPECT_EQ(fault.cause, Cause::kFailedPrecondition);
}

// Closing a file in its middle does not wait for the rest of it.
TEST(AheadSourceReader, StopsWhenItIsClosed) {
  for (const size_t ahead : {size_t{1}, kLarge * 2}) {
    const auto source = Ahead(Bytes(kLarge), Cause::kNone);
    source->ReadAhead(ahead);
    char byte;
    size_t got;
    Fault fault;
    ASSERT_TRUE(source->Read(&byte, 1, &got, &fault));
    EXPECT_EQ(got, 1u);
  }
}

}  // namespace
}  // namespace millrace
