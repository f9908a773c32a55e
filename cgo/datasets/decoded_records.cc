#include "decoded_records.h"

#include <algorithm>
#include <utility>

namespace millrace {

DecodedRecords::DecodedRecords(size_t record_bytes, size_t limit_bytes)
    : record_bytes_(std::max<size_t>(record_bytes, 1)),
      most_(std::max<size_t>(limit_bytes / record_bytes_, 1)) {}

const char* DecodedRecords::Find(int64_t record) {
  const auto found = at_.find(record);
  if (found == at_.end()) return nullptr;
  Slot& slot = slots_[found->second];
  slot.stamp = stamp_;
  return slot.values.get();
}

// Room returns a slot for another record: a new one, or the oldest that is not
// needed.
DecodedRecords::Slot* DecodedRecords::Room() {
  for (size_t n = 0; slots_.size() >= most_ && n < slots_.size(); ++n) {
    Slot* const slot = &slots_[next_];
    next_ = (next_ + 1) % slots_.size();
    if (slot->stamp != stamp_) return slot;
  }
  LargeMemory values = NewLargeMemory(record_bytes_);
  if (values == nullptr) return nullptr;
  slots_.emplace_back();
  slots_.back().values = std::move(values);
  return &slots_.back();
}

char* DecodedRecords::Add(int64_t record) {
  Slot* const slot = Room();
  if (slot == nullptr) return nullptr;
  if (slot->record >= 0) at_.erase(slot->record);
  slot->record = record;
  slot->stamp = stamp_;
  at_[record] = static_cast<size_t>(slot - slots_.data());
  return slot->values.get();
}

void DecodedRecords::Drop(int64_t record) {
  const auto found = at_.find(record);
  if (found == at_.end()) return;
  slots_[found->second].record = -1;
  slots_[found->second].stamp = 0;
  at_.erase(found);
}

}  // namespace millrace
