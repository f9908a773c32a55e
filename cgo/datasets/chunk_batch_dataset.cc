// MillraceChunkBatchDataset cuts sequences into rows and batches the rows by a
// budget of frames.
//
// # How batches are made
//
// A group is the records of one element of the input: their values joined, and
// where each record begins. A row is a record and a range of its frames; making
// one copies nothing. The iterator walks the rows of a group, record by record,
// and asks for the next group when there is none left:
//
//	groups   [ r0 | r1 | r2 ]   [ r3 | r4 ]
//	rows     r0:0 r0:25 r0:50 r1:0 r1:25 | r2:0 r3:0 r3:25 | ...
//	batches  ------------ 0 ------------   ------ 1 ------
//
// Rows join a batch until the budget refuses one, and only then is memory taken
// and every frame copied, once. The rows of a batch keep the groups alive that
// they are of, so that a batch may span groups. The state of the iterator is
// that of its input, the group it walks, and the next row of it.
#include <algorithm>
#include <cinttypes>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "chunk_batch.h"
#include "chunk_rules.h"
#include "chunk_spec.h"
#include "dataset_base.h"
#include "record_origin.h"
#include "status.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr char kRules[] = "rules";
constexpr char kFiles[] = "files";
constexpr char kAligned[] = "aligned";
constexpr char kKeepTail[] = "keep_tail";
constexpr char kEnded[] = "ended";
constexpr char kRecord[] = "record";
constexpr char kRow[] = "row";
constexpr char kTensors[] = "tensors";
constexpr int64_t kMaxSize = int64_t{1} << 31;

// Args are the inputs of the op but for the dataset and the values to pad with.
struct Args {
  std::vector<int64_t> rules;  // size, step, frames of a batch, rows of a batch
  std::vector<tstring> files;  // the names that places number
};

class ChunkBatchDataset : public TypedDataset {
 public:
  ChunkBatchDataset(OpKernelContext* ctx, const data::DatasetBase* input,
                    ChunkSpec spec, bool aligned, bool keep_tail, Args args)
      : TypedDataset(ctx, "MillraceChunkBatch", spec.types(), spec.shapes()),
        input_(input),
        spec_(std::move(spec)),
        aligned_(aligned),
        args_(std::move(args)) {
    rules_.size = args_.rules[0];
    rules_.step = args_.rules[1];
    rules_.keep_tail = keep_tail;
    for (const tstring& name : args_.files) names_.emplace_back(name);
    origin_ = RecordOrigin(true, names_);
    input_->Ref();
  }
  ~ChunkBatchDataset() override { input_->Unref(); }

  std::unique_ptr<data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override {
    return Iterate<Iterator>(this, prefix);
  }
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
    return n == 0 || n == data::kInfiniteCardinality
               ? n
               : data::kUnknownCardinality;
  }

 protected:
  absl::Status AsGraphDefInternal(data::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  Node** output) const override {
    std::vector<std::pair<size_t, Node*>> in(3);
    for (size_t i = 0; i < in.size(); ++i) in[i].first = i;
    TF_RETURN_IF_ERROR(b->AddInputDataset(ctx, input_, &in[0].second));
    TF_RETURN_IF_ERROR(b->AddVector(args_.rules, &in[1].second));
    TF_RETURN_IF_ERROR(b->AddVector(args_.files, &in[2].second));
    std::vector<Node*> fills;
    for (const ChunkSpec::Column& c : spec_.columns()) {
      fills.emplace_back();
      TF_RETURN_IF_ERROR(b->AddTensor(c.fill, &fills.back()));
    }
    auto attrs = spec_.Attrs();
    attrs.emplace_back(kAligned, b->BuildAttrValue(aligned_));
    attrs.emplace_back(kKeepTail, b->BuildAttrValue(rules_.keep_tail));
    return b->AddDataset(this, in, {{in.size(), fills}}, attrs, output);
  }

 private:
  class Iterator;

  Budget NewBudget() const {
    std::vector<int64_t> fixed;
    for (size_t i : spec_.sequences()) {
      fixed.push_back(spec_.columns()[i].fixed);
    }
    return Budget(args_.rules[2], args_.rules[3], std::move(fixed));
  }

  const data::DatasetBase* const input_;
  const ChunkSpec spec_;
  const bool aligned_;
  const Args args_;
  ChunkRules rules_;
  std::vector<std::string> names_;
  RecordOrigin origin_;
};

