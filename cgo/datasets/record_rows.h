// Consecutive records of plain local files.
#ifndef MILLRACE_CGO_DATASETS_RECORD_ROWS_H_
#define MILLRACE_CGO_DATASETS_RECORD_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "file_cursor.h"

namespace millrace {

// RecordRows is a number of records in one piece of memory. They may be from
// several files and epochs. Not thread-safe.
class RecordRows {
 public:
  // Find reads the next n records from a cursor on, without those that are
  // skipped, and checks their headers.
  // It returns false if there are fewer, or at a fault. Afterwards the cursor
  // is after the records, or undefined after false.
  bool Find(FileCursor* cursor, size_t n);

  // size returns the number of records.
  size_t size() const { return records_.size(); }

  // record returns the data of a record, valid until the next Find.
  std::string_view record(size_t i) const {
    return {data_.get() + records_[i].begin, records_[i].length};
  }

  // Intact reports whether the checksum of a record is right.
  bool Intact(size_t i) const;

  // bytes returns the size of the records in the files.
  size_t bytes() const { return end_; }

  // behind returns the start of the next record.
  const WalkPosition& behind() const { return behind_; }

 private:
  struct Record {
    size_t begin;  // offset in data_
    size_t length;
  };

  bool Reserve(size_t bytes);
  bool FindInFile(FileCursor* cursor, size_t n);
  bool ReadTo(const FileCursor& cursor, int64_t offset, size_t bytes);
  size_t Worth(size_t n) const;

  WalkPosition behind_;
  std::unique_ptr<char[]> data_;
  size_t capacity_ = 0;
  size_t end_ = 0;   // end of the records that were found
  size_t read_ = 0;  // bytes that were read
  size_t mean_ = 0;  // mean size of a record in the last Find
  std::vector<Record> records_;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_RECORD_ROWS_H_
