// MillraceChunkBatchDataset cuts the sequences of another dataset into rows and
// batches the rows by a budget of frames (chunk_cutter.h). The state of the
// iterator is the state of its input, the current group, and the next row of
// that group.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "chunk_batch.h"
#include "chunk_cutter.h"
#include "chunk_form.h"
#include "dataset_base.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr char kFiles[] = "files";
constexpr char kEnded[] = "ended";
constexpr char kRecord[] = "record";
constexpr char kRow[] = "row";
constexpr char kTensors[] = "tensors";
constexpr int64_t kMaxSize = int64_t{1} << 31;

class ChunkBatchDataset : public InputDataset {
 public:
  ChunkBatchDataset(OpKernelContext* ctx, const data::DatasetBase* input,
                    ChunkForm form, std::vector<tstring> files)
      : InputDataset(ctx, "MillraceChunkBatch", form.spec().types(),
                     form.spec().shapes(), input),
        form_(std::move(form)),
        files_(std::move(files)) {}

  std::unique_ptr<data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override {
    return Iterate<Iterator>(this, prefix);
  }
  int64_t CardinalityInternal(data::CardinalityOptions options) const override {
    const int64_t n = input()->Cardinality(options);
    return n == 0 || n == data::kInfiniteCardinality
               ? n
               : data::kUnknownCardinality;
  }

 protected:
  absl::Status AsGraphDefInternal(data::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  Node** output) const override {
    std::vector<Node*> in(3);
    TF_RETURN_IF_ERROR(b->AddInputDataset(ctx, input(), &in[0]));
    TF_RETURN_IF_ERROR(b->AddVector(files_, &in[2]));
    return form_.AddNode(b, this, in, 1, {}, output);
  }

 private:
  class Iterator;
  const ChunkForm form_;
  const std::vector<tstring> files_;  // named by index in locations
};

