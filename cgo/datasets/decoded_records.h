// The values of decoded records, kept up to a limit.
#ifndef MILLRACE_CGO_DATASETS_DECODED_RECORDS_H_
#define MILLRACE_CGO_DATASETS_DECODED_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "large_memory.h"

namespace millrace {

// DecodedRecords keeps the values of records, each of the same size.
//
// Windows in a random order need a small part of a record each, and the same
// records again and again. To read, check and decode a record for each of its
// windows costs as many times as much as there are windows in it: for windows
// of 1 KB in records of 40 KB, 12 us a window in place of one. So records stay
// until there are more than a limit. Then the room of the oldest is taken, in
// the order in which they came. Records that were found or added since Begin
// stay, and there may be more of them than the limit allows.
//
// Not thread-safe.
class DecodedRecords {
 public:
  // At least one record is kept, whatever the limit.
  DecodedRecords(size_t record_bytes, size_t limit_bytes);

  // Begin releases the records that were found or added before.
  void Begin() { ++stamp_; }

  // Find returns the values of a record, nullptr if it is not kept.
  const char* Find(int64_t record);

  // Add returns room for the values of a record that is not kept. It returns
  // nullptr if memory is exhausted.
  char* Add(int64_t record);

  // Drop forgets a record that was added and could not be decoded.
  void Drop(int64_t record);

  // size returns the number of records that have room.
  size_t size() const { return slots_.size(); }

 private:
  struct Slot {
    LargeMemory values;
    int64_t record = -1;  // -1 for none
    uint64_t stamp = 0;   // the Begin since which it is needed
  };

  Slot* Room();

  const size_t record_bytes_;
  const size_t most_;  // records
  std::vector<Slot> slots_;
  std::unordered_map<int64_t, size_t> at_;  // slot of each record
  size_t next_ = 0;                         // the slot to take next
  uint64_t stamp_ = 1;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_DECODED_RECORDS_H_
