// The inputs and attributes of the ops that read records in a computed order.
#ifndef MILLRACE_CGO_DATASETS_ORDERED_FILES_H_
#define MILLRACE_CGO_DATASETS_ORDERED_FILES_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "batcher.h"
#include "kept_files.h"
#include "ordered_batches.h"
#include "ordered_reader.h"
#include "picked_records.h"
#include "record_order.h"
#include "record_table.h"
#include "skipped_records.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace millrace {

// OrderRules are the attributes.
struct OrderRules {
  std::string shuffling;
  OrderSpec order;  // without its parts and the skipped records
  SkippedRecords skipped;
  int64_t epochs = 0;  // -1: endless
  int64_t threads = 1;

  absl::Status Read(tensorflow::OpKernelConstruction* ctx);
};

// RecordTables keeps the table of a kernel that runs again and again with the
// same tensors, as in a function that reads one block of the order. Making the
// table takes a nanosecond for each record of the files. Several threads may
// use it.
class RecordTables {
 public:
  struct Entry {
    // The table was made of these. They are kept, so that no other tensors have
    // their memory.
    tensorflow::Tensor names, counts, lengths;
    std::shared_ptr<const RecordTable> table;
    std::shared_ptr<KeptFiles> kept;  // nullptr if the files are too large
    std::vector<int64_t> each;        // counts as a vector
  };

  // Find returns the entry of the tensors, nullptr if there is none.
  std::shared_ptr<const Entry> Find(const tensorflow::Tensor& names,
                                    const tensorflow::Tensor& counts,
                                    const tensorflow::Tensor& lengths);

  // Keep replaces the entry.
  void Keep(std::shared_ptr<const Entry> entry);

 private:
  absl::Mutex mu_;
  std::shared_ptr<const Entry> entry_ ABSL_GUARDED_BY(mu_);
};

// OrderedFiles has files, the locations of their records, and the order of the
// records.
class OrderedFiles {
 public:
  // Number of the inputs of Read and AddInputs, which come first in all ops.
  static constexpr size_t kInputs = 5;

  // Read uses the kernel's tables unless they are nullptr.
  absl::Status Read(tensorflow::OpKernelContext* ctx, const OrderRules& rules,
                    RecordTables* tables = nullptr);

  // Count computes how many examples the records of each file make.
  using Count = std::function<absl::Status(const std::vector<int64_t>& counts,
                                           std::vector<int64_t>* examples)>;

  // ReadOf is Read for an order of examples that are made of records: parts and
  // positions count examples.
  absl::Status ReadOf(tensorflow::OpKernelContext* ctx, const OrderRules& rules,
                      const Count& count, RecordTables* tables = nullptr);

  // AddInputs adds the inputs to a graph.
  template <typename Builder>
  absl::Status AddInputs(Builder* b,
                         std::vector<tensorflow::Node*>* inputs) const {
    inputs->resize(kInputs);
    TF_RETURN_IF_ERROR(b->AddVector(table_->names(), &(*inputs)[0]));
    TF_RETURN_IF_ERROR(b->AddTensor(counts_, &(*inputs)[1]));
    TF_RETURN_IF_ERROR(b->AddTensor(lengths_, &(*inputs)[2]));
    TF_RETURN_IF_ERROR(b->AddTensor(parts_, &(*inputs)[3]));
    return b->AddTensor(begin_, &(*inputs)[4]);
  }

  // Attrs returns the attributes.
  std::vector<std::pair<absl::string_view, tensorflow::AttrValue>> Attrs()
      const;

  // NewPicker returns a reader of records by their numbers. It refers to the
  // files.
  std::unique_ptr<PickedRecords> NewPicker() const {
    return std::make_unique<PickedRecords>(*table_, kept_.get(),
                                           rules_.threads);
  }

  const OrderSpec& order() const { return rules_.order; }

  std::unique_ptr<OrderedReader> NewReader() const {
    return std::make_unique<OrderedReader>(*table_, kept_.get(), rules_.order,
                                           end(), rules_.threads);
  }

  // NewBatches returns a maker of batches of `rows` records, restricted to
  // records of the usual form on request. It refers to the files.
  std::unique_ptr<OrderedBatches> NewBatches(
      int64_t rows, bool usual_form,
      std::function<std::unique_ptr<Batcher>()> make_batcher) const {
    return std::make_unique<OrderedBatches>(
        *table_, kept_.get(), rules_.order,
        OrderedBatches::Options{end(), rows, rules_.threads,
                                std::move(make_batcher), usual_form});
  }

  const std::vector<std::string>& names() const { return table_->names(); }
  int64_t start() const { return start_; }
  bool endless() const { return rules_.epochs < 0; }

  // skips reports whether records of the files are skipped.
  bool skips() const { return !rules_.skipped.empty(); }

  // end returns the position after the last record to deliver.
  int64_t end() const { return std::min(stop_, Last()); }

  // records returns the number of records, or that they are endless.
  int64_t records() const {
    return endless() && stop_ >= Last() ? tensorflow::data::kInfiniteCardinality
                                        : end() - start_;
  }

 private:
  absl::Status CheckOrder();
  absl::Status ReadBegin(const tensorflow::Tensor& begin);
  absl::Status MakeTable(const tensorflow::Tensor& names,
                         std::shared_ptr<const RecordTables::Entry>* entry);

  // Last returns the position after the last record of all epochs.
  int64_t Last() const;

  OrderRules rules_;
  tensorflow::Tensor counts_, lengths_, parts_, begin_;
  int64_t examples_ = 0;  // number of examples in the order
  int64_t start_ = 0;
  int64_t stop_ = INT64_MAX;  // the position after the last record to deliver
  std::shared_ptr<const RecordTables::Entry> entry_;  // what table_ refers to
  std::shared_ptr<const RecordTable> table_;
  std::shared_ptr<KeptFiles> kept_;  // nullptr if the files are too large
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_ORDERED_FILES_H_
