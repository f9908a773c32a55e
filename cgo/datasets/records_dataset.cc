// MillraceRecordsDataset yields the records of TFRecord files.
// MillraceJudgedRecordsDataset skips bad ones: a function of the graph decides
// about records that it cannot decode, or that only TensorFlow's lenient parser
// accepts (record_judge.h).
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "dataset_base.h"
#include "env_source.h"
#include "placed_record.h"
#include "record_form.h"
#include "record_judge.h"
#include "record_origin.h"
#include "record_walk.h"
#include "status.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr char kFirstFile[] = "first_file";
constexpr char kMost[] = "most";
constexpr int64_t kCancelEvery = 64;  // records

// Args are the inputs of the op.
struct Args : FileInputs {
  int64_t first_file = 0;
};

// GoodRecords describes the features that a record must decode to.
struct GoodRecords {
  RecordForm form;
  std::vector<int64_t> most;  // elements of each list, -1 for any number

  absl::Status Read(OpKernelConstruction* ctx) {
    TF_RETURN_IF_ERROR(form.Read(ctx));
    TF_RETURN_IF_ERROR(ctx->GetAttr(kMost, &most));
    if (most.size() == form.batch().features().size()) return absl::OkStatus();
    return absl::InvalidArgumentError("not one number for each feature");
  }
};

class RecordsDataset : public TypedDataset {
 public:
  using Judge = std::unique_ptr<data::CapturedFunction>;

  // Without a judge the first bad record is a failure, and only unreadable
  // records are bad.
  RecordsDataset(OpKernelContext* ctx, bool placed, Args args,
                 std::optional<GoodRecords> good, Judge judge)
      : TypedDataset(ctx, "MillraceRecords", {DT_STRING},
                     {PartialTensorShape({})}),
        placed_(placed),
        args_(std::move(args)),
        good_(std::move(good)),
        judge_(std::move(judge)) {}

  std::unique_ptr<data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override {
    return Iterate<Iterator>(this, prefix);
  }

  int64_t CardinalityInternal(data::CardinalityOptions) const override {
    const int64_t records = args_.files.Records();
    if (judge_ != nullptr || !args_.files.skipped.empty()) {
      return data::kUnknownCardinality;
    }
    return records < 0 ? data::kUnknownCardinality : records;
  }

  absl::Status CheckExternalState() const override {
    return judge_ == nullptr ? absl::OkStatus() : judge_->CheckExternalState();
  }

 protected:
  absl::Status AsGraphDefInternal(data::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  Node** output) const override {
    std::vector<Node*> in(4);
    TF_RETURN_IF_ERROR(args_.AddFiles(b, &in[0], &in[1]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.first_file, &in[2]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.buffer_bytes, &in[3]));
    auto attrs = args_.Attrs(b, args_.first_file);
    attrs.emplace_back(kPlaced, b->BuildAttrValue(placed_));
    if (judge_ == nullptr) return b->AddDataset(this, in, attrs, output);
    for (auto& attr : good_->form.Attrs()) attrs.push_back(std::move(attr));
    attrs.emplace_back(kMost, b->BuildAttrValue(good_->most));
    std::vector<Node*> captures;
    DataTypeVector types;
    TF_RETURN_IF_ERROR(judge_->AddToGraph(ctx, b, &captures, &types));
    attrs.emplace_back("Targuments", b->BuildAttrValue(types));
    attrs.emplace_back(kJudge, b->BuildAttrValue(judge_->func()));
    return b->AddDataset(this, {{0, in[0]}, {1, in[1]}, {2, in[2]}, {3, in[3]}},
                         {{4, captures}}, attrs, output);
  }

 private:
  class Iterator;
  const bool placed_;
  const Args args_;
  const std::optional<GoodRecords> good_;  // set with a judge
  const Judge judge_;
};

