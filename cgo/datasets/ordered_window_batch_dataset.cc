// MillraceOrderedWindowBatchDataset yields batches of windows of one size, in a
// computed order of the windows.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "batch_spec.h"
#include "dataset_base.h"
#include "decoded_records.h"
#include "ordered_windows.h"
#include "placed_record.h"
#include "status.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr char kWholeRecords[] = "whole_records";
constexpr int64_t kMaxRows = int64_t{1} << 31;
constexpr int64_t kMostGroup = 8 << 20;      // bytes of records read at once
constexpr int64_t kMostDecoded = 128 << 20;  // bytes of records that are kept
constexpr size_t kAlign = 16;

// WindowRows has the attributes: what a record stores, and the shape of a row.
struct WindowRows {
  BatchSpec spec;
  std::vector<PartialTensorShape> output_shapes;
  bool whole_records = false;
  int64_t positions = 1;           // units per record
  std::vector<size_t> unit_bytes;  // per feature
  std::vector<size_t> offsets;     // where a decoded record has each feature
  size_t record_bytes = 0;         // the size of a decoded record

  absl::Status Read(OpKernelConstruction* ctx) {
    TF_RETURN_IF_ERROR(spec.Read(ctx, kRecordShapes, kRecordTypes));
    TF_RETURN_IF_ERROR(ctx->GetAttr(kOutputShapes, &output_shapes));
    TF_RETURN_IF_ERROR(ctx->GetAttr(kWholeRecords, &whole_records));
    const size_t n = spec.features().size();
    if (n == 0 || output_shapes.size() != n) {
      return absl::InvalidArgumentError(
          "the attributes of features differ in length");
    }
    for (size_t i = 0; i < n; ++i) {
      const auto& dims = spec.dims(i);
      if (spec.features()[i].kind == Kind::kBytes || dims.empty() ||
          dims[0] < 1 || (!whole_records && dims[0] != spec.dims(0)[0])) {
        return absl::InvalidArgumentError(
            absl::StrCat("feature ", Quote(spec.features()[i].key, 256),
                         ": no numbers along a first axis as the others have"));
      }
    }
    if (!whole_records) positions = spec.dims(0)[0];
    for (size_t i = 0; i < n; ++i) {
      size_t bytes = DataTypeSize(spec.types()[i]);
      for (int64_t dim : spec.dims(i)) bytes *= static_cast<size_t>(dim);
      unit_bytes.push_back(bytes / static_cast<size_t>(positions));
      offsets.push_back(record_bytes);
      record_bytes += (bytes + kAlign - 1) / kAlign * kAlign;
    }
    return absl::OkStatus();
  }

  // Allocate makes the tensors of some windows of `size` units.
  absl::Status Allocate(Allocator* allocator, int64_t rows, int64_t size,
                        std::vector<Tensor>* out) const {
    for (size_t i = 0; i < unit_bytes.size(); ++i) {
      const std::vector<int64_t>& dims = spec.dims(i);
      TensorShape shape;
      TF_RETURN_IF_ERROR(shape.AddDimWithStatus(rows));
      TF_RETURN_IF_ERROR(shape.AddDimWithStatus(size * (dims[0] / positions)));
      for (size_t d = 1; d < dims.size(); ++d) {
        TF_RETURN_IF_ERROR(shape.AddDimWithStatus(dims[d]));
      }
      out->emplace_back(allocator, spec.types()[i], shape);
      if (!out->back().IsInitialized()) {
        return absl::ResourceExhaustedError(absl::StrCat(
            "no memory for windows of shape ", shape.DebugString()));
      }
    }
    return absl::OkStatus();
  }
};

class OrderedWindowBatchDataset : public TypedDataset {
 public:
  struct Args : OrderedWindows {
    int64_t batch_size = 0;
    bool drop_remainder = false;
  };

  OrderedWindowBatchDataset(OpKernelContext* ctx, const WindowRows& rows,
                            Args args)
      : TypedDataset(ctx, "MillraceOrderedWindowBatch", rows.spec.types(),
                     rows.output_shapes),
        rows_(rows),
        args_(std::move(args)) {}

