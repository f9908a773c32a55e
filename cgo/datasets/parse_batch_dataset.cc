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
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr char kType[] = "MillraceParseBatch";
constexpr char kBatchSize[] = "batch_size";
constexpr char kDropRemainder[] = "drop_remainder";
constexpr char kOrdinal[] = "ordinal";
constexpr char kEnded[] = "ended";

REGISTER_OP("MillraceParseBatchDataset")
    .Input("input_dataset: variant")
    .Input("batch_size: int64")
    .Input("drop_remainder: bool")
    .Output("handle: variant")
    .Attr("keys: list(string) >= 1")
    .Attr("kinds: list({'int', 'float', 'bytes', 'raw'}) >= 1")
    .Attr("values: list(int) >= 1")
    .Attr("big_endian: list(bool) >= 1")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(R"doc(
Yields batches of the serialized Examples that a dataset of strings yields.

keys: The features, all required.
kinds: How they are stored.
values: How many values a record stores of each; of raw ones, byte strings.
big_endian: Whether raw numbers are stored most significant byte first.
)doc");

REGISTER_OP("MillraceParseSequenceBatchDataset")
    .Input("input_dataset: variant")
    .Input("batch_size: int64")
    .Input("drop_remainder: bool")
    .Input("fills: Tfills")
    .Output("handle: variant")
    .Attr("keys: list(string) >= 1")
    .Attr("kinds: list({'int', 'float', 'bytes', 'raw'}) >= 1")
    .Attr("values: list(int) >= 1")
    .Attr("big_endian: list(bool) >= 1")
    .Attr("lists: list(bool) >= 1")
    .Attr("record_types: list(type) >= 1")
    .Attr("record_shapes: list(shape) >= 1")
    .Attr(
        "parts: list({'values', 'splits', 'padded', 'lengths', 'mask', "
        "'elements'}) >= 1")
    .Attr("of: list(int) >= 1")
    .Attr("sizes: list(int) >= 1")
    .Attr("Tfills: list(type) >= 0")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(R"doc(
Yields batches of the serialized SequenceExamples of a dataset of strings.

fills: What to pad each padded component with.
keys: The features, all required.
kinds: How they are stored.
values: How many values a record, or an element of a list, stores of each; of
  raw ones, byte strings.
big_endian: Whether raw numbers are stored most significant byte first.
lists: Whether they are feature lists.
record_shapes: Of a batch of records, or for lists of their elements.
parts: What each component is: values (of a list those of all records,
  joined), where each record's begin in them, a list padded, its lengths, which
  of its elements are no padding, or how many values each record has.
of: The feature of each component.
sizes: The size that padded lists and masks have, -1 for the longest.
)doc");

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

  const DataTypeVector& output_dtypes() const override {
    return form_.types();
  }
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
                     bool* end_of_sequence)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
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
  *output = new Dataset(ctx, input, std::move(form), batch_size,
                        drop_remainder);
}

REGISTER_KERNEL_BUILDER(Name("MillraceParseBatchDataset").Device(DEVICE_CPU),
                        ParseBatchDatasetOp);
REGISTER_KERNEL_BUILDER(
    Name("MillraceParseSequenceBatchDataset").Device(DEVICE_CPU),
    ParseBatchDatasetOp);

}  // namespace
}  // namespace millrace
