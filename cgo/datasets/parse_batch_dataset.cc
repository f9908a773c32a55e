// MillraceParseBatchDataset batches and decodes the serialized Examples of
// another dataset, MillraceParseSequenceBatchDataset its SequenceExamples.
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

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr char kType[] = "MillraceParseBatch";
constexpr char kOrdinal[] = "ordinal";
constexpr char kEnded[] = "ended";

class ParseBatchDatasetOp : public data::UnaryDatasetOpKernel {
 public:
  explicit ParseBatchDatasetOp(OpKernelConstruction* ctx)
      : UnaryDatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, form_.Read(ctx));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, data::DatasetBase* input,
                   data::DatasetBase** output) override;

 private:
  class Dataset;
  BatchForm form_;
};

class ParseBatchDatasetOp::Dataset : public data::DatasetBase {
 public:
  Dataset(OpKernelContext* ctx, const data::DatasetBase* input, BatchForm form,
          int64_t batch_size, bool drop_remainder)
      : DatasetBase(data::DatasetContext(ctx)),
        input_(input),
        form_(std::move(form)),
        batch_size_(batch_size),
        drop_remainder_(drop_remainder) {
    input_->Ref();
  }
  ~Dataset() override { input_->Unref(); }

  std::unique_ptr<data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override;

  const DataTypeVector& output_dtypes() const override { return form_.types(); }
  const std::vector<PartialTensorShape>& output_shapes() const override {
    return form_.shapes();
  }
  std::string DebugString() const override { return kType; }
  absl::Status InputDatasets(
      std::vector<const data::DatasetBase*>* inputs) const override {
    inputs->push_back(input_);
    return absl::OkStatus();
  }
  absl::Status CheckExternalState() const override {
    return input_->CheckExternalState();
  }

  int64_t CardinalityInternal(data::CardinalityOptions options) const override {
    const int64_t n = input_->Cardinality(options);
    if (n < 0) return n;  // unknown or infinite
    const bool rest = !drop_remainder_ && n % batch_size_ != 0;
    return n / batch_size_ + (rest ? 1 : 0);
  }

 protected:
  absl::Status AsGraphDefInternal(data::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  Node** output) const override {
    std::vector<Node*> in(3);
    TF_RETURN_IF_ERROR(b->AddInputDataset(ctx, input_, &in[0]));
    TF_RETURN_IF_ERROR(b->AddScalar(batch_size_, &in[1]));
    TF_RETURN_IF_ERROR(b->AddScalar(drop_remainder_, &in[2]));
    return form_.AddNode(b, this, in, output);
  }

 private:
  class Iterator;
  const data::DatasetBase* const input_;
  const BatchForm form_;
  const int64_t batch_size_;
  const bool drop_remainder_;
};

class ParseBatchDatasetOp::Dataset::Iterator
    : public data::DatasetIterator<ParseBatchDatasetOp::Dataset> {
 public:
  explicit Iterator(const Params& params)
      : DatasetIterator(params), batcher_(dataset()->form_.NewBatcher()) {}

  absl::Status Initialize(data::IteratorContext* ctx) override {
    absl::MutexLock lock(&mu_);
    return dataset()->input_->MakeIterator(ctx, this, prefix(), &input_);
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
      // The records that were taken for the batch are gone. To go on behind
      // them would lose them silently.
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
    const int64_t rows = dataset()->batch_size_;
    TF_RETURN_IF_ERROR(batcher_->Begin(ctx->allocator({}), rows));
    int64_t row = 0;
    for (; row < rows; ++row, ++ordinal_) {
      element_.clear();
      TF_RETURN_IF_ERROR(input_->GetNext(ctx, &element_, &ended_));
      if (ended_) break;
      const tstring& record = element_[0].scalar<tstring>()();
      Fault fault;
      if (!batcher_->Add({record.data(), record.size()}, row, &fault)) {
        fault.text = absl::StrCat("element ", ordinal_, ": ", fault.text);
        return ToStatus(fault);
      }
    }
    if (row == 0 || (row < rows && dataset()->drop_remainder_)) {
      *end_of_sequence = true;
      return absl::OkStatus();
    }
    return batcher_->Finish(ctx->allocator({}), row, out);
  }

  absl::Mutex mu_;
  std::unique_ptr<data::IteratorBase> input_ ABSL_GUARDED_BY(mu_);
  const std::unique_ptr<Batcher> batcher_ ABSL_PT_GUARDED_BY(mu_);
  std::vector<Tensor> element_ ABSL_GUARDED_BY(mu_);
  int64_t ordinal_ ABSL_GUARDED_BY(mu_) = 0;  // of the next element
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status failed_ ABSL_GUARDED_BY(mu_);
};

std::unique_ptr<data::IteratorBase>
ParseBatchDatasetOp::Dataset::MakeIteratorInternal(
    const std::string& prefix) const {
  return std::make_unique<Iterator>(
      Iterator::Params{this, prefix + "::" + kType});
}

void ParseBatchDatasetOp::MakeDataset(OpKernelContext* ctx,
                                      data::DatasetBase* input,
                                      data::DatasetBase** output) {
  int64_t batch_size = 0;
  bool drop_remainder = false;
  OP_REQUIRES_OK(
      ctx, data::ParseScalarArgument<int64_t>(ctx, kBatchSize, &batch_size));
  OP_REQUIRES_OK(ctx, data::ParseScalarArgument<bool>(ctx, kDropRemainder,
                                                      &drop_remainder));
  OP_REQUIRES(ctx, batch_size > 0,
              absl::InvalidArgumentError("batch_size must be at least 1"));
  const DataTypeVector& types = input->output_dtypes();
  const std::vector<PartialTensorShape>& shapes = input->output_shapes();
  OP_REQUIRES(ctx,
              types.size() == 1 && types[0] == DT_STRING &&
                  shapes[0].IsCompatibleWith(PartialTensorShape({})),
              absl::InvalidArgumentError(
                  "the input must be a dataset of one scalar string"));
  BatchForm form;
  OP_REQUIRES_OK(ctx, form_.WithInputs(ctx, &form));
  *output =
      new Dataset(ctx, input, std::move(form), batch_size, drop_remainder);
}

REGISTER_KERNEL_BUILDER(Name("MillraceParseBatchDataset").Device(DEVICE_CPU),
                        ParseBatchDatasetOp);
REGISTER_KERNEL_BUILDER(
    Name("MillraceParseSequenceBatchDataset").Device(DEVICE_CPU),
    ParseBatchDatasetOp);

}  // namespace
}  // namespace millrace
