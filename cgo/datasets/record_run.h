// Records that differ only in the values of one feature.
#ifndef MILLRACE_CGO_DATASETS_RECORD_RUN_H_
#define MILLRACE_CGO_DATASETS_RECORD_RUN_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "file_source.h"
#include "worker_pool.h"

namespace millrace {

// Layout is the common layout of records that differ only in the values of one
// feature: fixed bytes, `values` bytes, and fixed bytes.
struct Layout {
  std::string before;
  std::string after;
  size_t values = 0;

  size_t size() const { return before.size() + values + after.size(); }
};

// ReadRun reads up to n records of one layout from an offset of a file on,
// straight into `to`, one after the other, shared among a pool of workers. It
// returns their number. The file must be large enough for n such records.
int64_t ReadRun(const FileSource& file, const Layout& layout, int64_t offset,
                int64_t n, char* to, WorkerPool* pool);

// ReadAlike is ReadRun in the calling thread only. Several threads may call it.
int64_t ReadAlike(const FileSource& file, const Layout& layout, int64_t offset,
                  int64_t n, char* to);

// RunBytes returns the size of a record of a layout with its frame.
inline int64_t RunBytes(const Layout& layout) {
  constexpr int64_t kFrame = 16;
  return static_cast<int64_t>(layout.size()) + kFrame;
}

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_RECORD_RUN_H_
