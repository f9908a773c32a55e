// MillraceOrderedExampleBatchDataset yields batches of the Examples in files,
// in a computed order, made ahead by several threads.
// MillraceOrderedSequenceBatchDataset does it with records that have lists, and
// MillraceOrderedRecordsDataset yields the records one by one.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "batch_form.h"
#include "dataset_base.h"
#include "ordered_files.h"
#include "placed_record.h"
#include "status.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr int64_t kCancelEvery = 64;  // records

// Position is the state of an iterator.
struct Position {
  int64_t next = 0;
};

// OrderedIterator is an iterator over the records of a dataset that has
// files().
template <typename Dataset>
class OrderedIterator : public FileIterator<Dataset, Position> {
 public:
  using Params = typename FileIterator<Dataset, Position>::Params;

  explicit OrderedIterator(const Params& params)
      : FileIterator<Dataset, Position>(params),
        reader_(this->dataset()->files().NewReader()) {
    reader_->Seek(this->dataset()->files().start());
  }

 protected:
  Position Tell() const override { return {reader_->position()}; }
  void Seek(const Position& at) override { reader_->Seek(at.next); }
  bool Fits(const Position& at) const override {
    return at.next >= 0 && at.next <= reader_->end();
  }

  const std::unique_ptr<OrderedReader> reader_;  // guarded by mu_
};

class OrderedBatchDataset : public TypedDataset {
 public:
  struct Args {
    OrderedFiles files;
    int64_t batch_size = 0;
    bool drop_remainder = false;
  };

  OrderedBatchDataset(OpKernelContext* ctx, BatchForm form, Args args)
      : TypedDataset(ctx, "MillraceOrderedBatch", form.types(), form.shapes()),
        form_(std::move(form)),
        args_(std::move(args)) {}

  const OrderedFiles& files() const { return args_.files; }

  std::unique_ptr<data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override {
    return Iterate<Iterator>(this, prefix);
  }

  int64_t CardinalityInternal(data::CardinalityOptions) const override {
    const int64_t n = args_.files.records();
    if (n < 0) return n;
    const bool rest = !args_.drop_remainder && n % args_.batch_size != 0;
    return n / args_.batch_size + (rest ? 1 : 0);
  }

 protected:
  absl::Status AsGraphDefInternal(data::SerializationContext*,
                                  DatasetGraphDefBuilder* b,
                                  Node** output) const override {
    std::vector<Node*> in;
    TF_RETURN_IF_ERROR(args_.files.AddInputs(b, &in));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.batch_size, &in.emplace_back()));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.drop_remainder, &in.emplace_back()));
    return form_.AddNode(b, this, in, args_.files.Attrs(), output);
  }

 private:
  class Iterator;
  const BatchForm form_;
  const Args args_;
};

class OrderedBatchDataset::Iterator
    : public OrderedIterator<OrderedBatchDataset> {
 public:
  explicit Iterator(const Params& params)
      : OrderedIterator(params), batcher_(dataset()->form_.NewBatcher()) {
    const BatchForm& form = dataset()->form_;
    ahead_ = dataset()->files().NewBatches(
        dataset()->args_.batch_size, [&form] { return form.NewBatcher(); });
    ahead_->Seek(reader_->position());
  }

 protected:
  void Seek(const Position& at) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    OrderedIterator::Seek(at);
    ahead_->Seek(at.next);
  }

  absl::Status Element(data::IteratorContext* ctx, std::vector<Tensor>* out,
                       bool* end_of_sequence) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    TF_RETURN_IF_ERROR(CheckCancelled(ctx));
    if (ahead_->Next(ctx->allocator({}), out)) {
      reader_->Seek(reader_->position() + dataset()->args_.batch_size);
      return absl::OkStatus();
    }
    TF_RETURN_IF_ERROR(Walk(ctx, out, end_of_sequence));
    ahead_->Seek(reader_->position());
    return absl::OkStatus();
  }

 private:
  // Walk makes the next element of records that are read one by one.
  absl::Status Walk(data::IteratorContext* ctx, std::vector<Tensor>* out,
                    bool* end_of_sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const Args& args = dataset()->args_;
    const int64_t rows =
        std::min(args.batch_size, reader_->end() - reader_->position());
    if (rows == 0 || (rows < args.batch_size && args.drop_remainder)) {
      *end_of_sequence = true;
      return absl::OkStatus();
    }
    TF_RETURN_IF_ERROR(batcher_->Begin(ctx->allocator({}), rows));
    for (int64_t row = 0; row < rows; ++row) {
      if (row % kCancelEvery == 0) TF_RETURN_IF_ERROR(CheckCancelled(ctx));
      std::string_view record;
      RecordPlace place;
      bool end;
      Fault fault;
      if (!reader_->Next(&record, &place, &end, &fault)) return ToStatus(fault);
      if (!batcher_->Add(record, row, &fault)) {
        fault.At(args.files.names()[place.file], place.record, place.offset);
        return ToStatus(fault);
      }
    }
    return batcher_->Finish(ctx->allocator({}), rows, out);
  }

  const std::unique_ptr<Batcher> batcher_ ABSL_PT_GUARDED_BY(mu_);
  std::unique_ptr<OrderedBatches> ahead_ ABSL_PT_GUARDED_BY(mu_);
};

