// MillraceOrderedWindowsDataset yields the records of windows, in a computed
// order of windows.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "dataset_base.h"
#include "ordered_windows.h"
#include "placed_record.h"
#include "status.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr char kGroup[] = "group";
constexpr int64_t kCancelEvery = 64;  // records

class OrderedWindowsDataset : public TypedDataset {
 public:
  struct Args : OrderedWindows {
    int64_t group = 0;  // records that are worth an element
  };

  OrderedWindowsDataset(OpKernelContext* ctx, Args args)
      : TypedDataset(ctx, "MillraceOrderedWindows",
                     {DT_STRING, DT_INT64, DT_INT64},
                     {PartialTensorShape({-1}), PartialTensorShape({-1}),
                      PartialTensorShape({-1})}),
        args_(std::move(args)) {}

  const OrderedWindows& windows() const { return args_; }

  std::unique_ptr<data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override {
    return Iterate<Iterator>(this, prefix);
  }

  int64_t CardinalityInternal(data::CardinalityOptions) const override {
    return args_.files.endless() ? data::kInfiniteCardinality
                                 : data::kUnknownCardinality;
  }

 protected:
  absl::Status AsGraphDefInternal(data::SerializationContext*,
                                  DatasetGraphDefBuilder* b,
                                  Node** output) const override {
    std::vector<Node*> in;
    TF_RETURN_IF_ERROR(args_.files.AddInputs(b, &in));
    TF_RETURN_IF_ERROR(b->AddTensor(args_.window, &in.emplace_back()));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.group, &in.emplace_back()));
    return b->AddDataset(this, in, args_.files.Attrs(), output);
  }

 private:
  class Iterator;
  const Args args_;
};

class OrderedWindowsDataset::Iterator
    : public OrderedWindowsIterator<OrderedWindowsDataset> {
 public:
  using OrderedWindowsIterator::OrderedWindowsIterator;

 protected:
  absl::Status Element(data::IteratorContext* ctx, std::vector<Tensor>* out,
                       bool* end_of_sequence) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    TF_RETURN_IF_ERROR(CheckCancelled(ctx));
    records_->Clear();
    std::vector<int64_t> begins, ends;
    const int64_t end = args().files.end(), group = args().group;
    int64_t records = 0, units = 0;
    for (; next_ < end && records < group; ++next_) {
      const WindowSpan span = SpanAt(next_);
      for (int64_t i = 0; i < span.records; ++i) {
        records_->Pick(span.first + i);
      }
      begins.push_back(units + span.begin);
      ends.push_back(units + span.end);
      records += span.records;
      units += span.records * args().spans->each();
    }
    *end_of_sequence = begins.empty();
    if (*end_of_sequence) return absl::OkStatus();
    Fault fault;
    if (!records_->Read(&fault)) return ToStatus(fault);
    TF_RETURN_IF_ERROR(TakeRecords(ctx, records, out));
    AddNumbers(ctx, begins, out);
    AddNumbers(ctx, ends, out);
    return absl::OkStatus();
  }

 private:
  const Args& args() const { return dataset()->args_; }

  // TakeRecords makes a vector of the records, which carry their places.
  absl::Status TakeRecords(data::IteratorContext* ctx, int64_t n,
                           std::vector<Tensor>* out)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    out->emplace_back(ctx->allocator({}), DT_STRING, TensorShape({n}));
    auto to = out->back().vec<tstring>();
    for (int64_t i = 0; i < n; ++i) {
      if (i % kCancelEvery == 0) TF_RETURN_IF_ERROR(CheckCancelled(ctx));
      std::string_view record;
      RecordPlace place;
      Fault fault;
      if (!records_->Get(static_cast<size_t>(i), &record, &place, &fault)) {
        return ToStatus(fault);
      }
      to(i).resize_uninitialized(record.size() + sizeof(place));
      char* const data = to(i).mdata();
      std::copy(record.begin(), record.end(), data);
      AppendPlace(place, data + record.size());
    }
    return absl::OkStatus();
  }

  static void AddNumbers(data::IteratorContext* ctx,
                         const std::vector<int64_t>& numbers,
                         std::vector<Tensor>* out) {
    const auto n = static_cast<int64_t>(numbers.size());
    out->emplace_back(ctx->allocator({}), DT_INT64, TensorShape({n}));
    std::copy(numbers.begin(), numbers.end(),
              out->back().vec<int64_t>().data());
  }
};

class OrderedWindowsDatasetOp : public data::DatasetOpKernel {
 public:
  explicit OrderedWindowsDatasetOp(OpKernelConstruction* ctx)
      : DatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, rules_.Read(ctx));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, data::DatasetBase** output) override {
    OrderedWindowsDataset::Args args;
    OP_REQUIRES_OK(ctx, data::ParseScalarArgument(ctx, kGroup, &args.group));
    OP_REQUIRES_OK(ctx, CheckRange(kGroup, args.group, 1, INT32_MAX));
    OP_REQUIRES_OK(ctx, args.Read(ctx, rules_));
    *output = new OrderedWindowsDataset(ctx, std::move(args));
  }

 private:
  OrderRules rules_;
};

REGISTER_KERNEL_BUILDER(
    Name("MillraceOrderedWindowsDataset").Device(DEVICE_CPU),
    OrderedWindowsDatasetOp);

}  // namespace
}  // namespace millrace
