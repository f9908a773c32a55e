// Records of plain files, picked by their numbers and read at once.
#ifndef MILLRACE_CGO_DATASETS_PICKED_RECORDS_H_
#define MILLRACE_CGO_DATASETS_PICKED_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fault.h"
#include "file_cache.h"
#include "kept_files.h"
#include "ordered_horizon.h"
#include "placed_record.h"
#include "record_reader.h"
#include "record_table.h"
#include "worker_pool.h"

namespace millrace {

// ReadAlone reads a single record that could not be read with others, and
// describes its fault.
bool ReadAlone(const RecordTable& table, const RecordTable::Entry& at,
               RecordReader* reader, std::string_view* record, Fault* fault);

// PickedRecords reads the records that were picked since the last Clear, in
// the order in which they were picked. Not for several threads.
class PickedRecords {
 public:
  // The table must outlive it, and so must the kept files, which may be
  // nullptr. `threads` counts the calling one.
  PickedRecords(const RecordTable& table, KeptFiles* kept, int64_t threads);

  void Clear() { horizon_.Clear(); }
  void Pick(int64_t number) { horizon_.Add(number); }
  size_t picked() const { return horizon_.added(); }
  int64_t bytes() const { return horizon_.bytes(); }

  // Read reads them all. It returns false if memory is exhausted.
  bool Read(Fault* fault);

  // Get returns a record, which is valid until the next call, and its place.
  bool Get(size_t i, std::string_view* record, RecordPlace* place,
           Fault* fault);

 private:
  const RecordTable& table_;
  WorkerPool workers_;
  FileCache files_;
  OrderedHorizon horizon_;
  RecordReader alone_;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_PICKED_RECORDS_H_
