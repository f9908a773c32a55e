// Batchers of records, for dataset ops that differ only in the source of their
// records.
#ifndef MILLRACE_CGO_DATASETS_BATCHER_H_
#define MILLRACE_CGO_DATASETS_BATCHER_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "batch_spec.h"
#include "example_decoder.h"
#include "fault.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/tensor.h"
#include "usual_form.h"

namespace millrace {

// Batcher makes one batch after the other. Not thread-safe.
class Batcher {
 public:
  virtual ~Batcher() = default;

  // KeepRecords promises that the records of a batch stay where they are until
  // it is finished, which saves a copy.
  virtual void KeepRecords() {}

  // Begin begins a batch of up to `rows` records. The rest of the previous
  // batch is dropped.
  virtual absl::Status Begin(tensorflow::Allocator* allocator,
                             int64_t rows) = 0;

  // Add adds a record as the batch's row `row`. A fault names the feature, not
  // the record.
  bool Add(std::string_view record, int64_t row, Fault* fault) {
    return Decode(record, row, fault) && WithinPadding(fault);
  }

  // Decode is Add for a record that may be longer than its padding.
  virtual bool Decode(std::string_view record, int64_t row, Fault* fault) = 0;

  // WithinPadding reports whether the record just decoded is at most as long as
  // its padding.
  virtual bool WithinPadding(Fault*) const { return true; }

  // IsUsual reports whether a record has the usual form (usual_form.h) of the
  // batcher's records.
  virtual bool IsUsual(std::string_view record) const = 0;

  // DropRow undoes the decoding of the last row, whether that failed or not.
  // Another record may be added in its place.
  virtual void DropRow(int64_t) {}

  // Finish returns the components of a batch of the records that were added.
  virtual absl::Status Finish(tensorflow::Allocator* allocator, int64_t rows,
                              std::vector<tensorflow::Tensor>* out) = 0;
};

// ExampleBatcher makes batches of Examples.
class ExampleBatcher : public Batcher {
 public:
  explicit ExampleBatcher(const BatchSpec& spec)
      : spec_(spec), decoder_(spec.features()) {}

  absl::Status Begin(tensorflow::Allocator* allocator, int64_t rows) override {
    rows_ = rows;
    return spec_.Allocate(allocator, rows, &batch_, &destinations_);
  }

  bool Decode(std::string_view record, int64_t row, Fault* fault) override {
    return decoder_.Decode(record, destinations_.data(), row, fault) &&
           spec_.Finite(destinations_, row, fault);
  }

  bool IsUsual(std::string_view record) const override {
    return UsualForm(record);
  }

  absl::Status Finish(tensorflow::Allocator*, int64_t rows,
                      std::vector<tensorflow::Tensor>* out) override {
    out->swap(batch_);
    batch_.clear();
    if (rows < rows_) FirstRows(rows, out);
    return absl::OkStatus();
  }

 private:
  const BatchSpec& spec_;
  ExampleDecoder decoder_;
  std::vector<tensorflow::Tensor> batch_;
  std::vector<Destination> destinations_;
  int64_t rows_ = 0;  // capacity of batch_ in rows
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_BATCHER_H_
