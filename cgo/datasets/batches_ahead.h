// Batches of plain local files, made ahead by several threads.
#ifndef MILLRACE_CGO_DATASETS_BATCHES_AHEAD_H_
#define MILLRACE_CGO_DATASETS_BATCHES_AHEAD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "batcher.h"
#include "file_cursor.h"
#include "read_ahead.h"
#include "record_rows.h"
#include "record_walk.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/tensor.h"

namespace millrace {

// BatchesAhead prefetches the batches of a list of plain local files, each with
// the same number of records. One thread finds the records of a batch. Several
// threads check and decode the records of several batches, straight into their
// tensors.
//
// Only sound batches take this path. A batch with a fault (a checksum, a value,
// a number of records, too few of them at the end) is left to the caller, who
// reads its records one by one and can describe the fault. Only one thread may
// use it.
class BatchesAhead {
 public:
  struct Options {
    int64_t rows = 0;     // rows per batch
    int64_t threads = 1;  // number of threads, including the caller's
    std::function<std::unique_ptr<Batcher>()> make_batcher;
    bool usual_form = false;  // leave other records to the caller
  };

  // The list must outlive the batches.
  BatchesAhead(const FileList& files, Options options);

  // Next returns the next batch and its end position. It returns false for a
  // batch that is left to the caller, who then calls Seek.
  bool Next(tensorflow::Allocator* allocator,
            std::vector<tensorflow::Tensor>* out, WalkPosition* behind);

  // Seek makes Next continue at a position.
  void Seek(const WalkPosition& at);

 private:
  class Piece;

  std::shared_ptr<Piece> Find();
  std::shared_ptr<Piece> Spare();
  std::unique_ptr<RecordRows> TakeRecords();
  void GiveBack(std::unique_ptr<RecordRows> records) noexcept;

  const Options options_;
  tensorflow::Allocator* allocator_ = nullptr;  // set by the first Next
  FileCursor cursor_;
  std::mutex mu_;
  // Guarded by mu_. The last used piece is taken first, because it is in the
  // cache.
  std::vector<std::shared_ptr<Piece>> spares_;
  std::vector<std::unique_ptr<RecordRows>> records_;

  ReadAhead ahead_;  // the last member: its threads use the others
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_BATCHES_AHEAD_H_
