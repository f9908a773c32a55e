#include "record_block.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "crc32c.h"
#include "record_frame.h"

namespace millrace {
namespace {

constexpr uint64_t kMaxRecord = 256 << 20;  // RecordWalk reads larger ones
constexpr size_t kFrame = kHeader + kFooter;
constexpr size_t kStride = 64 << 10;  // capacities are multiples of it

bool Matches(const char* data, size_t n, const char* checksum) {
  return MaskCrc(Crc32c(data, n)) == LoadLittle<uint32_t>(checksum);
}

}  // namespace

WalkPosition RecordSlot::behind() const {
  WalkPosition next = at_;
  next.offset += static_cast<int64_t>(kFrame + length_);
  ++next.ordinal;
  return next;
}

// Reserve allocates space for `bytes` bytes, and keeps the existing ones.
bool RecordBlock::Reserve(size_t bytes, size_t kept) {
  if (capacity_ >= bytes) return true;
  bytes = (bytes + kStride - 1) / kStride * kStride;
  std::unique_ptr<char[]> data(new (std::nothrow) char[bytes]);
  if (data == nullptr) return false;
  if (kept > 0) std::memcpy(data.get(), data_.get(), kept);
  data_ = std::move(data);
  capacity_ = bytes;
  return true;
}

// Add returns the slot of another record.
RecordSlot* RecordBlock::Add() {
  if (size_ == slots_.size()) slots_.push_back(make_());
  RecordSlot* const slot = slots_[size_++].get();
  slot->intact_ = false;
  slot->fault_ = Fault();
  return slot;
}

// ReadTo reads the bytes of the file up to an end in the block.
bool RecordBlock::ReadTo(size_t end) {
  if (end <= read_) return true;
  if (!Reserve(end, read_)) return false;
  struct iovec part = {data_.get() + read_, end - read_};
  if (!file_->ReadParts(&part, 1, offset_ + static_cast<int64_t>(read_))) {
    return false;
  }
  read_ = end;
  return true;
}

bool RecordBlock::Find(std::shared_ptr<const FileSource> file,
                       const WalkPosition& at, int64_t count, size_t piece) {
  file_ = std::move(file);
  offset_ = at.offset;
  size_ = bytes_ = read_ = 0;
  const auto left = static_cast<size_t>(file_->size() - offset_);
  if (!ReadTo(std::min(piece, left))) return false;
  WalkPosition next = at;
  while (size_ < kMostRecords && bytes_ + kHeader <= read_ &&
         left - bytes_ >= kFrame && (count < 0 || next.ordinal < count)) {
    const char* const header = data_.get() + bytes_;
    if (!Matches(header, 8, header + 8)) break;
    const auto length = LoadLittle<uint64_t>(header);
    if (length > kMaxRecord || length > left - bytes_ - kFrame) break;
    RecordSlot* const slot = Add();
    slot->at_ = next;
    slot->begin_ = bytes_ + kHeader;
    slot->length_ = length;
    bytes_ += kFrame + length;
    next = slot->behind();
  }
  return size_ > 0;
}

void RecordBlock::Load() {
  // The last record is not intact if the file shrank meanwhile.
  const size_t whole = ReadTo(bytes_) ? size_ : size_ - 1;
  for (size_t i = 0; i < whole; ++i) {
    RecordSlot& slot = *slots_[i];
    const char* const data = data_.get() + slot.begin_;
    slot.intact_ = Matches(data, slot.length_, data + slot.length_);
    if (slot.intact_) slot.Decode({data, slot.length_}, &slot.fault_);
  }
  file_ = nullptr;
}

bool RecordBlock::Hold(std::string_view record, const WalkPosition& at,
                       Fault* fault) {
  file_ = nullptr;
  size_ = 0;
  bytes_ = record.size();
  if (!Reserve(bytes_ + 1, 0)) {
    return fault->Set(Cause::kResourceExhausted, "no memory for a record");
  }
  std::copy(record.begin(), record.end(), data_.get());
  RecordSlot* const slot = Add();
  slot->at_ = at;
  slot->length_ = bytes_;
  slot->begin_ = 0;
  slot->intact_ = true;
  return slot->Decode({data_.get(), bytes_}, fault);
}

}  // namespace millrace
