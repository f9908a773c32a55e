#include "ordered_reader.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstring>
#include <new>
#include <utility>

#include "crc32c.h"
#include "record_frame.h"

namespace millrace {
namespace {

// The horizon: more records lie nearer to each other, and need more memory.
constexpr size_t kRecordsAhead = 16 << 10;
constexpr int64_t kBytesAhead = 8 << 20;

// Two records with less between them are read by one call, as long as a call
// reads no more than fits the processor's own cache.
constexpr int64_t kNear = 8 << 10;
constexpr int64_t kPiece = 256 << 10;

constexpr size_t kTask = 256;       // records that a thread takes at a time
constexpr size_t kOpenFiles = 256;  // that stay open
constexpr size_t kAloneBuffer = 64 << 10;
constexpr int64_t kFrame = kHeader + kFooter;
constexpr int kDigitBits = 11;  // of a pass of sorting

// Intact reports whether the bytes between header and footer are a record of
// so many bytes.
bool Intact(const char* header, const char* data, uint32_t length,
            const char* footer) {
  return LoadLittle<uint64_t>(header) == length &&
         MaskCrc(Crc32c(header, 8)) == LoadLittle<uint32_t>(header + 8) &&
         MaskCrc(Crc32c(data, length)) == LoadLittle<uint32_t>(footer);
}

}  // namespace

OrderedReader::OrderedReader(const RecordTable& table, OrderSpec order,
                             int64_t end, int64_t threads)
    : table_(table),
      order_(std::move(order)),
      end_(end),
      workers_(threads),
      files_(kOpenFiles),
      alone_(kAloneBuffer) {}

void OrderedReader::Seek(int64_t position) {
  position_ = position;
  slots_.clear();
  taken_ = 0;
}

// Reserve makes room for the data of a horizon.
bool OrderedReader::Reserve(size_t bytes) {
  if (capacity_ >= bytes) return true;
  data_.reset(new (std::nothrow) char[bytes]);
  capacity_ = data_ == nullptr ? 0 : bytes;
  return data_ != nullptr;
}

// Fill reads the next horizon.
bool OrderedReader::Fill(Fault* fault) {
  slots_.clear();
  numbers_.clear();
  taken_ = 0;
  int64_t bytes = 0, last = end_;
  const bool mixed = order_.spec().shuffling == Shuffling::kBlock;
  if (mixed) last = std::min(last, order_.WindowEnd(position_));
  for (int64_t at = position_; at < last; ++at) {
    const int64_t number = order_.At(at);
    const int64_t length = table_.length(number);
    const bool full = numbers_.size() == kRecordsAhead ||
                      (bytes + length > kBytesAhead && !numbers_.empty());
    if (!mixed && full) break;
    numbers_.push_back(static_cast<uint64_t>(number));
    bytes += length;
  }
  if (!Reserve(static_cast<size_t>(bytes) + 1)) {
    return fault->Set(Cause::kResourceExhausted,
                      "no memory for %" PRId64 " bytes of records", bytes);
  }
  slots_.resize(numbers_.size());
  char* to = data_.get();
  for (size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].data = to;
    to += table_.length(static_cast<int64_t>(numbers_[i]));
  }
  Sort();
  int64_t file = 0;
  for (size_t i = 0; i < sorted_.size(); ++i) {
    Slot& slot = slots_[sorted_[i]];
    slot.at = table_.Find(static_cast<int64_t>(numbers_[i]), file);
    file = slot.at.file;
  }
  const size_t n = slots_.size();
  workers_.Run((n + kTask - 1) / kTask, [&](size_t task) {
    ReadSorted(task * kTask, std::min(n, (task + 1) * kTask));
  });
  return true;
}

// Sort sorts numbers_, and fills sorted_ with the slots of them. It sorts by
// one digit after the other, from the last: records are numbers of few digits.
void OrderedReader::Sort() {
  const size_t n = numbers_.size();
  sorted_.resize(n);
  spare_.resize(n);
  spare_sorted_.resize(n);
  for (size_t i = 0; i < n; ++i) sorted_[i] = static_cast<uint32_t>(i);
  constexpr uint64_t kMask = (1 << kDigitBits) - 1;
  for (int shift = 0; shift < 63 && (table_.records() >> shift) > 0;
       shift += kDigitBits) {
    std::array<size_t, kMask + 1> begins = {};
    for (uint64_t number : numbers_) ++begins[number >> shift & kMask];
    size_t begin = 0;
    for (size_t& b : begins) begin += std::exchange(b, begin);
    for (size_t i = 0; i < n; ++i) {
      const size_t to = begins[numbers_[i] >> shift & kMask]++;
      spare_[to] = numbers_[i];
      spare_sorted_[to] = sorted_[i];
    }
    numbers_.swap(spare_);
    sorted_.swap(spare_sorted_);
  }
}

