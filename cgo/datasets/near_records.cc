#include "near_records.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "crc32c.h"
#include "record_frame.h"

namespace millrace {
namespace {

// Two records with a smaller gap are read by one call, as long as the read fits
// the processor's own cache.
constexpr int64_t kNear = 8 << 10;
constexpr int64_t kPiece = 256 << 10;

constexpr int64_t kFrame = kHeader + kFooter;
constexpr int kDigitBits = 11;  // bits per pass of the radix sort

// Intact reports whether the bytes between header and footer are a sound record
// of the given length.
bool Intact(const char* header, const char* data, uint32_t length,
            const char* footer) {
  return LoadLittle<uint64_t>(header) == length &&
         MaskCrc(Crc32c(header, 8)) == LoadLittle<uint32_t>(header + 8) &&
         MaskCrc(Crc32c(data, length)) == LoadLittle<uint32_t>(footer);
}

}  // namespace

bool IsIntact(const char* data, uint32_t length) {
  return Intact(data - kHeader, data, length, data + length);
}

// Sort sorts by one digit after the other, from the last: records are numbers
// of few digits.
void NearRecords::Sort(std::vector<uint64_t>* numbers) {
  numbers_.swap(*numbers);
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
  places_.resize(n);
  int64_t file = 0;
  for (size_t i = 0; i < n; ++i) {
    places_[i].at = table_.Find(static_cast<int64_t>(numbers_[i]), file);
    places_[i].asked = sorted_[i];
    file = places_[i].at.file;
  }
}

// NearEnd returns the end of the locations from `begin` on that one call reads.
size_t NearRecords::NearEnd(size_t begin, size_t end) const {
  const RecordTable::Entry& first = places_[begin].at;
  int64_t behind = first.offset + kFrame + first.length;
  size_t i = begin + 1;
  for (; i < end; ++i) {
    const RecordTable::Entry& at = places_[i].at;
    const int64_t next = at.offset + kFrame + at.length;
    if (at.file != first.file || at.offset - behind > kNear ||
        next - first.offset > kPiece) {
      break;
    }
    behind = next;
  }
  return i;
}

void NearRecords::Read(size_t begin, size_t end, Visitor* visitor) const {
  try {
    std::vector<char> scratch;
    while (begin < end) {
      const size_t near = NearEnd(begin, end);
      ReadNear(begin, near, &scratch, visitor);
      begin = near;
    }
  } catch (const std::bad_alloc&) {  // reading a single record needs less
  }
}

// ReadNear reads some locations by one call: a single one directly to its
// memory if it has any, several through `scratch`.
void NearRecords::ReadNear(size_t begin, size_t end, std::vector<char>* scratch,
                           Visitor* visitor) const {
  const RecordTable::Entry& first = places_[begin].at;
  const auto file = files_.Open(first.file, table_.names()[first.file]);
  if (file == nullptr || file->size() != table_.file_bytes(first.file)) {
    return;
  }
  if (end - begin == 1) {
    char* const room = visitor->Room(places_[begin].asked, first);
    char header[kHeader], footer[kFooter];
    struct iovec parts[] = {
        {header, kHeader}, {room, first.length}, {footer, kFooter}};
    if (file->ReadParts(parts, 3, first.offset) &&
        Intact(header, room, first.length, footer)) {
      visitor->Take(places_[begin].asked, first, room);
    }
    return;
  }
  const RecordTable::Entry& last = places_[end - 1].at;
  const int64_t from = first.offset;
  const auto bytes =
      static_cast<size_t>(last.offset + kFrame + last.length - from);
  if (scratch->size() < bytes) scratch->resize(bytes);
  struct iovec whole = {scratch->data(), bytes};
  if (!file->ReadParts(&whole, 1, from)) return;
  for (size_t i = begin; i < end; ++i) {
    const RecordTable::Entry& at = places_[i].at;
    const char* const data = scratch->data() + (at.offset - from) + kHeader;
    if (IsIntact(data, at.length)) visitor->Take(places_[i].asked, at, data);
  }
}

}  // namespace millrace
