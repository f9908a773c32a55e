// The records of plain files in a computed order, read by their locations.
#ifndef MILLRACE_CGO_DATASETS_ORDERED_READER_H_
#define MILLRACE_CGO_DATASETS_ORDERED_READER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fault.h"
#include "file_cache.h"
#include "kept_files.h"
#include "ordered_horizon.h"
#include "placed_record.h"
#include "record_order.h"
#include "record_reader.h"
#include "record_table.h"
#include "worker_pool.h"

namespace millrace {

// OrderedReader reads records in an order.
//
// Reading one record after the other was 10 times as slow as reading a file
// from start to end. So records are read one horizon at a time: the order
// defines the records of the next positions, up to the horizon, and several
// threads read them (ordered_horizon.h). Next returns them in their order.
//
// Only sound records take this path. A faulty record is read again, alone, by a
// RecordReader, when it is its turn. So its fault comes after the preceding
// records, and equals the fault of reading in order. Only one thread may use
// it.
class OrderedReader {
 public:
  // The table must outlive the reader, and so must the kept files, which may be
  // nullptr. `end` is the position after the last record.
  OrderedReader(const RecordTable& table, KeptFiles* kept, OrderSpec order,
                int64_t end, int64_t threads);

  // Next returns the next record, which is valid until the call after it, and
  // its location, or reports the end. After a fault it is the location of the
  // faulty record; its file is -1 if no record is at fault.
  // Records that the order skips are not delivered.
  bool Next(std::string_view* record, RecordPlace* place, bool* end,
            Fault* fault);

  // Pass continues after a record whose fault Next reported.
  void Pass() { position_ = positions_[taken_++] + 1; }

  // buffered returns how many of the next records have already been read.
  int64_t buffered() const {
    return static_cast<int64_t>(horizon_.size() - taken_);
  }

  // position returns the position of the next record.
  int64_t position() const { return position_; }
  int64_t end() const { return end_; }

  // Seek makes Next continue at a position.
  void Seek(int64_t position);

 private:
  bool Fill(Fault* fault);
  bool ReadAgain(const RecordTable::Entry& at, std::string_view* record,
                 Fault* fault);

  const RecordTable& table_;
  RecordOrder order_;
  const int64_t end_;
  WorkerPool workers_;
  FileCache files_;
  OrderedHorizon horizon_;
  RecordReader alone_;

  int64_t position_ = 0;
  std::vector<int64_t> positions_;  // each record of the horizon has one
  size_t taken_ = 0;                // records of the horizon
  int64_t bytes_;                   // size of the next horizon
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_ORDERED_READER_H_
