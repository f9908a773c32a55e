// MillraceChunkRecordsDataset reads files of sequences and yields batches of
// the rows that are cut from them: chunk_cutter.h over record_blocks.h. Floats
// whose stored form equals their form in memory go from the file's bytes
// straight into the batch.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "block_pool.h"
#include "chunk_cutter.h"
#include "chunk_form.h"
#include "dataset_base.h"
#include "record_blocks.h"
#include "record_group.h"
#include "status.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr char kThreads[] = "threads";
constexpr int64_t kMaxThreads = 1000;
constexpr int64_t kMaxRow = int64_t{1} << 31;

// Args are the inputs of the op without the form's.
struct Args : FileInputs {
  int64_t threads = 0;
};

class ChunkRecordsDataset : public TypedDataset {
 public:
  ChunkRecordsDataset(OpKernelContext* ctx, const RecordSpec& records,
                      ChunkForm form, Args args)
      : TypedDataset(ctx, "MillraceChunkRecords", form.spec().types(),
                     form.spec().shapes()),
        records_(records),
        form_(std::move(form)),
        args_(std::move(args)),
        pool_(std::make_shared<BlockPool>([this] {
          return std::make_unique<RecordGroup>(records_, form_.spec());
        })) {}

  std::unique_ptr<data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override {
    return Iterate<Iterator>(this, prefix);
  }

  int64_t CardinalityInternal(data::CardinalityOptions) const override {
    return args_.files.Records() == 0 ? 0 : data::kUnknownCardinality;
  }

 protected:
  absl::Status AsGraphDefInternal(data::SerializationContext*,
                                  DatasetGraphDefBuilder* b,
                                  Node** output) const override {
    std::vector<Node*> in(5);
    TF_RETURN_IF_ERROR(args_.AddFiles(b, &in[0], &in[1]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.buffer_bytes, &in[3]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.threads, &in[4]));
    return form_.AddNode(b, this, in, 2, records_.Attrs(), output);
  }

 private:
  class Iterator;
  const RecordSpec records_;
  const ChunkForm form_;
  const Args args_;
  const std::shared_ptr<BlockPool> pool_;  // shared by all iterators
};

// Position is the state of an iterator: the record of the next row, and the
// row.
struct Position {
  WalkPosition record;
  int64_t row = 0;
};

class ChunkRecordsDataset::Iterator
    : public FileIterator<ChunkRecordsDataset, Position> {
 public:
  explicit Iterator(const Params& params)
      : FileIterator(params),
        reader_(args().files, static_cast<size_t>(args().buffer_bytes),
                args().threads, dataset()->pool_),
        cutter_(dataset()->form_, args().files.names) {}

 protected:
  Position Tell() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const ChunkCutter::Cursor& next = cutter_.cursor();
    if (next.group == nullptr) return {reader_.position(), 0};
    // All groups are records.
    return {static_cast<const RecordGroup&>(*next.group).at(), next.row};
  }

  void Seek(const Position& at) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    cutter_.Seek({nullptr, 0, at.row, false});
    reader_.Seek(at.record);
  }

  bool Fits(const Position& at) const override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return reader_.Fits(at.record) && at.row >= 0 && at.row <= kMaxRow;
  }

  absl::Status Element(data::IteratorContext* ctx, std::vector<Tensor>* out,
                       bool* end_of_sequence) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Input input(ctx, &reader_);
    return cutter_.Batch(&input, ctx->allocator({}), out, end_of_sequence);
  }

 private:
  // Input yields records as groups.
  class Input : public GroupSource {
   public:
    Input(data::IteratorContext* ctx, RecordBlocks* reader)
        : ctx_(ctx), reader_(reader) {}

    absl::Status NextGroup(std::shared_ptr<const ChunkGroup>* group) override {
      TF_RETURN_IF_ERROR(CheckCancelled(ctx_));
      std::shared_ptr<const RecordSlot> slot;
      bool end;
      Fault fault;
      if (!reader_->Next(&slot, &end, &fault)) return ToStatus(fault);
      if (!end) *group = std::static_pointer_cast<const RecordGroup>(slot);
      return absl::OkStatus();
    }

   private:
    data::IteratorContext* const ctx_;
    RecordBlocks* const reader_;
  };

  const Args& args() const { return dataset()->args_; }

  RecordBlocks reader_ ABSL_GUARDED_BY(mu_);
  ChunkCutter cutter_ ABSL_GUARDED_BY(mu_);
};

class ChunkRecordsDatasetOp : public data::DatasetOpKernel {
 public:
  explicit ChunkRecordsDatasetOp(OpKernelConstruction* ctx)
      : DatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, form_.Read(ctx));
    OP_REQUIRES_OK(ctx, records_.Read(ctx, form_.spec()));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, data::DatasetBase** output) override {
    Args args;
    OP_REQUIRES_OK(ctx, args.ReadFiles(ctx, Format::kPlain));
    OP_REQUIRES_OK(
        ctx, data::ParseScalarArgument<int64_t>(ctx, kThreads, &args.threads));
    OP_REQUIRES_OK(ctx, CheckRange(kThreads, args.threads, 1, kMaxThreads));
    ChunkForm form;
    OP_REQUIRES_OK(ctx, form_.WithInputs(ctx, &form));
    *output = new ChunkRecordsDataset(ctx, records_, std::move(form),
                                      std::move(args));
  }

 private:
  ChunkForm form_;
  RecordSpec records_;
};

REGISTER_KERNEL_BUILDER(Name("MillraceChunkRecordsDataset").Device(DEVICE_CPU),
                        ChunkRecordsDatasetOp);

}  // namespace
}  // namespace millrace
