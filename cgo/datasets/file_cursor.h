// A position in a list of plain local files.
#ifndef MILLRACE_CGO_DATASETS_FILE_CURSOR_H_
#define MILLRACE_CGO_DATASETS_FILE_CURSOR_H_

#include <cstdint>
#include <memory>

#include "file_source.h"
#include "record_walk.h"

namespace millrace {

// FileCursor walks a list of plain local files like RecordWalk, but stops at
// the first fault. Not thread-safe.
class FileCursor {
 public:
  // The list must outlive the cursor.
  explicit FileCursor(const FileList& files) : files_(files) {}

  // Seek goes to a position.
  void Seek(const WalkPosition& at);

  // Open opens the file of the position. At the proper end of a file it moves
  // to the next file, or to the first one of the next epoch. It returns false
  // at the end, and at a fault.
  bool Open();

  // at returns the position; only Open may change its file.
  const WalkPosition& at() const { return at_; }

  // GoTo continues at a position in the open file.
  void GoTo(const WalkPosition& at) { at_ = at; }

  // file returns the open file.
  const std::shared_ptr<FileSource>& file() const { return file_; }

  // count returns the number of records of the open file, -1 if it is unknown.
  int64_t count() const { return files_.counts[at_.file]; }

  // Skips reports whether a record of the open file is skipped.
  bool Skips(int64_t record) const {
    return files_.skipped.Find(at_.file, record) != nullptr;
  }

 private:
  bool NextFile();

  const FileList& files_;
  WalkPosition at_;
  std::shared_ptr<FileSource> file_;
  int64_t open_ = -1;  // index of file_
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_FILE_CURSOR_H_
