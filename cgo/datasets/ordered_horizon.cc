#include "ordered_horizon.h"

#include <algorithm>
#include <cstring>

#include "record_frame.h"

namespace millrace {
namespace {

constexpr size_t kTask = 256;  // records that a thread takes at a time

// Distance of the prefetching of record data, in records and in bytes.
constexpr size_t kCallAhead = 6;
constexpr size_t kCallBytes = 512;
constexpr size_t kLine = 64;  // size of a cache line

}  // namespace

bool OrderedHorizon::Read(WorkerPool* workers) {
  slots_.assign(numbers_.size(), Slot());
  if (kept_ != nullptr) {
    for (size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = slots_[i];
      slot.at = table_.Find(static_cast<int64_t>(numbers_[i]));
      const char* const contents = kept_->Contents(slot.at.file);
      if (contents != nullptr) slot.data = contents + slot.at.offset + kHeader;
    }
    return true;
  }
  if (!Lay()) return false;
  near_.Sort(&numbers_);
  for (const NearRecords::Place& place : near_.places()) {
    slots_[place.asked].at = place.at;
  }
  const size_t n = slots_.size();
  if (workers == nullptr) {
    near_.Read(0, n, this);
    return true;
  }
  workers->Run((n + kTask - 1) / kTask, [&](size_t task) {
    near_.Read(task * kTask, std::min(n, (task + 1) * kTask), this);
  });
  return true;
}

// Lay assigns memory to the data of each record.
bool OrderedHorizon::Lay() {
  if (memory_ == nullptr || capacity_ < static_cast<size_t>(bytes_)) {
    capacity_ = static_cast<size_t>(bytes_);
    memory_ = NewLargeMemory(capacity_);
    if (memory_ == nullptr) return false;
  }
  char* to = memory_.get();
  for (size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].room = to;
    to += table_.length(static_cast<int64_t>(numbers_[i]));
  }
  return true;
}

char* OrderedHorizon::Room(size_t asked, const RecordTable::Entry&) {
  return slots_[asked].room;
}

void OrderedHorizon::Take(size_t asked, const RecordTable::Entry& at,
                          const char* data) {
  Slot& slot = slots_[asked];
  if (data != slot.room) std::memcpy(slot.room, data, at.length);
  slot.data = slot.room;
}

bool OrderedHorizon::Record(size_t i, std::string_view* record) const {
  const Slot& slot = slots_[i];
  if (kept_ != nullptr) {
    if (i + kCallAhead < slots_.size()) {
      const Slot& later = slots_[i + kCallAhead];
      const size_t n = std::min<size_t>(later.at.length, kCallBytes);
      for (size_t at = 0; later.data != nullptr && at < n; at += kLine) {
        __builtin_prefetch(later.data + at);
      }
    }
    if (slot.data == nullptr || !IsIntact(slot.data, slot.at.length)) {
      return false;
    }
  }
  *record = {slot.data, slot.at.length};
  return slot.data != nullptr;
}

}  // namespace millrace