class ChunkBatchDataset::Iterator
    : public data::DatasetIterator<ChunkBatchDataset> {
 public:
  explicit Iterator(const Params& params)
      : DatasetIterator(params),
        budget_(dataset()->NewBudget()),
        lengths_(spec().sequences().size()) {}

  absl::Status Initialize(data::IteratorContext* ctx) override {
    absl::MutexLock lock(&mu_);
    return dataset()->input_->MakeIterator(ctx, this, prefix(), &input_);
  }

  absl::Status GetNextInternal(data::IteratorContext* ctx,
                               std::vector<Tensor>* out,
                               bool* end_of_sequence) override {
    absl::MutexLock lock(&mu_);
    if (!failed_.ok()) return failed_;
    absl::Status s;
    try {
      s = Batch(ctx, out, end_of_sequence);
    } catch (const std::bad_alloc&) {
      s = absl::ResourceExhaustedError("no memory for a batch of rows");
    }
    rows_.clear();
    if (!s.ok()) {
      // The rows that were taken for the batch are gone. To go on behind them
      // would lose them silently.
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
    TF_RETURN_IF_ERROR(
        writer->WriteScalar(prefix(), kEnded, int64_t{ended_ ? 1 : 0}));
    TF_RETURN_IF_ERROR(writer->WriteScalar(prefix(), kRecord, record_));
    TF_RETURN_IF_ERROR(writer->WriteScalar(prefix(), kRow, row_));
    const size_t n = group_ == nullptr ? 0 : group_->element().size();
    TF_RETURN_IF_ERROR(
        writer->WriteScalar(prefix(), kTensors, static_cast<int64_t>(n)));
    for (size_t i = 0; i < n; ++i) {
      TF_RETURN_IF_ERROR(writer->WriteTensor(
          prefix(), absl::StrCat(kTensors, i), group_->element()[i]));
    }
    return ended_ ? absl::OkStatus() : SaveInput(ctx, writer, input_);
  }

  absl::Status RestoreInternal(data::IteratorContext* ctx,
                               data::IteratorStateReader* reader) override {
    absl::MutexLock lock(&mu_);
    int64_t ended = 0, tensors = 0;
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), kEnded, &ended));
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), kRecord, &record_));
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), kRow, &row_));
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), kTensors, &tensors));
    const size_t want = dataset()->input_->output_dtypes().size();
    if ((tensors != 0 && static_cast<size_t>(tensors) != want) || record_ < 0 ||
        row_ < 0 || row_ > kMaxSize) {
      return absl::InvalidArgumentError("the state is not one of this dataset");
    }
    group_.reset();
    if (tensors > 0) {
      std::vector<Tensor> element(tensors);
      for (int64_t i = 0; i < tensors; ++i) {
        TF_RETURN_IF_ERROR(reader->ReadTensor(
            prefix(), absl::StrCat(kTensors, i), &element[i]));
      }
      TF_RETURN_IF_ERROR(ChunkGroup::Make(spec(), std::move(element), &group_));
    }
    failed_ = absl::OkStatus();
    ended_ = ended != 0;
    return ended_ ? absl::OkStatus() : RestoreInput(ctx, reader, input_);
  }

 private:
  const ChunkSpec& spec() const { return dataset()->spec_; }

  absl::Status Batch(data::IteratorContext* ctx, std::vector<Tensor>* out,
                     bool* end_of_sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    budget_.Clear();
    bool last = false;
    for (;;) {
      ChunkRow row;
      TF_RETURN_IF_ERROR(Find(ctx, &row, &last));
      if (last) break;
      for (size_t i = 0; i < lengths_.size(); ++i) {
        lengths_[i] = RowFrames(spec(), row, spec().sequences()[i]);
      }
      if (!budget_.Add(lengths_)) break;
      rows_.push_back(std::move(row));
      ++row_;
    }
    *end_of_sequence = rows_.empty();
    if (rows_.empty()) return absl::OkStatus();
    return MakeChunkBatch(spec(), rows_, last, ctx->allocator({}), out);
  }

  // Find finds the next row, or that there is none.
  absl::Status Find(data::IteratorContext* ctx, ChunkRow* row, bool* end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const ChunkRules& rules = dataset()->rules_;
    const size_t first = spec().sequences()[0];
    for (;;) {
      if (group_ != nullptr && record_ < group_->records()) {
        const int64_t length = group_->Length(first, record_);
        if (row_ == 0) TF_RETURN_IF_ERROR(CheckAligned());
        if (rules.HasRow(row_, length)) {
          row->group = group_;
          row->record = record_;
          row->whole = rules.whole();
          row->begin = rules.Begin(row_);
          row->end = rules.End(row_, length);
          return CheckFits(*row);
        }
        ++record_;
        row_ = 0;
        continue;
      }
      group_.reset();
      *end = ended_;
      if (ended_) return absl::OkStatus();
      TF_RETURN_IF_ERROR(CheckCancelled(ctx));
      std::vector<Tensor> element;
      TF_RETURN_IF_ERROR(input_->GetNext(ctx, &element, &ended_));
      record_ = row_ = 0;
      if (ended_) continue;
      TF_RETURN_IF_ERROR(ChunkGroup::Make(spec(), std::move(element), &group_));
    }
  }

  // CheckAligned reports sequences of the record that differ in length.
  absl::Status CheckAligned() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!dataset()->aligned_) return absl::OkStatus();
    const size_t first = spec().sequences()[0];
    const int64_t length = group_->Length(first, record_);
    for (size_t i : spec().sequences()) {
      const int64_t other = group_->Length(i, record_);
      if (other == length) continue;
      return Refuse(record_,
                    absl::StrCat("the aligned sequences ",
                                 Quote(spec().columns()[first].name, 256),
                                 " and ", Quote(spec().columns()[i].name, 256),
                                 " differ in length: ", length, " and ", other,
                                 " frames"));
    }
    return absl::OkStatus();
  }

  // CheckFits reports a row that is longer than its fixed size.
  absl::Status CheckFits(const ChunkRow& row) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (size_t i = 0; i < spec().columns().size(); ++i) {
      const ChunkSpec::Column& c = spec().columns()[i];
      if (c.fixed < 0) continue;
      const int64_t frames = RowFrames(spec(), row, i);
      if (frames <= c.fixed) continue;
      return Refuse(
          row.record,
          absl::StrCat("a row of the tensor ", Quote(c.name, 256), " has ",
                       frames, " frames, which is more than its padding, ",
                       c.fixed));
    }
    return absl::OkStatus();
  }

  // Refuse returns what is wrong with a record of the group.
  absl::Status Refuse(int64_t record, const std::string& what) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Fault fault;
    fault.Set(Cause::kInvalidArgument, "%s", what.c_str());
    dataset()->origin_.Describe(group_->place(record), record, &fault);
    return ToStatus(fault);
  }

  absl::Mutex mu_;
  std::unique_ptr<data::IteratorBase> input_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<const ChunkGroup> group_ ABSL_GUARDED_BY(mu_);
  int64_t record_ ABSL_GUARDED_BY(mu_) = 0;  // of the next row, in the group
  int64_t row_ ABSL_GUARDED_BY(mu_) = 0;     // the next of the record
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status failed_ ABSL_GUARDED_BY(mu_);
  // Of the batch that is being made.
  Budget budget_ ABSL_GUARDED_BY(mu_);
  std::vector<ChunkRow> rows_ ABSL_GUARDED_BY(mu_);
  std::vector<int64_t> lengths_ ABSL_GUARDED_BY(mu_);
};

