// MillraceOrderedExampleBatchDataset yields batches of the Examples in files,
// in a computed order, made ahead by several threads.
// MillraceOrderedSequenceBatchDataset does the same for records with lists, and
// MillraceOrderedRecordsDataset yields the records one by one. The ops named
// Judged skip bad records (record_judge.h).
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
#include "record_judge.h"
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

  using Judge = std::unique_ptr<data::CapturedFunction>;

  // Without a judge the first bad record is a failure.
  OrderedBatchDataset(OpKernelContext* ctx, BatchForm form, Args args,
                      Judge judge)
      : TypedDataset(ctx, "MillraceOrderedBatch", form.types(), form.shapes()),
        form_(std::move(form)),
        args_(std::move(args)),
        judge_(std::move(judge)) {}

  const OrderedFiles& files() const { return args_.files; }

  std::unique_ptr<data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override {
    return Iterate<Iterator>(this, prefix);
  }

  int64_t CardinalityInternal(data::CardinalityOptions) const override {
    const int64_t n = args_.files.records();
    if (n < 0 && judge_ == nullptr) return n;
    if (judge_ != nullptr || args_.files.skips()) {
      return data::kUnknownCardinality;
    }
    const bool rest = !args_.drop_remainder && n % args_.batch_size != 0;
    return n / args_.batch_size + (rest ? 1 : 0);
  }

  absl::Status CheckExternalState() const override {
    return judge_ == nullptr ? absl::OkStatus() : judge_->CheckExternalState();
  }

 protected:
  absl::Status AsGraphDefInternal(data::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  Node** output) const override {
    std::vector<Node*> in;
    TF_RETURN_IF_ERROR(args_.files.AddInputs(b, &in));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.batch_size, &in.emplace_back()));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.drop_remainder, &in.emplace_back()));
    auto attrs = args_.files.Attrs();
    if (judge_ == nullptr) {
      return form_.AddNode(b, this, in, std::move(attrs), output);
    }
    std::vector<Node*> captures;
    DataTypeVector types;
    TF_RETURN_IF_ERROR(judge_->AddToGraph(ctx, b, &captures, &types));
    attrs.emplace_back("Targuments", b->BuildAttrValue(types));
    attrs.emplace_back(kJudge, b->BuildAttrValue(judge_->func()));
    return form_.AddNode(b, this, in, std::move(attrs), output, &captures);
  }

 private:
  class Iterator;
  const BatchForm form_;
  const Args args_;
  const Judge judge_;
};

