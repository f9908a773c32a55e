// Files that are opened and read before it is their turn.
#ifndef MILLRACE_CGO_DATASETS_FILES_AHEAD_H_
#define MILLRACE_CGO_DATASETS_FILES_AHEAD_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "byte_source.h"
#include "fault.h"

namespace millrace {

// FilesAhead opens the files of a list one after the other. While one is read
// it prefetches the next ones, each on a separate thread, because one processor
// inflates a file more slowly than another decodes it:
//
//	file 0  inflate ............ |
//	file 1  inflate ............ | waits: its limit of bytes
//	caller  decode file 0 ...... | decode file 1 ......
//
// Sources that cannot prefetch are only opened when it is their turn. Only one
// thread may use it.
class FilesAhead {
 public:
  // `names` must outlive it. `files` is the number of files that are read at
  // the same time, including the current one; it is capped at the number of
  // processors.
  FilesAhead(const std::vector<std::string>& names, OpenSource open,
             int64_t files);

  // Open returns the source of a file. With `more` the first file follows the
  // last one.
  std::unique_ptr<ByteSource> Open(int64_t file, bool more, Fault* fault);

  // Clear closes the files that were opened ahead.
  void Clear() { ahead_.clear(); }

 private:
  struct Ahead {
    int64_t file;
    std::unique_ptr<ByteSource> source;
  };

  void OpenNext(int64_t file, bool more);

  const std::vector<std::string>& names_;
  const OpenSource open_;
  const size_t ahead_files_;
  std::deque<Ahead> ahead_;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_FILES_AHEAD_H_