// CheckRules reports rules that are out of range.
absl::Status CheckRules(const std::vector<int64_t>& r, bool aligned,
                        bool single) {
  if (r.size() != 4) return absl::InvalidArgumentError("want 4 rules");
  TF_RETURN_IF_ERROR(CheckRange("the size of a chunk", r[0], 0, kMaxSize));
  TF_RETURN_IF_ERROR(CheckRange("the step", r[1], r[0] > 0 ? 1 : 0, kMaxSize));
  TF_RETURN_IF_ERROR(CheckRange("the frames of a batch", r[2], 1, INT64_MAX));
  TF_RETURN_IF_ERROR(CheckRange("the rows of a batch", r[3], single ? 1 : 0,
                                single ? 1 : kMaxSize));
  if (r[0] > 0 && !aligned) {
    return absl::InvalidArgumentError("chunks need aligned sequences");
  }
  return absl::OkStatus();
}

class ChunkBatchDatasetOp : public data::UnaryDatasetOpKernel {
 public:
  explicit ChunkBatchDatasetOp(OpKernelConstruction* ctx)
      : UnaryDatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, spec_.Read(ctx));
    OP_REQUIRES_OK(ctx, ctx->GetAttr(kAligned, &aligned_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr(kKeepTail, &keep_tail_));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, data::DatasetBase* input,
                   data::DatasetBase** output) override {
    Args args;
    OP_REQUIRES_OK(
        ctx, data::ParseVectorArgument<int64_t>(ctx, kRules, &args.rules));
    OP_REQUIRES_OK(
        ctx, data::ParseVectorArgument<tstring>(ctx, kFiles, &args.files));
    OP_REQUIRES_OK(ctx, CheckRules(args.rules, aligned_, spec_.single()));
    OP_REQUIRES_OK(ctx, spec_.CheckInput(input->output_dtypes()));
    ChunkSpec spec;
    OP_REQUIRES_OK(ctx, spec_.WithFills(ctx, &spec));
    *output = new ChunkBatchDataset(ctx, input, std::move(spec), aligned_,
                                    keep_tail_, std::move(args));
  }

 private:
  ChunkSpec spec_;
  bool aligned_;
  bool keep_tail_;
};

REGISTER_KERNEL_BUILDER(Name("MillraceChunkBatchDataset").Device(DEVICE_CPU),
                        ChunkBatchDatasetOp);

}  // namespace
}  // namespace millrace