class ChunkBatchDataset::Iterator
    : public data::DatasetIterator<ChunkBatchDataset> {
 public:
  explicit Iterator(const Params& params)
      : DatasetIterator(params),
        cutter_(dataset()->form_,
                {dataset()->files_.begin(), dataset()->files_.end()}) {}

  absl::Status Initialize(data::IteratorContext* ctx) override {
    absl::MutexLock lock(&mu_);
    return dataset()->input()->MakeIterator(ctx, this, prefix(), &input_);
  }

  absl::Status GetNextInternal(data::IteratorContext* ctx,
                               std::vector<Tensor>* out,
                               bool* end_of_sequence) override {
    absl::MutexLock lock(&mu_);
    if (!failed_.ok()) return failed_;
    absl::Status s;
    try {
      Input input(dataset()->form_.spec(), ctx, input_.get());
      s = cutter_.Batch(&input, ctx->allocator({}), out, end_of_sequence);
    } catch (const std::bad_alloc&) {
      s = absl::ResourceExhaustedError("no memory for a batch of rows");
    }
    if (!s.ok()) {
      // The rows taken for the batch are gone. Continuing after them would lose
      // them silently.
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
    const ChunkCutter::Cursor& next = cutter_.cursor();
    TF_RETURN_IF_ERROR(
        writer->WriteScalar(prefix(), kEnded, int64_t{next.ended ? 1 : 0}));
    TF_RETURN_IF_ERROR(writer->WriteScalar(prefix(), kRecord, next.record));
    TF_RETURN_IF_ERROR(writer->WriteScalar(prefix(), kRow, next.row));
    const std::vector<Tensor> none;
    // All groups are elements of the input.
    const std::vector<Tensor>& element =
        next.group == nullptr
            ? none
            : static_cast<const ElementGroup&>(*next.group).element();
    TF_RETURN_IF_ERROR(writer->WriteScalar(
        prefix(), kTensors, static_cast<int64_t>(element.size())));
    for (size_t i = 0; i < element.size(); ++i) {
      TF_RETURN_IF_ERROR(
          writer->WriteTensor(prefix(), absl::StrCat(kTensors, i), element[i]));
    }
    return next.ended ? absl::OkStatus() : SaveInput(ctx, writer, input_);
  }

  absl::Status RestoreInternal(data::IteratorContext* ctx,
                               data::IteratorStateReader* reader) override {
    absl::MutexLock lock(&mu_);
    int64_t ended = 0, tensors = 0;
    ChunkCutter::Cursor next;
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), kEnded, &ended));
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), kRecord, &next.record));
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), kRow, &next.row));
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), kTensors, &tensors));
    const size_t want = dataset()->input()->output_dtypes().size();
    if ((tensors != 0 && static_cast<size_t>(tensors) != want) ||
        next.record < 0 || next.row < 0 || next.row > kMaxSize) {
      return absl::InvalidArgumentError("the state is not one of this dataset");
    }
    if (tensors > 0) {
      std::vector<Tensor> element(tensors);
      for (int64_t i = 0; i < tensors; ++i) {
        TF_RETURN_IF_ERROR(reader->ReadTensor(
            prefix(), absl::StrCat(kTensors, i), &element[i]));
      }
      std::shared_ptr<const ElementGroup> group;
      TF_RETURN_IF_ERROR(ElementGroup::Make(dataset()->form_.spec(),
                                            std::move(element), &group));
      next.group = std::move(group);
    }
    failed_ = absl::OkStatus();
    next.ended = ended != 0;
    cutter_.Seek(std::move(next));
    return ended != 0 ? absl::OkStatus() : RestoreInput(ctx, reader, input_);
  }

 private:
  // Input yields the elements of the input as groups.
  class Input : public GroupSource {
   public:
    Input(const ChunkSpec& spec, data::IteratorContext* ctx,
          data::IteratorBase* input)
        : spec_(spec), ctx_(ctx), input_(input) {}

    absl::Status NextGroup(std::shared_ptr<const ChunkGroup>* group) override {
      TF_RETURN_IF_ERROR(CheckCancelled(ctx_));
      std::vector<Tensor> element;
      bool end = false;
      TF_RETURN_IF_ERROR(input_->GetNext(ctx_, &element, &end));
      if (end) return absl::OkStatus();
      std::shared_ptr<const ElementGroup> made;
      TF_RETURN_IF_ERROR(ElementGroup::Make(spec_, std::move(element), &made));
      *group = std::move(made);
      return absl::OkStatus();
    }

   private:
    const ChunkSpec& spec_;
    data::IteratorContext* const ctx_;
    data::IteratorBase* const input_;
  };

  absl::Mutex mu_;
  std::unique_ptr<data::IteratorBase> input_ ABSL_GUARDED_BY(mu_);
  ChunkCutter cutter_ ABSL_GUARDED_BY(mu_);
  absl::Status failed_ ABSL_GUARDED_BY(mu_);
};

class ChunkBatchDatasetOp : public data::UnaryDatasetOpKernel {
 public:
  explicit ChunkBatchDatasetOp(OpKernelConstruction* ctx)
      : UnaryDatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, form_.Read(ctx));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, data::DatasetBase* input,
                   data::DatasetBase** output) override {
    std::vector<tstring> files;
    OP_REQUIRES_OK(ctx,
                   data::ParseVectorArgument<tstring>(ctx, kFiles, &files));
    OP_REQUIRES_OK(ctx, form_.spec().CheckInput(input->output_dtypes()));
    ChunkForm form;
    OP_REQUIRES_OK(ctx, form_.WithInputs(ctx, &form));
    *output =
        new ChunkBatchDataset(ctx, input, std::move(form), std::move(files));
  }

 private:
  ChunkForm form_;
};

REGISTER_KERNEL_BUILDER(Name("MillraceChunkBatchDataset").Device(DEVICE_CPU),
                        ChunkBatchDatasetOp);

}  // namespace
}  // namespace millrace