// NearEnd returns the end of the sorted slots from `begin` on that one call
// reads.
size_t OrderedReader::NearEnd(size_t begin, size_t end) const {
  const RecordTable::Entry& first = slots_[sorted_[begin]].at;
  int64_t behind = first.offset + kFrame + first.length;
  size_t i = begin + 1;
  for (; i < end; ++i) {
    const RecordTable::Entry& at = slots_[sorted_[i]].at;
    const int64_t next = at.offset + kFrame + at.length;
    if (at.file != first.file || at.offset - behind > kNear ||
        next - first.offset > kPiece) {
      break;
    }
    behind = next;
  }
  return i;
}

// ReadSorted reads some of the sorted slots. It leaves out what is not as it
// should be. Several threads call it for different slots.
void OrderedReader::ReadSorted(size_t begin, size_t end) {
  try {
    std::vector<char> scratch;
    while (begin < end) {
      const size_t near = NearEnd(begin, end);
      ReadNear(begin, near, &scratch);
      begin = near;
    }
  } catch (const std::bad_alloc&) {  // reading a record alone needs less
  }
}

// ReadNear reads sorted slots by one call: one to where it belongs, several by
// way of `scratch`.
void OrderedReader::ReadNear(size_t begin, size_t end,
                             std::vector<char>* scratch) {
  Slot& first = slots_[sorted_[begin]];
  const auto file = files_.Open(first.at.file, table_.names()[first.at.file]);
  if (file == nullptr || file->size() != table_.file_bytes(first.at.file)) {
    return;
  }
  if (end - begin == 1) {
    char header[kHeader], footer[kFooter];
    struct iovec parts[] = {
        {header, kHeader}, {first.data, first.at.length}, {footer, kFooter}};
    first.intact = file->ReadParts(parts, 3, first.at.offset) &&
                   Intact(header, first.data, first.at.length, footer);
    return;
  }
  const RecordTable::Entry& last = slots_[sorted_[end - 1]].at;
  const int64_t from = first.at.offset;
  const auto bytes =
      static_cast<size_t>(last.offset + kFrame + last.length - from);
  if (scratch->size() < bytes) scratch->resize(bytes);
  struct iovec whole = {scratch->data(), bytes};
  if (!file->ReadParts(&whole, 1, from)) return;
  for (size_t i = begin; i < end; ++i) {
    Slot& slot = slots_[sorted_[i]];
    const char* const header = scratch->data() + (slot.at.offset - from);
    const char* const data = header + kHeader;
    slot.intact = Intact(header, data, slot.at.length, data + slot.at.length);
    if (slot.intact) std::memcpy(slot.data, data, slot.at.length);
  }
}

// ReadAlone reads a record by itself, and tells what is wrong with it.
bool OrderedReader::ReadAlone(const RecordTable::Entry& at,
                              std::string_view* record, Fault* fault) {
  const std::string& path = table_.names()[at.file];
  files_.Clear();
  const auto file = FileSource::Open(path, fault);
  if (file == nullptr) return fault->In(path);
  if (file->size() != table_.file_bytes(at.file)) {
    fault->Set(Cause::kFailedPrecondition,
               "the file has %" PRId64 " bytes, %" PRId64 " were indexed",
               file->size(), table_.file_bytes(at.file));
    return fault->In(path);
  }
  if (!alone_.Open(path, at.offset, at.ordinal, fault)) return false;
  switch (alone_.Next(record, fault)) {
    case RecordReader::Outcome::kFault:
      return false;
    case RecordReader::Outcome::kRecord:
      if (record->size() == at.length) return true;
      fault->Set(Cause::kDataLoss,
                 "the record has %zu bytes, the index says %" PRIu32,
                 record->size(), at.length);
      break;
    case RecordReader::Outcome::kEnd:
      fault->Set(Cause::kTruncated, "the file ends before the record");
      break;
  }
  return fault->At(path, at.ordinal, at.offset);
}

bool OrderedReader::Next(std::string_view* record, RecordPlace* place,
                         bool* end, Fault* fault) {
  *end = position_ >= end_;
  if (*end) return true;
  if (taken_ == slots_.size() && !Fill(fault)) return false;
  const Slot& slot = slots_[taken_];
  *record = {slot.data, slot.at.length};
  if (!slot.intact && !ReadAlone(slot.at, record, fault)) {
    Seek(position_);  // asked again, it reads the record again
    return false;
  }
  *place = {slot.at.file, slot.at.ordinal, slot.at.offset};
  ++taken_;
  ++position_;
  return true;
}

}  // namespace millrace
