// MillraceExampleBatchDataset reads files of Examples one after the other and
// yields batches: read, check, decode and fill in one go. Batches of plain
// local files are prefetched. A faulty batch is read once more, one record
// after the other, to describe the fault. MillraceSequenceBatchDataset reads
// records with lists. MillraceJudgedExampleBatchDataset and
// MillraceJudgedSequenceBatchDataset skip bad records: a function of the graph
// decides about records that they cannot decode, or that only TensorFlow's
// lenient parser accepts. All other records cost nothing extra.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "batch_form.h"
#include "batches_ahead.h"
#include "dataset_base.h"
#include "env_source.h"
#include "record_judge.h"
#include "record_walk.h"
#include "status.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr int64_t kCancelEvery = 64;  // records
constexpr char kThreads[] = "threads";

// Args are the inputs of the op.
struct Args : FileInputs {
  int64_t threads = 1;
  int64_t batch_size = 0;
  bool drop_remainder = false;
};

class ExampleBatchDataset : public TypedDataset {
 public:
  using Judge = std::unique_ptr<data::CapturedFunction>;

  // Without a judge the first bad record is a failure.
  ExampleBatchDataset(OpKernelContext* ctx, BatchForm form, Args args,
                      Judge judge)
      : TypedDataset(ctx, "MillraceExampleBatch", form.types(), form.shapes()),
        form_(std::move(form)),
        args_(std::move(args)),
        judge_(std::move(judge)),
        total_(args_.files.Records()) {}

  std::unique_ptr<data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override {
    return Iterate<Iterator>(this, prefix);
  }

  int64_t CardinalityInternal(data::CardinalityOptions) const override {
    const int64_t epochs = args_.files.epochs;
    if (total_ < 0 || judge_ != nullptr) return data::kUnknownCardinality;
    if (epochs < 0) return data::kInfiniteCardinality;
    if (!args_.files.skipped.empty()) return data::kUnknownCardinality;
    if (total_ > 0 && epochs > INT64_MAX / 2 / total_) {
      return data::kUnknownCardinality;
    }
    const int64_t records = total_ * epochs;
    const int64_t batches = records / args_.batch_size;
    const bool rest = !args_.drop_remainder && records % args_.batch_size != 0;
    return batches + (rest ? 1 : 0);
  }

  absl::Status CheckExternalState() const override {
    return judge_ == nullptr ? absl::OkStatus() : judge_->CheckExternalState();
  }

