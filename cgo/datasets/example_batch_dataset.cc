// MillraceExampleBatchDataset reads files of Examples one after the other and
// yields batches: read, check, decode and fill in one go.
// MillraceSequenceBatchDataset does it with SequenceExamples.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "batch_form.h"
#include "dataset_op.h"
#include "record_reader.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr char kType[] = "MillraceExampleBatch";
constexpr char kEpoch[] = "epoch";
constexpr char kFile[] = "file";
constexpr char kOffset[] = "offset";
constexpr char kOrdinal[] = "ordinal";
constexpr char kSeen[] = "seen";
constexpr int64_t kCancelEvery = 64;  // records

class ExampleBatchDatasetOp : public data::DatasetOpKernel {
 public:
  explicit ExampleBatchDatasetOp(OpKernelConstruction* ctx)
      : DatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, form_.Read(ctx));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, data::DatasetBase** output) override;

 private:
  class Dataset;
  BatchForm form_;
};

class ExampleBatchDatasetOp::Dataset : public data::DatasetBase {
 public:
  Dataset(OpKernelContext* ctx, BatchForm form, FileInputs args)
      : DatasetBase(data::DatasetContext(ctx)),
        form_(std::move(form)),
        args_(std::move(args)) {
    for (int64_t count : args_.counts) {
      total_ = count < 0 || total_ < 0 ? -1 : total_ + count;
    }
  }

  std::unique_ptr<data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override;

  const DataTypeVector& output_dtypes() const override { return form_.types(); }
  const std::vector<PartialTensorShape>& output_shapes() const override {
    return form_.shapes();
  }
  std::string DebugString() const override { return kType; }
  absl::Status InputDatasets(
      std::vector<const data::DatasetBase*>*) const override {
    return absl::OkStatus();
  }
  absl::Status CheckExternalState() const override { return absl::OkStatus(); }

  int64_t CardinalityInternal(data::CardinalityOptions) const override {
    if (total_ < 0) return data::kUnknownCardinality;
    if (args_.epochs < 0) return data::kInfiniteCardinality;
    if (total_ > 0 && args_.epochs > INT64_MAX / 2 / total_) {
      return data::kUnknownCardinality;
    }
    const int64_t records = total_ * args_.epochs;
    const int64_t spare = args_.drop_remainder ? 0 : args_.batch_size - 1;
    return (records + spare) / args_.batch_size;
  }

 protected:
  absl::Status AsGraphDefInternal(data::SerializationContext*,
                                  DatasetGraphDefBuilder* b,
                                  Node** output) const override {
    std::vector<Node*> in(6);
    TF_RETURN_IF_ERROR(b->AddVector(args_.filenames, &in[0]));
    TF_RETURN_IF_ERROR(b->AddVector(args_.counts, &in[1]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.batch_size, &in[2]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.epochs, &in[3]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.drop_remainder, &in[4]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.buffer_bytes, &in[5]));
    return form_.AddNode(b, this, in, output);
  }

 private:
  class Iterator;
  const BatchForm form_;
  const FileInputs args_;
  int64_t total_ = 0;  // records of an epoch, -1 if unknown
};

// Position is where the next record is; the state of an iterator.
struct Position {
  int64_t epoch = 0;
  int64_t file = 0;
  int64_t offset = 0;
  int64_t ordinal = 0;
  int64_t seen = 0;  // records of the epoch in the files before
};

