// The records of plain files in a computed order, read by their places.
#ifndef MILLRACE_CGO_DATASETS_ORDERED_READER_H_
#define MILLRACE_CGO_DATASETS_ORDERED_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "fault.h"
#include "file_cache.h"
#include "placed_record.h"
#include "record_order.h"
#include "record_reader.h"
#include "record_table.h"
#include "worker_pool.h"

namespace millrace {

// OrderedReader reads records in an order.
//
// A call of the system that reads 300 bytes takes as long as copying 16 KB. To
// read one record after the other by such calls was 10 times as slow as to read
// a file from its begin to its end. So records are read a horizon at a time:
//
//  1. The order says which records the next positions have, as far as the
//     horizon reaches: a number of records and of bytes, or in block shuffling
//     the records that are mixed with each other.
//  2. They are sorted by file and offset. Records that are near each other are
//     read by one call, with what lies between them. Several threads share the
//     calls, the checksums and the copies.
//  3. Next gives them in their order.
//
//	order       7   2   9   3   8       positions of the horizon
//	sorted      2 3     7 8 9           two calls
//	file      ..[###]....[#####]...
//	memory     |7 |2 |9 |3 |8 |         data in the order
//
// Only what is as it should be takes this way. A record that is not is read
// again by itself, by a RecordReader, when it is its turn. So its fault comes
// behind the records before it, and is that of reading in order. Not for
// several threads.
class OrderedReader {
 public:
  // The table must outlive the reader. `end` is the position behind the last
  // one.
  OrderedReader(const RecordTable& table, OrderSpec order, int64_t end,
                int64_t threads);

  // Next returns the next record, which is valid until the call after it, and
  // its place, or that there is none.
  bool Next(std::string_view* record, RecordPlace* place, bool* end,
            Fault* fault);

  // position returns the position of the next record.
  int64_t position() const { return position_; }
  int64_t end() const { return end_; }

  // Seek has Next go on at a position.
  void Seek(int64_t position);

 private:
  struct Slot {
    RecordTable::Entry at;
    char* data = nullptr;
    bool intact = false;
  };

  bool Fill(Fault* fault);
  bool Reserve(size_t bytes);
  void Sort();
  void ReadSorted(size_t begin, size_t end);
  void ReadNear(size_t begin, size_t end, std::vector<char>* scratch);
  size_t NearEnd(size_t begin, size_t end) const;
  bool ReadAlone(const RecordTable::Entry& at, std::string_view* record,
                 Fault* fault);

  const RecordTable& table_;
  RecordOrder order_;
  const int64_t end_;
  WorkerPool workers_;
  FileCache files_;
  RecordReader alone_;

  int64_t position_ = 0;
  std::vector<Slot> slots_;                // of the horizon, in their order
  size_t taken_ = 0;                       // of them
  std::vector<uint64_t> numbers_, spare_;  // of their records
  std::vector<uint32_t> sorted_, spare_sorted_;
  std::unique_ptr<char[]> data_;
  size_t capacity_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_ORDERED_READER_H_