  const OrderedWindows& windows() const { return args_; }

  std::unique_ptr<data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override {
    return Iterate<Iterator>(this, prefix);
  }

  int64_t CardinalityInternal(data::CardinalityOptions) const override {
    const int64_t n = args_.files.records();
    if (n < 0) return n;
    const bool rest = !args_.drop_remainder && n % args_.batch_size != 0;
    return n / args_.batch_size + (rest ? 1 : 0);
  }

 protected:
  absl::Status AsGraphDefInternal(data::SerializationContext*,
                                  DatasetGraphDefBuilder* b,
                                  Node** output) const override {
    std::vector<Node*> in;
    TF_RETURN_IF_ERROR(args_.files.AddInputs(b, &in));
    TF_RETURN_IF_ERROR(b->AddTensor(args_.window, &in.emplace_back()));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.batch_size, &in.emplace_back()));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.drop_remainder, &in.emplace_back()));
    auto attrs = args_.files.Attrs();
    for (auto& attr : rows_.spec.Attrs()) attrs.push_back(std::move(attr));
    attrs.emplace_back(kRecordTypes, b->BuildAttrValue(rows_.spec.types()));
    attrs.emplace_back(kRecordShapes, b->BuildAttrValue(rows_.spec.shapes()));
    attrs.emplace_back(kWholeRecords, b->BuildAttrValue(rows_.whole_records));
    return b->AddDataset(this, in, attrs, output);
  }

 private:
  class Iterator;
  const WindowRows rows_;
  const Args args_;
};