 protected:
  absl::Status AsGraphDefInternal(data::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  Node** output) const override {
    std::vector<Node*> in(6);
    TF_RETURN_IF_ERROR(args_.AddFiles(b, &in[0], &in[1]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.batch_size, &in[2]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.files.epochs, &in[3]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.drop_remainder, &in[4]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.buffer_bytes, &in[5]));
    auto attrs = args_.Attrs(b);
    attrs.emplace_back(kThreads, b->BuildAttrValue(args_.threads));
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
  const int64_t total_;  // records per epoch, -1 if unknown
};

class ExampleBatchDataset::Iterator
    : public FileIterator<ExampleBatchDataset, WalkPosition> {
 public:
  explicit Iterator(const Params& params)
      : FileIterator(params),
        walk_(args().files, static_cast<size_t>(args().buffer_bytes),
              Opener(args().format),
              args().format == Format::kPlain ? 1 : args().threads),
        batcher_(dataset()->form_.NewBatcher()) {
    if (args().format != Format::kPlain) return;
    const BatchForm& form = dataset()->form_;
    ahead_ = std::make_unique<BatchesAhead>(
        args().files,
        BatchesAhead::Options{args().batch_size, args().threads,
                              [&form] { return form.NewBatcher(); },
                              dataset()->judge_ != nullptr});
  }

  absl::Status Initialize(data::IteratorContext* ctx) override {
    return judge_.Start(ctx, dataset()->judge_.get());
  }

 protected:
  WalkPosition Tell() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return walking_ ? walk_.position() : position_;
  }
  void Seek(const WalkPosition& at) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    walk_.Seek(at);
    walking_ = true;
    if (ahead_ != nullptr) ahead_->Seek(at);
  }
  bool Fits(const WalkPosition& at) const override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return walk_.Fits(at);
  }

  absl::Status Element(data::IteratorContext* ctx, std::vector<Tensor>* out,
                       bool* end_of_sequence) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (ahead_ == nullptr) return Walk(ctx, out, end_of_sequence);
    TF_RETURN_IF_ERROR(CheckCancelled(ctx));
    if (ahead_->Next(ctx->allocator({}), out, &position_)) {
      walking_ = false;
      return absl::OkStatus();
    }
    if (!walking_) walk_.Seek(position_);
    walking_ = true;
    TF_RETURN_IF_ERROR(Walk(ctx, out, end_of_sequence));
    ahead_->Seek(walk_.position());
    return absl::OkStatus();
  }

 private:
  const Args& args() const { return dataset()->args_; }

  // Walk makes the next element from records that are read one by one.
  absl::Status Walk(data::IteratorContext* ctx, std::vector<Tensor>* out,
                    bool* end_of_sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const int64_t rows = Rows();
    TF_RETURN_IF_ERROR(batcher_->Begin(ctx->allocator({}), rows));
    int64_t row = 0;
    bool end = false;
    // More records than counted are an error even if no row is left.
    for (int64_t n = 0; row < std::max<int64_t>(rows, 1); ++n) {
      if (n % kCancelEvery == 0) TF_RETURN_IF_ERROR(CheckCancelled(ctx));
      bool added = false;
      TF_RETURN_IF_ERROR(AddNext(ctx, row, rows, &added, &end));
      if (end) break;
      if (added) ++row;
    }
    *end_of_sequence =
        row == 0 || (row < args().batch_size && args().drop_remainder);
    if (!*end_of_sequence) {
      return batcher_->Finish(ctx->allocator({}), row, out);
    }
    return row > 0 ? Drain(ctx) : absl::OkStatus();
  }

  // AddNext adds the next record as a row, unless it is skipped.
  absl::Status AddNext(data::IteratorContext* ctx, int64_t row, int64_t rows,
                       bool* added, bool* end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::string_view record;
    Fault fault;
    if (!walk_.Next(&record, end, &fault)) return LeaveOut(ctx, fault);
    if (*end) return absl::OkStatus();
    if (row >= rows) {
      return absl::FailedPreconditionError(
          "there are more records than the iterator's state says");
    }
    *added = batcher_->Add(record, row, &fault);
    if (*added && (!judge_.there() || batcher_->IsUsual(record))) {
      return absl::OkStatus();
    }
    if (*added) fault.Set(Cause::kInvalidArgument, "not in the usual form");
    walk_.Describe(&fault);
    bool good = false;
    TF_RETURN_IF_ERROR(judge_.PassOver(ctx, fault, &record, 0, &walk_, &good));
    if (good && !*added) return ToStatus(fault);
    if (!good) batcher_->DropRow(row);
    *added = good;
    return absl::OkStatus();
  }

  // LeaveOut skips a record that cannot be read, or returns the error.
  absl::Status LeaveOut(data::IteratorContext* ctx, const Fault& fault)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    bool good = false;
    TF_RETURN_IF_ERROR(judge_.PassOver(ctx, fault, nullptr, 0, &walk_, &good));
    return good ? ToStatus(fault) : absl::OkStatus();
  }

  // Rows returns the number of rows of the next batch, or the maximum if the
  // number of records is unknown.
  int64_t Rows() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const WalkPosition at = walk_.position();
    const int64_t total = dataset()->total_;
    const int64_t epochs = args().files.epochs - at.epoch - 1;
    if (total < 0 || args().files.epochs < 0) return args().batch_size;
    if (epochs < 0) return 0;
    if (total > 0 && epochs >= args().batch_size / total + 1) {
      return args().batch_size;
    }
    const int64_t left = std::max<int64_t>(total - at.seen - at.ordinal, 0);
    return std::min(total > 0 ? left + epochs * total : 0, args().batch_size);
  }

  // Drain reads to the end, so that dropped records are checked too.
  absl::Status Drain(data::IteratorContext* ctx)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (;;) {
      std::string_view record;
      bool end = false;
      Fault fault;
      if (!walk_.Next(&record, &end, &fault)) {
        TF_RETURN_IF_ERROR(LeaveOut(ctx, fault));
      }
      if (end) return absl::OkStatus();
    }
  }

  RecordWalk walk_ ABSL_GUARDED_BY(mu_);
  bool walking_ ABSL_GUARDED_BY(mu_) =
      true;  // whether walk_ has the next position
  WalkPosition position_ ABSL_GUARDED_BY(mu_);  // the next one if !walking_
  const std::unique_ptr<Batcher> batcher_ ABSL_PT_GUARDED_BY(mu_);
  std::unique_ptr<BatchesAhead> ahead_ ABSL_PT_GUARDED_BY(mu_);
  RecordJudge judge_;
};

