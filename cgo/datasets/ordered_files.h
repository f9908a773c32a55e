// The inputs and attributes of the ops that read records in a computed order.
#ifndef MILLRACE_CGO_DATASETS_ORDERED_FILES_H_
#define MILLRACE_CGO_DATASETS_ORDERED_FILES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
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

// OrderedFiles has files, the locations of their records, and the order of the
// records.
class OrderedFiles {
 public:
  // Number of the inputs of Read and AddInputs, which come first in all ops.
  static constexpr size_t kInputs = 5;

  absl::Status Read(tensorflow::OpKernelContext* ctx, const OrderRules& rules);

  // Count computes how many examples the records of files make.
  using Count = std::function<absl::Status(const std::vector<int64_t>& counts,
                                           int64_t* examples)>;

  // ReadOf is Read for an order of examples that are made of records: parts and
  // positions count examples.
  absl::Status ReadOf(tensorflow::OpKernelContext* ctx, const OrderRules& rules,
                      const Count& count);

  // AddInputs adds the inputs to a graph.
  template <typename Builder>
  absl::Status AddInputs(Builder* b,
                         std::vector<tensorflow::Node*>* inputs) const {
    inputs->resize(kInputs);
    TF_RETURN_IF_ERROR(b->AddVector(table_->names(), &(*inputs)[0]));
    TF_RETURN_IF_ERROR(b->AddTensor(counts_, &(*inputs)[1]));
    TF_RETURN_IF_ERROR(b->AddTensor(lengths_, &(*inputs)[2]));
    TF_RETURN_IF_ERROR(b->AddTensor(parts_, &(*inputs)[3]));
    return b->AddScalar(start_, &(*inputs)[4]);
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

  // end returns the position after the last record.
  int64_t end() const;

  // records returns the number of records, or that they are endless.
  int64_t records() const {
    return endless() ? tensorflow::data::kInfiniteCardinality : end() - start_;
  }

 private:
  absl::Status CheckOrder();

  OrderRules rules_;
  tensorflow::Tensor counts_, lengths_, parts_;
  int64_t examples_ = 0;  // number of examples in the order
  int64_t start_ = 0;
  std::shared_ptr<const RecordTable> table_;
  std::shared_ptr<KeptFiles> kept_;  // nullptr if the files are too large
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_ORDERED_FILES_H_
