#include "ordered_reader.h"

#include <algorithm>
#include <cinttypes>
#include <utility>

#include "picked_records.h"

namespace millrace {
namespace {

// Size of a horizon. The first one is small, and each is twice as large as the
// one before, so that reading a few records does not wait for many.
constexpr int64_t kFirstBytes = 256 << 10;

constexpr size_t kOpenFiles = 256;  // number of files that stay open
constexpr size_t kAloneBuffer = 64 << 10;

}  // namespace

OrderedReader::OrderedReader(const RecordTable& table, KeptFiles* kept,
                             OrderSpec order, int64_t end, int64_t threads)
    : table_(table),
      order_(std::move(order)),
      end_(end),
      workers_(threads),
      files_(kOpenFiles),
      horizon_(table, &files_, kept),
      alone_(kAloneBuffer),
      bytes_(kFirstBytes) {}

void OrderedReader::Seek(int64_t position) {
  position_ = position;
  horizon_.Clear();
  positions_.clear();
  taken_ = 0;
  bytes_ = kFirstBytes;
}

// Fill reads the next horizon. In block shuffling it consists of the records
// that are mixed with each other, which are near each other.
bool OrderedReader::Fill(Fault* fault) {
  horizon_.Clear();
  positions_.clear();
  taken_ = 0;
  const bool mixed = order_.spec().shuffling == Shuffling::kBlock;
  const int64_t epoch = position_ + std::max<int64_t>(order_.spec().size, 1);
  while (positions_.empty() && position_ < end_) {
    if (position_ >= epoch) {
      return fault->Set(Cause::kFailedPrecondition,
                        "all records of an epoch are skipped");
    }
    const int64_t last =
        mixed ? std::min(end_, order_.WindowEnd(position_)) : end_;
    int64_t at = position_;
    for (; at < last; ++at) {
      if (positions_.empty() ? at >= epoch : !mixed && horizon_.Full(bytes_)) {
        break;
      }
      const int64_t number = order_.At(at);
      if (order_.Skips(number)) continue;
      horizon_.Add(number);
      positions_.push_back(at);
    }
    if (positions_.empty()) position_ = at;
  }
  bytes_ = std::min(2 * bytes_, OrderedHorizon::MostBytes(table_));
  if (horizon_.Read(&workers_)) return true;
  return fault->Set(Cause::kResourceExhausted,
                    "no memory for %" PRId64 " bytes of records",
                    horizon_.bytes());
}

bool OrderedReader::ReadAgain(const RecordTable::Entry& at,
                              std::string_view* record, Fault* fault) {
  files_.Clear();
  return ReadAlone(table_, at, &alone_, record, fault);
}

bool OrderedReader::Next(std::string_view* record, RecordPlace* place,
                         bool* end, Fault* fault) {
  *end = position_ >= end_;
  *place = {-1, -1, -1};
  if (*end) return true;
  if (taken_ == horizon_.size()) {
    if (!Fill(fault)) return false;
    *end = position_ >= end_;
    if (*end) return true;
  }
  const RecordTable::Entry& at = horizon_.at(taken_);
  if (!horizon_.Record(taken_, record) && !ReadAgain(at, record, fault)) {
    if (fault->place.record >= 0) *place = {at.file, at.ordinal, at.offset};
    return false;  // the next call reads the record again
  }
  *place = {at.file, at.ordinal, at.offset};
  position_ = positions_[taken_++] + 1;
  return true;
}

}  // namespace millrace