class ExampleBatchDatasetOp::Dataset::Iterator
    : public data::DatasetIterator<ExampleBatchDatasetOp::Dataset> {
 public:
  explicit Iterator(const Params& params)
      : DatasetIterator(params),
        reader_(static_cast<size_t>(dataset()->args_.buffer_bytes)),
        batcher_(dataset()->form_.NewBatcher()) {}

  absl::Status GetNextInternal(data::IteratorContext* ctx,
                               std::vector<Tensor>* out,
                               bool* end_of_sequence) override {
    absl::MutexLock lock(&mu_);
    const Position before = at_;
    const absl::Status s = Batch(ctx, out, end_of_sequence);
    if (!s.ok()) {
      // A batch is whole or was not begun: asked again, it fails again.
      out->clear();
      reader_.Close();
      at_ = before;
    }
    return s;
  }

 protected:
  absl::Status SaveInternal(data::SerializationContext*,
                            data::IteratorStateWriter* writer) override {
    absl::MutexLock lock(&mu_);
    TF_RETURN_IF_ERROR(writer->WriteScalar(prefix(), kEpoch, at_.epoch));
    TF_RETURN_IF_ERROR(writer->WriteScalar(prefix(), kFile, at_.file));
    TF_RETURN_IF_ERROR(writer->WriteScalar(prefix(), kOffset, at_.offset));
    TF_RETURN_IF_ERROR(writer->WriteScalar(prefix(), kOrdinal, at_.ordinal));
    return writer->WriteScalar(prefix(), kSeen, at_.seen);
  }

  absl::Status RestoreInternal(data::IteratorContext*,
                               data::IteratorStateReader* reader) override {
    absl::MutexLock lock(&mu_);
    Position at;
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), kEpoch, &at.epoch));
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), kFile, &at.file));
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), kOffset, &at.offset));
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), kOrdinal, &at.ordinal));
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), kSeen, &at.seen));
    const auto files = static_cast<int64_t>(dataset()->args_.filenames.size());
    if (at.epoch < 0 || at.file < 0 || at.file > files || at.offset < 0 ||
        at.ordinal < 0 || at.seen < 0) {
      return absl::InvalidArgumentError("the state is not one of this dataset");
    }
    reader_.Close();
    at_ = at;
    return absl::OkStatus();
  }

 private:
  // Rows returns how many rows the next batch has, or may have if the number
  // of records is not known.
  int64_t Rows() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const FileInputs& args = dataset()->args_;
    const int64_t total = dataset()->total_;
    if (total < 0 || args.epochs < 0) return args.batch_size;
    int64_t left = total - at_.seen - at_.ordinal;
    const int64_t epochs = args.epochs - at_.epoch - 1;
    if (epochs < 0) return 0;
    if (total > 0 && epochs >= args.batch_size / total + 1) {
      return args.batch_size;
    }
    left = std::max<int64_t>(left, 0) + epochs * total;
    return std::min(left, args.batch_size);
  }

  absl::Status Batch(data::IteratorContext* ctx, std::vector<Tensor>* out,
                     bool* end_of_sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    *end_of_sequence = false;
    const int64_t rows = Rows();
    TF_RETURN_IF_ERROR(batcher_->Begin(ctx->allocator({}), rows));
    int64_t row = 0;
    // Records beyond those counted are an error even where no row is left.
    for (; row < std::max<int64_t>(rows, 1); ++row) {
      if (row % kCancelEvery == 0) TF_RETURN_IF_ERROR(CheckCancelled(ctx));
      std::string_view record;
      bool end = false;
      TF_RETURN_IF_ERROR(NextRecord(&record, &end));
      if (end) break;
      if (row >= rows) {
        return absl::FailedPreconditionError(
            "there are more records than the iterator's state says");
      }
      Fault fault;
      if (!batcher_->Add(record, row, &fault)) {
        reader_.Describe(&fault);
        return ToStatus(fault);
      }
    }
    if (row == 0 || (row < dataset()->args_.batch_size &&
                     dataset()->args_.drop_remainder)) {
      if (row > 0) TF_RETURN_IF_ERROR(Drain());
      *end_of_sequence = true;
    } else {
      TF_RETURN_IF_ERROR(batcher_->Finish(ctx->allocator({}), row, out));
    }
    if (reader_.is_open()) {
      at_.offset = reader_.offset();
      at_.ordinal = reader_.ordinal();
    }
    return absl::OkStatus();
  }

  // Drain reads on to the end, so that what is dropped was whole, too.
  absl::Status Drain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::string_view record;
    bool end = false;
    while (!end) TF_RETURN_IF_ERROR(NextRecord(&record, &end));
    return absl::OkStatus();
  }

  // NextRecord returns the next record of all files and epochs.
  absl::Status NextRecord(std::string_view* record, bool* end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const FileInputs& args = dataset()->args_;
    Fault fault;
    for (;;) {
      if (!reader_.is_open()) {
        TF_RETURN_IF_ERROR(NextFile(end));
        if (*end) return absl::OkStatus();
      }
      switch (reader_.Next(record, &fault)) {
        case RecordReader::Outcome::kFault:
          return ToStatus(fault);
        case RecordReader::Outcome::kRecord:
          if (args.counts[at_.file] == reader_.ordinal() - 1) {
            return Miscounted("more");
          }
          return absl::OkStatus();
        case RecordReader::Outcome::kEnd:
          break;
      }
      if (args.counts[at_.file] > reader_.ordinal()) {
        return Miscounted(absl::StrCat("only ", reader_.ordinal()));
      }
      at_.seen += reader_.ordinal();
      at_.offset = at_.ordinal = 0;
      ++at_.file;
      reader_.Close();
    }
  }

  absl::Status Miscounted(const std::string& has) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return absl::FailedPreconditionError(
        absl::StrCat("file ", Quote(dataset()->args_.filenames[at_.file], 512),
                     ": ", dataset()->args_.counts[at_.file],
                     " records were counted, it has ", has));
  }

  // NextFile opens the file of the position, or of the next epoch.
  absl::Status NextFile(bool* end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const FileInputs& args = dataset()->args_;
    if (args.epochs >= 0 && at_.epoch >= args.epochs) {
      *end = true;
      return absl::OkStatus();
    }
    if (at_.file == static_cast<int64_t>(args.filenames.size())) {
      if (at_.seen == 0 && args.epochs < 0) {
        return absl::FailedPreconditionError(
            "there are no records to repeat without end");
      }
      at_ = Position{at_.epoch + 1};
      if (args.epochs >= 0 && at_.epoch >= args.epochs) {
        *end = true;
        return absl::OkStatus();
      }
      if (args.filenames.empty()) return NextFile(end);
    }
    Fault fault;
    if (!reader_.Open(args.filenames[at_.file], at_.offset, at_.ordinal,
                      &fault)) {
      return ToStatus(fault);
    }
    return absl::OkStatus();
  }

  absl::Mutex mu_;
  Position at_ ABSL_GUARDED_BY(mu_);
  RecordReader reader_ ABSL_GUARDED_BY(mu_);
  const std::unique_ptr<Batcher> batcher_ ABSL_PT_GUARDED_BY(mu_);
};

