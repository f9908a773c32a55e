#include "record_rows.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "crc32c.h"
#include "record_frame.h"

namespace millrace {
namespace {

constexpr size_t kFrame = kHeader + kFooter;
constexpr size_t kMost = 64 << 20;    // bytes; RecordWalk reads larger ones
constexpr size_t kStride = 64 << 10;  // capacities are multiples of it

// A system call reads the estimated size of the records, but at most this,
// which fits the processor's own cache.
constexpr size_t kPiece = 512 << 10;

bool Matches(const char* data, size_t n, const char* checksum) {
  return MaskCrc(Crc32c(data, n)) == LoadLittle<uint32_t>(checksum);
}

}  // namespace

// Reserve makes room for `bytes` bytes, and keeps the bytes already read.
bool RecordRows::Reserve(size_t bytes) {
  if (capacity_ >= bytes) return true;
  bytes = (bytes + bytes / 4 + kStride - 1) / kStride * kStride;
  std::unique_ptr<char[]> data(new (std::nothrow) char[bytes]);
  if (data == nullptr) return false;
  if (read_ > 0) std::memcpy(data.get(), data_.get(), read_);
  data_ = std::move(data);
  capacity_ = bytes;
  return true;
}

// ReadTo continues to read the file until `bytes` bytes follow the records that
// were found, which end at an offset.
bool RecordRows::ReadTo(const FileCursor& cursor, int64_t offset,
                        size_t bytes) {
  if (read_ - end_ >= bytes) return true;
  if (bytes > kMost || end_ + bytes > kMost || !Reserve(end_ + bytes)) {
    return false;
  }
  struct iovec part = {data_.get() + read_, end_ + bytes - read_};
  const int64_t from = offset + static_cast<int64_t>(read_ - end_);
  if (!cursor.file()->ReadParts(&part, 1, from)) return false;
  read_ = end_ + bytes;
  return true;
}

// Worth returns the number of bytes worth reading for n records.
size_t RecordRows::Worth(size_t n) const {
  const size_t most = std::min(n, kPiece);
  return mean_ == 0 ? kPiece : std::clamp(most * (mean_ + 1), kFrame, kPiece);
}

// FindInFile finds records of the open file, up to n in all. It returns false
// at a fault.
bool RecordRows::FindInFile(FileCursor* cursor, size_t n) {
  WalkPosition at = cursor->at();
  const int64_t size = cursor->file()->size();
  for (; records_.size() < n && at.offset < size; ++at.ordinal) {
    const auto left = static_cast<size_t>(size - at.offset);
    if (left < kFrame || at.ordinal == cursor->count()) return false;
    if (read_ - end_ < kHeader &&
        !ReadTo(*cursor, at.offset,
                std::min(left, Worth(n - records_.size())))) {
      return false;
    }
    const char* const header = data_.get() + end_;
    const auto length = LoadLittle<uint64_t>(header);
    if (!Matches(header, 8, header + 8) || length > left - kFrame) return false;
    const size_t bytes = kFrame + static_cast<size_t>(length);
    if (!ReadTo(*cursor, at.offset, bytes)) return false;
    if (!cursor->Skips(at.ordinal)) {
      records_.push_back({end_ + kHeader, static_cast<size_t>(length)});
    }
    end_ += bytes;
    at.offset += static_cast<int64_t>(bytes);
  }
  cursor->GoTo(at);
  return true;
}

bool RecordRows::Find(FileCursor* cursor, size_t n) {
  records_.clear();
  end_ = read_ = 0;
  while (records_.size() < n) {
    if (!cursor->Open()) return false;
    if (!FindInFile(cursor, n)) return false;
  }
  mean_ = end_ / n;
  behind_ = cursor->at();
  return true;
}

bool RecordRows::Intact(size_t i) const {
  const std::string_view data = record(i);
  return Matches(data.data(), data.size(), data.data() + data.size());
}

}  // namespace millrace