class RecordsDataset::Iterator
    : public FileIterator<RecordsDataset, WalkPosition> {
 public:
  explicit Iterator(const Params& params)
      : FileIterator(params),
        walk_(args().files, static_cast<size_t>(args().buffer_bytes),
              Opener(args().format)) {
    if (dataset()->good_) row_.emplace(dataset()->good_->form);
  }

  absl::Status Initialize(data::IteratorContext* ctx) override {
    return judge_.Start(ctx, dataset()->judge_.get());
  }

 protected:
  WalkPosition Tell() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return walk_.position();
  }
  void Seek(const WalkPosition& at) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    walk_.Seek(at);
  }
  bool Fits(const WalkPosition& at) const override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return walk_.Fits(at);
  }

  absl::Status Element(data::IteratorContext* ctx, std::vector<Tensor>* out,
                       bool* end_of_sequence) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::string_view record;
    bool good = false;
    for (int64_t n = 0; !good; ++n) {
      if (n % kCancelEvery == 0) TF_RETURN_IF_ERROR(CheckCancelled(ctx));
      TF_RETURN_IF_ERROR(Next(ctx, &record, &good, end_of_sequence));
      if (*end_of_sequence) return absl::OkStatus();
    }
    out->emplace_back(ctx->allocator({}), DT_STRING, TensorShape({}));
    tstring& to = out->back().scalar<tstring>()();
    if (!dataset()->placed_) {
      to.assign(record.data(), record.size());
      return absl::OkStatus();
    }
    to.resize_uninitialized(record.size() + sizeof(RecordPlace));
    char* const data = to.mdata();
    std::copy(record.begin(), record.end(), data);
    AppendPlace(
        {args().first_file + walk_.file(), walk_.ordinal(), walk_.offset()},
        data + record.size());
    return absl::OkStatus();
  }

 private:
  const Args& args() const { return dataset()->args_; }

  // Next reads the next record, and skips bad ones.
  absl::Status Next(data::IteratorContext* ctx, std::string_view* record,
                    bool* good, bool* end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Fault fault;
    if (!walk_.Next(record, end, &fault)) {
      TF_RETURN_IF_ERROR(judge_.PassOver(ctx, fault, nullptr, args().first_file,
                                         &walk_, good));
      return *good ? ToStatus(fault) : absl::OkStatus();
    }
    *good = *end || !row_;
    if (*good) return absl::OkStatus();
    const bool decoded = row_->Decode(*record, &fault) && Fits(&fault);
    *good = decoded && dataset()->good_->form.IsUsual(*record);
    if (*good) return absl::OkStatus();
    if (decoded) fault.Set(Cause::kInvalidArgument, "not in the usual form");
    walk_.Describe(&fault);
    TF_RETURN_IF_ERROR(
        judge_.PassOver(ctx, fault, record, args().first_file, &walk_, good));
    return *good && !decoded ? ToStatus(fault) : absl::OkStatus();
  }

  // Fits reports whether the last decoded lists are short enough.
  bool Fits(Fault* fault) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const std::vector<int64_t>& most = dataset()->good_->most;
    for (size_t i = 0; i < most.size(); ++i) {
      if (most[i] >= 0 && row_->list(i).splits().back() > most[i]) {
        return fault->Set(Cause::kInvalidArgument, "longer than its padding");
      }
    }
    return true;
  }

  RecordWalk walk_ ABSL_GUARDED_BY(mu_);
  std::optional<RecordRow> row_ ABSL_GUARDED_BY(mu_);  // set with a judge
  RecordJudge judge_;
};

class RecordsDatasetOp : public data::DatasetOpKernel {
 public:
  explicit RecordsDatasetOp(OpKernelConstruction* ctx) : DatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ReadFormat(ctx, &format_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr(kPlaced, &placed_));
    OP_REQUIRES_OK(ctx, ReadSkipped(ctx, &skipped_));
    OP_REQUIRES_OK(ctx, RecordJudge::Read(ctx, &judge_));
    if (judge_ != nullptr) OP_REQUIRES_OK(ctx, good_.emplace().Read(ctx));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, data::DatasetBase** output) override {
    Args args;
    OP_REQUIRES_OK(ctx, args.ReadFiles(ctx, format_));
    OP_REQUIRES_OK(
        ctx, data::ParseScalarArgument(ctx, kFirstFile, &args.first_file));
    args.files.skipped = skipped_.From(args.first_file);
    RecordsDataset::Judge judge;
    OP_REQUIRES_OK(ctx, RecordJudge::Create(ctx, judge_, &judge));
    *output = new RecordsDataset(ctx, placed_, std::move(args), good_,
                                 std::move(judge));
  }

 private:
  Format format_;
  bool placed_;
  SkippedRecords skipped_;
  std::optional<GoodRecords> good_;
  std::shared_ptr<data::FunctionMetadata> judge_;
};

REGISTER_KERNEL_BUILDER(Name("MillraceRecordsDataset").Device(DEVICE_CPU),
                        RecordsDatasetOp);
REGISTER_KERNEL_BUILDER(Name("MillraceJudgedRecordsDataset").Device(DEVICE_CPU),
                        RecordsDatasetOp);

}  // namespace
}  // namespace millrace
