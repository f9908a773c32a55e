#include "record_reader.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <new>
#include <utility>

#include "crc32c.h"
#include "record_frame.h"

namespace millrace {
namespace {

constexpr uint64_t kMaxRecord = 256 << 20;
constexpr size_t kMinBuffer = 64 << 10;

}  // namespace

RecordReader::RecordReader(size_t buffer_bytes, OpenSource open)
    : minimum_(std::max(buffer_bytes, kMinBuffer)), open_(std::move(open)) {}

void RecordReader::Close() {
  source_.reset();
  file_ = nullptr;
  begin_ = end_ = 0;
}

bool RecordReader::Open(const std::string& path, int64_t offset,
                        int64_t ordinal, Fault* fault) {
  Close();
  return Open(open_(path, fault), path, offset, ordinal, fault);
}

bool RecordReader::Open(std::unique_ptr<ByteSource> source,
                        const std::string& path, int64_t offset,
                        int64_t ordinal, Fault* fault) {
  Close();
  path_ = path;
  source_ = std::move(source);
  if (source_ == nullptr) return fault->In(path);
  file_ = dynamic_cast<FileSource*>(source_.get());
  next_ = current_ = offset;
  ordinal_ = ordinal;
  bool ok = offset >= 0 || fault->Set(Cause::kFailedPrecondition,
                                      "reading was to go on before its start");
  if (ok && offset > 0) ok = source_->Skip(offset, fault);
  if (!ok || !Reserve(minimum_, fault)) {
    Close();
    return fault->In(path);
  }
  return true;
}

// Reserve makes the buffer at least `want` bytes large.
bool RecordReader::Reserve(size_t want, Fault* fault) {
  if (capacity_ >= want) return true;
  const size_t capacity = std::max(want, minimum_);
  std::unique_ptr<char[]> larger(new (std::nothrow) char[capacity]);
  if (larger == nullptr) {
    return fault->Set(Cause::kResourceExhausted,
                      "no memory for a buffer of %zu bytes", capacity);
  }
  if (end_ > begin_) {
    std::memcpy(larger.get(), buffer_.get() + begin_, end_ - begin_);
    moved_ += static_cast<int64_t>(end_ - begin_);
  }
  end_ -= begin_;
  begin_ = 0;
  buffer_ = std::move(larger);
  capacity_ = capacity;
  return true;
}

// Fill buffers `want` bytes, or the rest of the file.
bool RecordReader::Fill(size_t want, size_t* got, Fault* fault) {
  for (;;) {
    *got = end_ - begin_;
    if (*got >= want) return true;
    const int64_t left = source_->left();
    size_t room = want;
    if (left >= 0) {
      room = std::min(want, *got + static_cast<size_t>(left));
      if (room == *got) return true;
    } else if (*got < capacity_) {
      // Only a full buffer doubles: a source returns some 64 KiB at a time, and
      // copying the record for each of them would take quadratic time.
      room = std::min(want, capacity_);
    } else {
      room = std::min(want, std::max(2 * *got, minimum_));
    }
    if (!Reserve(room, fault)) return false;
    if (begin_ + room > capacity_ || begin_ == end_) {
      std::memmove(buffer_.get(), buffer_.get() + begin_, *got);
      moved_ += static_cast<int64_t>(*got);
      begin_ = 0;
      end_ = *got;
    }
    size_t read;
    const size_t most = exactly_ ? room - *got : capacity_ - end_;
    if (!source_->Read(buffer_.get() + end_, most, &read, fault)) return false;
    if (read == 0) return true;
    end_ += read;
  }
}

int64_t RecordReader::NextRun(const Layout& layout, int64_t n, char* to,
                              WorkerPool* workers) {
  if (file_ == nullptr) return 0;
  const int64_t left = file_->left() + static_cast<int64_t>(end_ - begin_);
  n = std::min(n, left / RunBytes(layout));
  if (n <= 0) return 0;
  const int64_t run = ReadRun(*file_, layout, next_, n, to, workers);
  if (run == 0) return 0;
  begin_ = end_ = 0;
  next_ += run * RunBytes(layout);
  current_ = next_ - RunBytes(layout);
  ordinal_ += run;
  file_->SeekTo(next_);
  return run;
}

void RecordReader::Describe(Fault* fault) const {
  const int64_t record = current_ == next_ ? ordinal_ : ordinal_ - 1;
  fault->At(path_, record, current_);
}

// Fail adds the location to a fault of the source, or of the unreadable record.
RecordReader::Outcome RecordReader::Fail(Fault* fault) const {
  Describe(fault);
  return Outcome::kFault;
}

RecordReader::Outcome RecordReader::Truncated(Fault* fault, size_t got,
                                              uint64_t want,
                                              const char* what) const {
  fault->Set(Cause::kTruncated, "the file is truncated: %zu of %" PRIu64 " %s",
             got, want, what);
  return Fail(fault);
}

RecordReader::Outcome RecordReader::TooLarge(Fault* fault, uint64_t length,
                                             int64_t left) const {
  if (left < 0) {
    fault->Set(Cause::kTooLarge, "it claims %" PRIu64 " bytes, cap 256 MiB",
               length);
  } else {
    fault->Set(Cause::kTooLarge,
               "it claims %" PRIu64 " bytes, %" PRId64 " remain, cap 256 MiB",
               length, left);
  }
  return Fail(fault);
}

RecordReader::Outcome RecordReader::Next(std::string_view* record,
                                         Fault* fault) {
  current_ = next_;
  size_t got;
  if (!Fill(kHeader, &got, fault)) return Fail(fault);
  if (got == 0) {
    return source_->CheckEnd(fault) ? Outcome::kEnd : Fail(fault);
  }
  if (got < kHeader) return Truncated(fault, got, kHeader, "header bytes");
  const char* header = buffer_.get() + begin_;
  if (MaskCrc(Crc32c(header, 8)) != LoadLittle<uint32_t>(header + 8)) {
    fault->Set(Cause::kDataLoss,
               "the length checksum does not match: the header is damaged, or "
               "this is no TFRecord file");
    return Fail(fault);
  }
  const auto length = LoadLittle<uint64_t>(header);
  int64_t left = source_->left();
  if (left >= 0) left += static_cast<int64_t>(end_ - begin_ - kHeader);
  if (length > kMaxRecord) return TooLarge(fault, length, left);
  // If the rest of the file is unknown, the bytes read decide.
  const size_t whole = kHeader + static_cast<size_t>(length) + kFooter;
  const bool fits = left < 0 || static_cast<uint64_t>(left) >= length + kFooter;
  if (fits && !Fill(whole, &got, fault)) return Fail(fault);
  if (!fits || got < whole) {
    const uint64_t data = fits ? got - kHeader : static_cast<uint64_t>(left);
    if (data < length) return Truncated(fault, data, length, "data bytes");
    return Truncated(fault, data - length, kFooter, "data checksum bytes");
  }
  const char* data = buffer_.get() + begin_ + kHeader;
  if (MaskCrc(Crc32c(data, length)) != LoadLittle<uint32_t>(data + length)) {
    fault->Set(Cause::kDataLoss, "the data checksum does not match");
    return Fail(fault);
  }
  *record = std::string_view(data, length);
  begin_ += whole;
  next_ += static_cast<int64_t>(whole);
  ++ordinal_;
  return Outcome::kRecord;
}

}  // namespace millrace