class OrderedBatchDataset::Iterator
    : public OrderedIterator<OrderedBatchDataset> {
 public:
  explicit Iterator(const Params& params)
      : OrderedIterator(params), batcher_(dataset()->form_.NewBatcher()) {
    const BatchForm& form = dataset()->form_;
    ahead_ = dataset()->files().NewBatches(
        dataset()->args_.batch_size, dataset()->judge_ != nullptr,
        [&form] { return form.NewBatcher(); });
    ahead_->Seek(reader_->position());
  }

  absl::Status Initialize(data::IteratorContext* ctx) override {
    return judge_.Start(ctx, dataset()->judge_.get());
  }

 protected:
  void Seek(const Position& at) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    OrderedIterator::Seek(at);
    ahead_->Seek(at.next);
    walking_ = false;
  }

  absl::Status Element(data::IteratorContext* ctx, std::vector<Tensor>* out,
                       bool* end_of_sequence) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    TF_RETURN_IF_ERROR(CheckCancelled(ctx));
    if (!walking_ && ahead_->Next(ctx->allocator({}), out)) {
      reader_->Seek(ahead_->position());
      return absl::OkStatus();
    }
    bool passed = false;
    TF_RETURN_IF_ERROR(Walk(ctx, out, end_of_sequence, &passed));
    // Prefetching of batches starts again after a skipped record. So the
    // records that were read with it are used first, and no batch is prefetched
    // among many bad records.
    walking_ = judge_.there() &&
               (passed || reader_->buffered() >= dataset()->args_.batch_size);
    if (!walking_) ahead_->Seek(reader_->position());
    return absl::OkStatus();
  }

 private:
  // Walk makes the next element from records read one by one, and reports
  // whether it has skipped a bad one.
  absl::Status Walk(data::IteratorContext* ctx, std::vector<Tensor>* out,
                    bool* end_of_sequence, bool* passed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const Args& args = dataset()->args_;
    const int64_t rows =
        std::min(args.batch_size, reader_->end() - reader_->position());
    *end_of_sequence = rows == 0 || (rows < args.batch_size &&
                                     args.drop_remainder && !judge_.there());
    if (*end_of_sequence) return absl::OkStatus();
    TF_RETURN_IF_ERROR(batcher_->Begin(ctx->allocator({}), rows));
    int64_t row = 0;
    bool end = false;
    for (int64_t n = 0; row < rows; ++n) {
      if (n % kCancelEvery == 0) TF_RETURN_IF_ERROR(CheckCancelled(ctx));
      bool added = false;
      TF_RETURN_IF_ERROR(AddNext(ctx, row, &added, &end));
      if (end) break;
      if (added) {
        ++row;
      } else {
        *passed = true;
      }
    }
    *end_of_sequence =
        row == 0 || (row < args.batch_size && args.drop_remainder);
    if (*end_of_sequence) return absl::OkStatus();
    return batcher_->Finish(ctx->allocator({}), row, out);
  }

  // AddNext adds the next record as a row, unless it is skipped.
  absl::Status AddNext(data::IteratorContext* ctx, int64_t row, bool* added,
                       bool* end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::string_view record;
    RecordPlace place;
    Fault fault;
    bool good = false;
    const int64_t position = reader_->position();
    if (!reader_->Next(&record, &place, end, &fault)) {
      TF_RETURN_IF_ERROR(Ask(ctx, place, position, fault, &good));
      if (good) return ToStatus(fault);
      reader_->Pass();
      return absl::OkStatus();
    }
    if (*end) return absl::OkStatus();
    *added = batcher_->Add(record, row, &fault);
    if (*added && (!judge_.there() || batcher_->IsUsual(record))) {
      return absl::OkStatus();
    }
    if (*added) fault.Set(Cause::kInvalidArgument, "not in the usual form");
    fault.At(dataset()->files().names()[place.file], place.record,
             place.offset);
    TF_RETURN_IF_ERROR(Ask(ctx, place, position, fault, &good));
    if (good && !*added) return ToStatus(fault);
    if (!good) batcher_->DropRow(row);
    *added = good;
    return absl::OkStatus();
  }

  // Ask calls the judge for the record of a fault. Without a judge, or if no
  // record is at fault, the fault is a failure.
  absl::Status Ask(data::IteratorContext* ctx, const RecordPlace& place,
                   int64_t position, const Fault& fault, bool* good)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!judge_.there() || place.file < 0) return ToStatus(fault);
    WalkPosition bad, ignored;
    bad.file = place.file;
    bad.ordinal = place.record;
    bad.offset = position;
    return judge_.Ask(ctx, bad, nullptr, good, &ignored);
  }

  const std::unique_ptr<Batcher> batcher_ ABSL_PT_GUARDED_BY(mu_);
  std::unique_ptr<OrderedBatches> ahead_ ABSL_PT_GUARDED_BY(mu_);
  bool walking_ ABSL_GUARDED_BY(mu_) =
      false;  // read the next records one by one
  RecordJudge judge_;
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
    OP_REQUIRES_OK(ctx, RecordJudge::Read(ctx, &judge_));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, data::DatasetBase** output) override {
    OrderedBatchDataset::Args args;
    OP_REQUIRES_OK(ctx, args.files.Read(ctx, rules_, &tables_));
    OP_REQUIRES_OK(
        ctx, data::ParseScalarArgument(ctx, kBatchSize, &args.batch_size));
    OP_REQUIRES_OK(ctx, data::ParseScalarArgument(ctx, kDropRemainder,
                                                  &args.drop_remainder));
    OP_REQUIRES_OK(ctx, CheckRange(kBatchSize, args.batch_size, 1, INT64_MAX));
    BatchForm form;
    OP_REQUIRES_OK(ctx, form_.WithInputs(ctx, &form));
    OrderedBatchDataset::Judge judge;
    OP_REQUIRES_OK(ctx, RecordJudge::Create(ctx, judge_, &judge));
    *output = new OrderedBatchDataset(ctx, std::move(form), std::move(args),
                                      std::move(judge));
  }

 private:
  BatchForm form_;
  OrderRules rules_;
  RecordTables tables_;
  std::shared_ptr<data::FunctionMetadata> judge_;
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
    Name("MillraceJudgedOrderedExampleBatchDataset").Device(DEVICE_CPU),
    OrderedBatchDatasetOp);
REGISTER_KERNEL_BUILDER(
    Name("MillraceJudgedOrderedSequenceBatchDataset").Device(DEVICE_CPU),
    OrderedBatchDatasetOp);
REGISTER_KERNEL_BUILDER(
    Name("MillraceOrderedRecordsDataset").Device(DEVICE_CPU),
    OrderedRecordsDatasetOp);

}  // namespace
}  // namespace millrace