class OrderedWindowBatchDataset::Iterator
    : public OrderedWindowsIterator<OrderedWindowBatchDataset> {
 public:
  explicit Iterator(const Params& params)
      : OrderedWindowsIterator(params),
        decoder_(rows().spec.features()),
        decoded_(rows().record_bytes, kMostDecoded) {}

 protected:
  absl::Status Element(data::IteratorContext* ctx, std::vector<Tensor>* out,
                       bool* end_of_sequence) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const int64_t n = std::min(args().batch_size, args().files.end() - next_);
    *end_of_sequence =
        n <= 0 || (n < args().batch_size && args().drop_remainder);
    if (*end_of_sequence) return absl::OkStatus();
    TF_RETURN_IF_ERROR(
        rows().Allocate(ctx->allocator({}), n, args().form.size, out));
    for (int64_t row = 0; row < n;) {
      TF_RETURN_IF_ERROR(CheckCancelled(ctx));
      TF_RETURN_IF_ERROR(FillGroup(n, &row, out));
    }
    return absl::OkStatus();
  }

 private:
  const Args& args() const { return dataset()->args_; }
  const WindowRows& rows() const { return dataset()->rows_; }

  // FillGroup fills the next rows of n, from `row` on: as many as have records
  // to read at once.
  absl::Status FillGroup(int64_t n, int64_t* row, std::vector<Tensor>* out)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Forget();
    decoded_.Begin();
    records_->Clear();
    spans_.clear();
    while (*row + static_cast<int64_t>(spans_.size()) < n &&
           records_->bytes() < kMostGroup) {
      spans_.push_back(SpanAt(next_ + static_cast<int64_t>(spans_.size())));
      const WindowSpan& span = spans_.back();
      for (int64_t i = span.first; i < span.first + span.records; ++i) {
        if (decoded_.Find(i) == nullptr) TF_RETURN_IF_ERROR(Pick(i));
      }
    }
    TF_RETURN_IF_ERROR(DecodePicked());
    for (const WindowSpan& span : spans_) Copy(span, (*row)++, out);
    next_ += static_cast<int64_t>(spans_.size());
    return absl::OkStatus();
  }

  // Forget drops the records that a failed call picked and did not decode.
  void Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (const Picked& p : picked_) decoded_.Drop(p.record);
    picked_.clear();
  }

  // Pick makes room for a record, which DecodePicked reads.
  absl::Status Pick(int64_t record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    picked_.push_back({record, nullptr});
    picked_.back().values = decoded_.Add(record);
    if (picked_.back().values == nullptr) {
      return absl::ResourceExhaustedError("no memory for a record");
    }
    records_->Pick(record);
    return absl::OkStatus();
  }

  // DecodePicked decodes the picked records.
  absl::Status DecodePicked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (picked_.empty()) return absl::OkStatus();
    Fault fault;
    if (!records_->Read(&fault)) return ToStatus(fault);
    std::vector<Destination> to(rows().offsets.size());
    for (size_t i = 0; i < picked_.size(); ++i) {
      std::string_view record;
      RecordPlace place;
      if (!records_->Get(i, &record, &place, &fault)) return ToStatus(fault);
      for (size_t k = 0; k < to.size(); ++k) {
        to[k].base = picked_[i].values + rows().offsets[k];
      }
      if (!decoder_.Decode(record, to.data(), 0, &fault) ||
          !rows().spec.Finite(to, 0, &fault)) {
        fault.At(args().files.names()[place.file], place.record, place.offset);
        return ToStatus(fault);
      }
    }
    picked_.clear();
    return absl::OkStatus();
  }

  // Copy copies a window to a row, and fills it up with zeros.
  void Copy(const WindowSpan& span, int64_t row, std::vector<Tensor>* out)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const int64_t each = rows().positions;
    for (size_t k = 0; k < out->size(); ++k) {
      const size_t unit = rows().unit_bytes[k];
      const size_t bytes = static_cast<size_t>(args().form.size) * unit;
      char* to = static_cast<char*>((*out)[k].data()) +
                 static_cast<size_t>(row) * bytes;
      char* const end = to + bytes;
      for (int64_t at = span.begin; at < span.end;) {
        const int64_t in = at % each;
        const auto some =
            static_cast<size_t>(std::min(each - in, span.end - at));
        const char* const values = decoded_.Find(span.first + at / each);
        std::memcpy(to,
                    values + rows().offsets[k] + static_cast<size_t>(in) * unit,
                    some * unit);
        to += some * unit;
        at += static_cast<int64_t>(some);
      }
      std::memset(to, 0, static_cast<size_t>(end - to));
    }
  }

  // Picked is a record to decode, and room for its values.
  struct Picked {
    int64_t record;
    char* values;
  };

  ExampleDecoder decoder_ ABSL_GUARDED_BY(mu_);
  DecodedRecords decoded_ ABSL_GUARDED_BY(mu_);
  std::vector<Picked> picked_ ABSL_GUARDED_BY(mu_);
  std::vector<WindowSpan> spans_ ABSL_GUARDED_BY(mu_);
};

class OrderedWindowBatchDatasetOp : public data::DatasetOpKernel {
 public:
  explicit OrderedWindowBatchDatasetOp(OpKernelConstruction* ctx)
      : DatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, rules_.Read(ctx));
    OP_REQUIRES_OK(ctx, rows_.Read(ctx));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, data::DatasetBase** output) override {
    OrderedWindowBatchDataset::Args args;
    OP_REQUIRES_OK(ctx, args.Read(ctx, rules_));
    OP_REQUIRES(ctx, args.form.each == rows_.positions,
                absl::InvalidArgumentError(
                    "units of records are not those of the features"));
    OP_REQUIRES_OK(
        ctx, data::ParseScalarArgument(ctx, kBatchSize, &args.batch_size));
    OP_REQUIRES_OK(ctx, data::ParseScalarArgument(ctx, kDropRemainder,
                                                  &args.drop_remainder));
    OP_REQUIRES_OK(ctx, CheckRange(kBatchSize, args.batch_size, 1, kMaxRows));
    *output = new OrderedWindowBatchDataset(ctx, rows_, std::move(args));
  }

 private:
  OrderRules rules_;
  WindowRows rows_;
};

REGISTER_KERNEL_BUILDER(
    Name("MillraceOrderedWindowBatchDataset").Device(DEVICE_CPU),
    OrderedWindowBatchDatasetOp);

}  // namespace
}  // namespace millrace
