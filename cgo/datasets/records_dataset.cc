// MillraceRecordsDataset yields the records of TFRecord files.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "dataset_base.h"
#include "env_source.h"
#include "placed_record.h"
#include "record_origin.h"
#include "record_walk.h"
#include "status.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr char kFirstFile[] = "first_file";

// Args are the inputs of the op.
struct Args : FileInputs {
  int64_t first_file = 0;
};

class RecordsDataset : public TypedDataset {
 public:
  RecordsDataset(OpKernelContext* ctx, bool placed, Args args)
      : TypedDataset(ctx, "MillraceRecords", {DT_STRING},
                     {PartialTensorShape({})}),
        placed_(placed),
        args_(std::move(args)) {}

  std::unique_ptr<data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override {
    return Iterate<Iterator>(this, prefix);
  }

  int64_t CardinalityInternal(data::CardinalityOptions) const override {
    const int64_t records = args_.files.Records();
    return records < 0 ? data::kUnknownCardinality : records;
  }

 protected:
  absl::Status AsGraphDefInternal(data::SerializationContext*,
                                  DatasetGraphDefBuilder* b,
                                  Node** output) const override {
    std::vector<Node*> in(4);
    TF_RETURN_IF_ERROR(args_.AddFiles(b, &in[0], &in[1]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.first_file, &in[2]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.buffer_bytes, &in[3]));
    auto attrs = args_.Attrs(b);
    attrs.emplace_back(kPlaced, b->BuildAttrValue(placed_));
    return b->AddDataset(this, in, attrs, output);
  }

 private:
  class Iterator;
  const bool placed_;
  const Args args_;
};

class RecordsDataset::Iterator
    : public FileIterator<RecordsDataset, WalkPosition> {
 public:
  explicit Iterator(const Params& params)
      : FileIterator(params),
        walk_(args().files, static_cast<size_t>(args().buffer_bytes),
              Opener(args().format)) {}

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
    TF_RETURN_IF_ERROR(CheckCancelled(ctx));
    std::string_view record;
    Fault fault;
    if (!walk_.Next(&record, end_of_sequence, &fault)) return ToStatus(fault);
    if (*end_of_sequence) return absl::OkStatus();
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

  RecordWalk walk_ ABSL_GUARDED_BY(mu_);
};

class RecordsDatasetOp : public data::DatasetOpKernel {
 public:
  explicit RecordsDatasetOp(OpKernelConstruction* ctx) : DatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ReadFormat(ctx, &format_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr(kPlaced, &placed_));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, data::DatasetBase** output) override {
    Args args;
    OP_REQUIRES_OK(ctx, args.ReadFiles(ctx, format_));
    OP_REQUIRES_OK(
        ctx, data::ParseScalarArgument(ctx, kFirstFile, &args.first_file));
    *output = new RecordsDataset(ctx, placed_, std::move(args));
  }

 private:
  Format format_;
  bool placed_;
};

REGISTER_KERNEL_BUILDER(Name("MillraceRecordsDataset").Device(DEVICE_CPU),
                        RecordsDatasetOp);

}  // namespace
}  // namespace millrace