class OrderedRecordsDataset : public TypedDataset {
 public:
  OrderedRecordsDataset(OpKernelContext* ctx, OrderedFiles files)
      : TypedDataset(ctx, "MillraceOrderedRecords", {DT_STRING},
                     {PartialTensorShape({})}),
        files_(std::move(files)) {}

  const OrderedFiles& files() const { return files_; }

  std::unique_ptr<data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override {
    return Iterate<Iterator>(this, prefix);
  }

  int64_t CardinalityInternal(data::CardinalityOptions) const override {
    return files_.records();
  }

 protected:
  absl::Status AsGraphDefInternal(data::SerializationContext*,
                                  DatasetGraphDefBuilder* b,
                                  Node** output) const override {
    std::vector<Node*> in;
    TF_RETURN_IF_ERROR(files_.AddInputs(b, &in));
    return b->AddDataset(this, in, files_.Attrs(), output);
  }

 private:
  class Iterator;
  const OrderedFiles files_;
};

class OrderedRecordsDataset::Iterator
    : public OrderedIterator<OrderedRecordsDataset> {
 public:
  using OrderedIterator::OrderedIterator;

 protected:
  absl::Status Element(data::IteratorContext* ctx, std::vector<Tensor>* out,
                       bool* end_of_sequence) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    TF_RETURN_IF_ERROR(CheckCancelled(ctx));
    std::string_view record;
    RecordPlace place;
    Fault fault;
    if (!reader_->Next(&record, &place, end_of_sequence, &fault)) {
      return ToStatus(fault);
    }
    if (*end_of_sequence) return absl::OkStatus();
    out->emplace_back(ctx->allocator({}), DT_STRING, TensorShape({}));
    tstring& to = out->back().scalar<tstring>()();
    to.resize_uninitialized(record.size() + sizeof(place));
    char* const data = to.mdata();
    std::copy(record.begin(), record.end(), data);
    AppendPlace(place, data + record.size());
    return absl::OkStatus();
  }
};

class OrderedBatchDatasetOp : public data::DatasetOpKernel {
 public:
  explicit OrderedBatchDatasetOp(OpKernelConstruction* ctx)
      : DatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, form_.Read(ctx));
    OP_REQUIRES_OK(ctx, rules_.Read(ctx));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, data::DatasetBase** output) override {
    OrderedBatchDataset::Args args;
    OP_REQUIRES_OK(ctx, args.files.Read(ctx, rules_));
    OP_REQUIRES_OK(
        ctx, data::ParseScalarArgument(ctx, kBatchSize, &args.batch_size));
    OP_REQUIRES_OK(ctx, data::ParseScalarArgument(ctx, kDropRemainder,
                                                  &args.drop_remainder));
    OP_REQUIRES_OK(ctx, CheckRange(kBatchSize, args.batch_size, 1, INT64_MAX));
    BatchForm form;
    OP_REQUIRES_OK(ctx, form_.WithInputs(ctx, &form));
    *output = new OrderedBatchDataset(ctx, std::move(form), std::move(args));
  }

 private:
  BatchForm form_;
  OrderRules rules_;
};

class OrderedRecordsDatasetOp : public data::DatasetOpKernel {
 public:
  explicit OrderedRecordsDatasetOp(OpKernelConstruction* ctx)
      : DatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, rules_.Read(ctx));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, data::DatasetBase** output) override {
    OrderedFiles files;
    OP_REQUIRES_OK(ctx, files.Read(ctx, rules_));
    *output = new OrderedRecordsDataset(ctx, std::move(files));
  }

 private:
  OrderRules rules_;
};

REGISTER_KERNEL_BUILDER(
    Name("MillraceOrderedExampleBatchDataset").Device(DEVICE_CPU),
    OrderedBatchDatasetOp);
REGISTER_KERNEL_BUILDER(
    Name("MillraceOrderedSequenceBatchDataset").Device(DEVICE_CPU),
    OrderedBatchDatasetOp);
REGISTER_KERNEL_BUILDER(
    Name("MillraceOrderedRecordsDataset").Device(DEVICE_CPU),
    OrderedRecordsDatasetOp);

}  // namespace
}  // namespace millrace
