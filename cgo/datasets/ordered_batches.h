// Batches of records in a computed order, made ahead by several threads.
#ifndef MILLRACE_CGO_DATASETS_ORDERED_BATCHES_H_
#define MILLRACE_CGO_DATASETS_ORDERED_BATCHES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "batcher.h"
#include "file_cache.h"
#include "kept_files.h"
#include "read_ahead.h"
#include "record_order.h"
#include "record_table.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/tensor.h"

namespace millrace {

// OrderedBatches makes batches of the same number of records. Each thread works
// on one horizon at a time (ordered_horizon.h): it reads the horizon's records,
// checks them, and decodes them into the tensors of its batches.
//
// Only sound batches take this path. Other batches are left to the caller, who
// reads their records one by one and can describe the fault. Not for several
// threads.
class OrderedBatches {
 public:
  struct Options {
    int64_t end = 0;      // the position after the last record
    int64_t rows = 0;     // rows per batch
    int64_t threads = 1;  // number of threads, including the caller's
    std::function<std::unique_ptr<Batcher>()> make_batcher;
    bool usual_form = false;  // leave other records to the caller
  };

  // The table must outlive the batches, and so must the kept files, which may
  // be nullptr.
  OrderedBatches(const RecordTable& table, KeptFiles* kept, OrderSpec order,
                 Options options);

  // Next returns the next batch. It returns false for a batch that is left to
  // the caller, who then calls Seek.
  bool Next(tensorflow::Allocator* allocator,
            std::vector<tensorflow::Tensor>* out);

  // Seek makes Next continue at a position. It is free if the position directly
  // follows a batch that was left to the caller.
  void Seek(int64_t position);

  // position returns the position after the last batch of Next.
  int64_t position() const { return position_; }

 private:
  class Horizon;

  std::shared_ptr<Horizon> Find();
  void ReadSoon(int64_t begin, int64_t end);

  const RecordTable& table_;
  KeptFiles* const kept_;
  const Options options_;
  FileCache files_;
  tensorflow::Allocator* allocator_ = nullptr;  // set by the first Next

  // State of the finding thread.
  RecordOrder order_;
  int64_t found_ = 0;  // the position after the last horizon
  int64_t bytes_;      // size of the next horizon

  // State of the calling thread.
  std::shared_ptr<Horizon> current_;
  size_t taken_ = 0;      // batches taken from current_
  int64_t position_ = 0;  // position of the next batch

  std::mutex mu_;
  std::vector<std::shared_ptr<Horizon>> spares_;  // guarded by mu_
  ReadAhead ahead_;  // the last member: its threads use the others
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_ORDERED_BATCHES_H_
