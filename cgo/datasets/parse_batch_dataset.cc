// MillraceParseBatchDataset batches and decodes the serialized Examples of
// another dataset, MillraceParseSequenceBatchDataset its records with lists.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "batch_form.h"
#include "dataset_base.h"
#include "record_origin.h"
#include "status.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr char kOrdinal[] = "ordinal";
constexpr char kEnded[] = "ended";

// Args are the inputs of the op without the dataset.
struct Args {
  int64_t batch_size = 0;
  bool drop_remainder = false;
  RecordOrigin origin;
};

class ParseBatchDataset : public InputDataset {
 public:
  ParseBatchDataset(OpKernelContext* ctx, const data::DatasetBase* input,
                    BatchForm form, Args args)
      : InputDataset(ctx, "MillraceParseBatch", form.types(), form.shapes(),
                     input),
        form_(std::move(form)),
        args_(std::move(args)) {}

  std::unique_ptr<data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override {
    return Iterate<Iterator>(this, prefix);
  }

  int64_t CardinalityInternal(data::CardinalityOptions options) const override {
    const int64_t n = input()->Cardinality(options);
    if (n < 0) return n;  // unknown or infinite
    const bool rest = !args_.drop_remainder && n % args_.batch_size != 0;
    return n / args_.batch_size + (rest ? 1 : 0);
  }

 protected:
  absl::Status AsGraphDefInternal(data::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  Node** output) const override {
    std::vector<Node*> in(4);
    TF_RETURN_IF_ERROR(b->AddInputDataset(ctx, input(), &in[0]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.batch_size, &in[1]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.drop_remainder, &in[2]));
    TF_RETURN_IF_ERROR(b->AddVector(args_.origin.files(), &in[3]));
    return form_.AddNode(b, this, in,
                         {{kPlaced, b->BuildAttrValue(args_.origin.placed())}},
                         output);
  }

 private:
  class Iterator;
  const BatchForm form_;
  const Args args_;
};

class ParseBatchDataset::Iterator
    : public data::DatasetIterator<ParseBatchDataset> {
 public:
  explicit Iterator(const Params& params)
      : DatasetIterator(params), batcher_(dataset()->form_.NewBatcher()) {}

  absl::Status Initialize(data::IteratorContext* ctx) override {
    absl::MutexLock lock(&mu_);
    return dataset()->input()->MakeIterator(ctx, this, prefix(), &input_);
  }

  absl::Status GetNextInternal(data::IteratorContext* ctx,
                               std::vector<Tensor>* out,
                               bool* end_of_sequence) override {
    absl::MutexLock lock(&mu_);
    if (!failed_.ok()) return failed_;
    *end_of_sequence = ended_;
    if (ended_) return absl::OkStatus();
    const absl::Status s = Batch(ctx, out, end_of_sequence);
    if (!s.ok()) {
      // The records taken for the batch are gone. Continuing after them would
      // lose them silently.
      failed_ = s;
      out->clear();
    }
    return s;
  }

 protected:
  absl::Status SaveInternal(data::SerializationContext* ctx,
                            data::IteratorStateWriter* writer) override {
    absl::MutexLock lock(&mu_);
    TF_RETURN_IF_ERROR(failed_);
    TF_RETURN_IF_ERROR(writer->WriteScalar(prefix(), kOrdinal, ordinal_));
    TF_RETURN_IF_ERROR(
        writer->WriteScalar(prefix(), kEnded, int64_t{ended_ ? 1 : 0}));
    return ended_ ? absl::OkStatus() : SaveInput(ctx, writer, input_);
  }

  absl::Status RestoreInternal(data::IteratorContext* ctx,
                               data::IteratorStateReader* reader) override {
    absl::MutexLock lock(&mu_);
    int64_t ended = 0;
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), kOrdinal, &ordinal_));
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), kEnded, &ended));
    failed_ = absl::OkStatus();
    ended_ = ended != 0;
    return ended_ ? absl::OkStatus() : RestoreInput(ctx, reader, input_);
  }

 private:
  absl::Status Batch(data::IteratorContext* ctx, std::vector<Tensor>* out,
                     bool* end_of_sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const Args& args = dataset()->args_;
    TF_RETURN_IF_ERROR(batcher_->Begin(ctx->allocator({}), args.batch_size));
    int64_t row = 0;
    for (; row < args.batch_size; ++row, ++ordinal_) {
      element_.clear();
      TF_RETURN_IF_ERROR(input_->GetNext(ctx, &element_, &ended_));
      if (ended_) break;
      const tstring& element = element_[0].scalar<tstring>()();
      TF_RETURN_IF_ERROR(AddRecord(args.origin,
                                   {element.data(), element.size()}, row,
                                   ordinal_, batcher_.get()));
    }
    if (row == 0 || (row < args.batch_size && args.drop_remainder)) {
      *end_of_sequence = true;
      return absl::OkStatus();
    }
    return batcher_->Finish(ctx->allocator({}), row, out);
  }

  absl::Mutex mu_;
  std::unique_ptr<data::IteratorBase> input_ ABSL_GUARDED_BY(mu_);
  const std::unique_ptr<Batcher> batcher_ ABSL_PT_GUARDED_BY(mu_);
  std::vector<Tensor> element_ ABSL_GUARDED_BY(mu_);
  int64_t ordinal_ ABSL_GUARDED_BY(mu_) = 0;  // number of the next element
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status failed_ ABSL_GUARDED_BY(mu_);
};

class ParseBatchDatasetOp : public data::UnaryDatasetOpKernel {
 public:
  explicit ParseBatchDatasetOp(OpKernelConstruction* ctx)
      : UnaryDatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, form_.Read(ctx));
    OP_REQUIRES_OK(ctx, ctx->GetAttr(kPlaced, &placed_));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, data::DatasetBase* input,
                   data::DatasetBase** output) override {
    Args args;
    OP_REQUIRES_OK(
        ctx, data::ParseScalarArgument(ctx, kBatchSize, &args.batch_size));
    OP_REQUIRES_OK(ctx, data::ParseScalarArgument(ctx, kDropRemainder,
                                                  &args.drop_remainder));
    OP_REQUIRES_OK(ctx, CheckRange(kBatchSize, args.batch_size, 1, INT64_MAX));
    OP_REQUIRES_OK(ctx, ReadOrigin(ctx, placed_, &args.origin));
    OP_REQUIRES_OK(ctx, CheckRecords(input));
    BatchForm form;
    OP_REQUIRES_OK(ctx, form_.WithInputs(ctx, &form));
    *output =
        new ParseBatchDataset(ctx, input, std::move(form), std::move(args));
  }

 private:
  BatchForm form_;
  bool placed_;
};

REGISTER_KERNEL_BUILDER(Name("MillraceParseBatchDataset").Device(DEVICE_CPU),
                        ParseBatchDatasetOp);
REGISTER_KERNEL_BUILDER(
    Name("MillraceParseSequenceBatchDataset").Device(DEVICE_CPU),
    ParseBatchDatasetOp);

}  // namespace
}  // namespace millrace