std::unique_ptr<data::IteratorBase>
ExampleBatchDatasetOp::Dataset::MakeIteratorInternal(
    const std::string& prefix) const {
  return std::make_unique<Iterator>(
      Iterator::Params{this, prefix + "::" + kType});
}

void ExampleBatchDatasetOp::MakeDataset(OpKernelContext* ctx,
                                        data::DatasetBase** output) {
  FileInputs args;
  OP_REQUIRES_OK(ctx, args.Read(ctx));
  OP_REQUIRES(ctx, args.counts.size() == args.filenames.size(),
              absl::InvalidArgumentError(
                  absl::StrCat(args.filenames.size(), " filenames, but ",
                               args.counts.size(), " counts")));
  OP_REQUIRES(ctx, args.batch_size > 0,
              absl::InvalidArgumentError("batch_size must be at least 1"));
  OP_REQUIRES(ctx, args.epochs >= -1,
              absl::InvalidArgumentError("epochs must be at least -1"));
  OP_REQUIRES(ctx, args.buffer_bytes >= 0 && args.buffer_bytes <= kMaxBuffer,
              absl::InvalidArgumentError("buffer_bytes is out of range"));
  BatchForm form;
  OP_REQUIRES_OK(ctx, form_.WithInputs(ctx, &form));
  *output = new Dataset(ctx, std::move(form), std::move(args));
}

REGISTER_KERNEL_BUILDER(Name("MillraceExampleBatchDataset").Device(DEVICE_CPU),
                        ExampleBatchDatasetOp);
REGISTER_KERNEL_BUILDER(Name("MillraceSequenceBatchDataset").Device(DEVICE_CPU),
                        ExampleBatchDatasetOp);

}  // namespace
}  // namespace millrace