class ExampleBatchDatasetOp : public data::DatasetOpKernel {
 public:
  explicit ExampleBatchDatasetOp(OpKernelConstruction* ctx)
      : DatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, form_.Read(ctx));
    OP_REQUIRES_OK(ctx, ReadFormat(ctx, &format_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr(kThreads, &threads_));
    OP_REQUIRES_OK(ctx, ReadSkipped(ctx, &skipped_));
    OP_REQUIRES_OK(ctx, RecordJudge::Read(ctx, &judge_));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, data::DatasetBase** output) override {
    Args args;
    args.threads = threads_;
    args.files.skipped = skipped_;
    OP_REQUIRES_OK(ctx, args.ReadFiles(ctx, format_));
    OP_REQUIRES_OK(
        ctx, data::ParseScalarArgument(ctx, kBatchSize, &args.batch_size));
    OP_REQUIRES_OK(ctx,
                   data::ParseScalarArgument(ctx, kEpochs, &args.files.epochs));
    OP_REQUIRES_OK(ctx, data::ParseScalarArgument(ctx, kDropRemainder,
                                                  &args.drop_remainder));
    OP_REQUIRES_OK(ctx, CheckRange(kBatchSize, args.batch_size, 1, INT64_MAX));
    OP_REQUIRES_OK(ctx, CheckRange(kEpochs, args.files.epochs, -1, INT64_MAX));
    OP_REQUIRES_OK(
        ctx, CheckSkipped(skipped_, args.files.Records(), args.files.epochs));
    BatchForm form;
    OP_REQUIRES_OK(ctx, form_.WithInputs(ctx, &form));
    ExampleBatchDataset::Judge judge;
    OP_REQUIRES_OK(ctx, RecordJudge::Create(ctx, judge_, &judge));
    *output = new ExampleBatchDataset(ctx, std::move(form), std::move(args),
                                      std::move(judge));
  }

 private:
  BatchForm form_;
  Format format_;
  int64_t threads_ = 1;
  SkippedRecords skipped_;
  std::shared_ptr<data::FunctionMetadata> judge_;
};

REGISTER_KERNEL_BUILDER(Name("MillraceExampleBatchDataset").Device(DEVICE_CPU),
                        ExampleBatchDatasetOp);
REGISTER_KERNEL_BUILDER(
    Name("MillraceJudgedExampleBatchDataset").Device(DEVICE_CPU),
    ExampleBatchDatasetOp);
REGISTER_KERNEL_BUILDER(Name("MillraceSequenceBatchDataset").Device(DEVICE_CPU),
                        ExampleBatchDatasetOp);
REGISTER_KERNEL_BUILDER(
    Name("MillraceJudgedSequenceBatchDataset").Device(DEVICE_CPU),
    ExampleBatchDatasetOp);

}  // namespace
}  // namespace millrace
