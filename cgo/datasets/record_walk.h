// The records of several files, read one file after the other.
#ifndef MILLRACE_CGO_DATASETS_RECORD_WALK_H_
#define MILLRACE_CGO_DATASETS_RECORD_WALK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "byte_source.h"
#include "fault.h"
#include "files_ahead.h"
#include "record_reader.h"
#include "skipped_records.h"

namespace millrace {

// FileList has the files to read, and the number of passes.
struct FileList {
  std::vector<std::string> names;
  std::vector<int64_t> counts;  // records of each file, -1 if unknown
  int64_t epochs = 1;           // passes over all files, -1: endless
  SkippedRecords skipped = {};  // records that no reader returns

  // Records returns the number of records of a pass, -1 if it is unknown.
  int64_t Records() const;
};

// WalkPosition is the position of the next record: the state of an iterator.
struct WalkPosition {
  int64_t epoch = 0;
  int64_t file = 0;
  int64_t offset = 0;
  int64_t ordinal = 0;
  int64_t seen = 0;  // records of the epoch in the files before
};

// RecordWalk reads the records of a list of files, epoch after epoch. A file
// with another number of records than its count is a fault. Not for several
// threads.
class RecordWalk {
 public:
  // The list must outlive the walk. `threads` is the number of compressed files
  // that are inflated at the same time.
  RecordWalk(const FileList& files, size_t buffer_bytes, OpenSource open,
             int64_t threads = 1);

  // Next returns the next record, which is valid until the call after it, or
  // that there is none.
  bool Next(std::string_view* record, bool* end, Fault* fault);

  // position returns the position of the next record.
  WalkPosition position() const;

  // Seek makes Next continue at a position.
  void Seek(const WalkPosition& at);

  // Fits reports whether a position is valid in this list of files.
  bool Fits(const WalkPosition& at) const;

  // Describe adds file, record and offset of the last record to a fault.
  void Describe(Fault* fault) const { reader_.Describe(fault); }

  // The location of the last record.
  int64_t file() const { return at_.file; }
  int64_t ordinal() const { return reader_.ordinal() - 1; }
  int64_t offset() const { return reader_.last_offset(); }

 private:
  bool NextFile(bool* end, Fault* fault);
  bool Skip(int64_t record);
  bool Miscounted(const std::string& has, Fault* fault) const;

  const FileList& files_;
  WalkPosition at_;  // start of the open file, or the position in the next one
  FilesAhead ahead_;
  RecordReader reader_;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_RECORD_WALK_H_
