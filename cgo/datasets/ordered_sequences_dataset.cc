// MillraceOrderedSequencesDataset yields the records of an epoch of sequences,
// in its order.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "dataset_base.h"
#include "kept_files.h"
#include "picked_records.h"
#include "placed_record.h"
#include "record_table.h"
#include "sequence_order.h"
#include "status.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr char kLengths[] = "lengths";
constexpr char kFrames[] = "frames";
constexpr char kEpoch[] = "epoch";
constexpr char kOrdering[] = "ordering";
constexpr char kBins[] = "bins";
constexpr char kSeed[] = "seed";
constexpr char kFirst[] = "first";
constexpr char kSize[] = "size";
constexpr char kPartition[] = "partition";
constexpr char kShard[] = "shard";
constexpr char kShards[] = "shards";
constexpr char kThreads[] = "threads";
constexpr char kParts[] = "parts";
constexpr size_t kPartNumbers = 4;  // numbers per part
constexpr const char* kOrderings[] = {"default",        "reverse", "sorted",
                                      "sorted_reverse", "random",  "laplace"};

// Records that are read at once, in bytes. The first ones are few: who reads
// only some records does not wait for many.
constexpr int64_t kFirstBytes = 256 << 10;
constexpr size_t kMostRecords = 32 << 10;

// Rules are the attributes.
struct Rules {
  std::string ordering;
  ArrangeRules order;
  int64_t first = 0;
  int64_t size = 0;
  int64_t partition = 1;
  int64_t shard = 0;
  int64_t shards = 1;
  int64_t threads = 1;
  SkippedRecords skipped;
  std::vector<MixedPart> parts;  // none: all sequences in one

  absl::Status Read(OpKernelConstruction* ctx) {
    TF_RETURN_IF_ERROR(ctx->GetAttr(kOrdering, &ordering));
    TF_RETURN_IF_ERROR(ctx->GetAttr(kBins, &order.bins));
    TF_RETURN_IF_ERROR(ctx->GetAttr(kSeed, &order.seed));
    TF_RETURN_IF_ERROR(ctx->GetAttr(kFirst, &first));
    TF_RETURN_IF_ERROR(ctx->GetAttr(kSize, &size));
    TF_RETURN_IF_ERROR(ctx->GetAttr(kPartition, &partition));
    TF_RETURN_IF_ERROR(ctx->GetAttr(kShard, &shard));
    TF_RETURN_IF_ERROR(ctx->GetAttr(kShards, &shards));
    TF_RETURN_IF_ERROR(ctx->GetAttr(kThreads, &threads));
    TF_RETURN_IF_ERROR(ReadSkipped(ctx, &skipped));
    TF_RETURN_IF_ERROR(ReadParts(ctx));
    for (size_t i = 0; i < std::size(kOrderings); ++i) {
      if (ordering == kOrderings[i]) order.ordering = static_cast<Ordering>(i);
    }
    const bool laplace = order.ordering == Ordering::kLaplace;
    TF_RETURN_IF_ERROR(
        CheckRange(kBins, order.bins, laplace ? 1 : 0, INT32_MAX));
    TF_RETURN_IF_ERROR(CheckRange(kFirst, first, 0, INT64_MAX / 2));
    TF_RETURN_IF_ERROR(CheckRange(kSize, size, 0, INT64_MAX / 2));
    TF_RETURN_IF_ERROR(CheckRange(kPartition, partition, 1, INT32_MAX));
    TF_RETURN_IF_ERROR(CheckRange(kShards, shards, 1, INT32_MAX));
    TF_RETURN_IF_ERROR(CheckRange(kShard, shard, 0, shards - 1));
    return CheckRange(kThreads, threads, 1, 1000);
  }

  absl::Status ReadParts(OpKernelConstruction* ctx) {
    std::vector<int64_t> n;
    TF_RETURN_IF_ERROR(ctx->GetAttr(kParts, &n));
    bool good = n.size() % kPartNumbers == 0;
    for (size_t i = 0; good && i < n.size(); i += kPartNumbers) {
      parts.push_back({{n[i], n[i + 1], n[i + 2]}, n[i + 3]});
      good = n[i] >= 0 && n[i + 1] >= 1 && n[i + 1] <= INT64_MAX - n[i] &&
             n[i + 3] >= (order.ordering == Ordering::kLaplace ? 1 : 0) &&
             n[i + 3] <= INT32_MAX;
    }
    if (good) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "want four numbers for each part, which has sequences");
  }

  // PartNumbers returns what ReadParts reads.
  std::vector<int64_t> PartNumbers() const {
    std::vector<int64_t> numbers;
    for (const MixedPart& p : parts) {
      const OrderPart& s = p.sequences;
      numbers.insert(numbers.end(), {s.first, s.records, s.threshold, p.bins});
    }
    return numbers;
  }

  // Fits reports whether all sequences are among a number of records.
  bool Fits(int64_t records) const {
    for (const MixedPart& p : parts) {
      if (p.sequences.first + p.sequences.records > records) return false;
    }
    if (!parts.empty()) return first == 0;
    return first <= records && size <= records - first;
  }

  bool needs_frames() const {
    return order.ordering == Ordering::kSorted ||
           order.ordering == Ordering::kSortedReverse ||
           order.ordering == Ordering::kLaplace;
  }

  // Bounds returns which positions of the order an epoch takes.
  std::pair<int64_t, int64_t> Bounds(int64_t epoch) const {
    const int64_t part = epoch % partition;
    const int64_t begin = BeginOf(size, partition, part);
    const int64_t n = BeginOf(size, partition, part + 1) - begin;
    return {begin + BeginOf(n, shards, shard),
            begin + BeginOf(n, shards, shard + 1)};
  }
};

class OrderedSequencesDataset : public TypedDataset {
 public:
  OrderedSequencesDataset(OpKernelContext* ctx, Rules rules)
      : TypedDataset(ctx, "MillraceOrderedSequences", {DT_STRING},
                     {PartialTensorShape({})}),
        rules_(std::move(rules)) {}

  // Read reads the inputs.
  absl::Status Read(OpKernelContext* ctx) {
    const Tensor *names, *counts, *lengths, *frames;
    TF_RETURN_IF_ERROR(ctx->input(kFilenames, &names));
    TF_RETURN_IF_ERROR(ctx->input(kCounts, &counts));
    TF_RETURN_IF_ERROR(ctx->input(kLengths, &lengths));
    TF_RETURN_IF_ERROR(ctx->input(kFrames, &frames));
    TF_RETURN_IF_ERROR(data::ParseScalarArgument(ctx, kEpoch, &epoch_));
    TF_RETURN_IF_ERROR(CheckRange(kEpoch, epoch_, 0, INT64_MAX));
    if (names->dims() != 1 || counts->shape() != names->shape() ||
        lengths->dims() != 1 || frames->dims() != 1) {
      return absl::InvalidArgumentError(
          "want vectors of filenames, counts, lengths and frames");
    }
    counts_ = *counts;
    lengths_ = *lengths;
    frames_ = *frames;
    std::vector<std::string> paths;
    std::vector<int64_t> each;
    int64_t left = lengths->NumElements();
    for (int64_t i = 0; i < names->NumElements(); ++i) {
      paths.emplace_back(names->vec<tstring>()(i));
      each.push_back(counts->vec<int64_t>()(i));
      if (each.back() < 0 || each.back() > left) break;
      left -= each.back();
    }
    const int64_t records = lengths->NumElements();
    if (left != 0 ||
        static_cast<int64_t>(each.size()) != names->NumElements() ||
        !rules_.Fits(records) ||
        (rules_.needs_frames() && frames->NumElements() != records)) {
      return absl::InvalidArgumentError(
          "lengths or frames are not those of the records counted");
    }
    skipped_ = rules_.skipped.InOrder(each);
    const auto table = std::make_shared<RecordTable>(
        std::move(paths), each, lengths_.vec<uint32_t>().data());
    for (const int64_t file : rules_.skipped.CutFiles()) table->Cut(file);
    table_ = table;
    if (KeptFiles::Fit(*table_)) kept_ = std::make_shared<KeptFiles>(*table_);
    return absl::OkStatus();
  }

  std::unique_ptr<data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override {
    return Iterate<Iterator>(this, prefix);
  }

  int64_t CardinalityInternal(data::CardinalityOptions) const override {
    const auto bounds = rules_.Bounds(epoch_);
    if (!rules_.skipped.empty()) return data::kUnknownCardinality;
    return bounds.second - bounds.first;
  }

 protected:
  absl::Status AsGraphDefInternal(data::SerializationContext*,
                                  DatasetGraphDefBuilder* b,
                                  Node** output) const override {
    std::vector<Node*> in(5);
    TF_RETURN_IF_ERROR(b->AddVector(table_->names(), &in[0]));
    TF_RETURN_IF_ERROR(b->AddTensor(counts_, &in[1]));
    TF_RETURN_IF_ERROR(b->AddTensor(lengths_, &in[2]));
    TF_RETURN_IF_ERROR(b->AddTensor(frames_, &in[3]));
    TF_RETURN_IF_ERROR(b->AddScalar(epoch_, &in[4]));
    return b->AddDataset(
        this, in,
        {{kOrdering, b->BuildAttrValue(rules_.ordering)},
         {kBins, b->BuildAttrValue(rules_.order.bins)},
         {kSeed, b->BuildAttrValue(rules_.order.seed)},
         {kFirst, b->BuildAttrValue(rules_.first)},
         {kSize, b->BuildAttrValue(rules_.size)},
         {kPartition, b->BuildAttrValue(rules_.partition)},
         {kShard, b->BuildAttrValue(rules_.shard)},
         {kShards, b->BuildAttrValue(rules_.shards)},
         {kThreads, b->BuildAttrValue(rules_.threads)},
         {kParts, b->BuildAttrValue(rules_.PartNumbers())},
         {kSkipped, b->BuildAttrValue(rules_.skipped.Numbers())}},
        output);
  }

 private:
  class Iterator;
  const Rules rules_;
  Tensor counts_, lengths_, frames_;
  int64_t epoch_ = 0;
  std::shared_ptr<const RecordTable> table_;
  std::shared_ptr<KeptFiles> kept_;  // nullptr if the files are too large
  std::vector<int64_t> skipped_;     // numbers of records, ascending
};

// Position is the state of an iterator: the number of positions before.
struct Position {
  int64_t next = 0;
};

class OrderedSequencesDataset::Iterator
    : public FileIterator<OrderedSequencesDataset, Position> {
 public:
  explicit Iterator(const Params& params)
      : FileIterator(params),
        records_(*dataset()->table_, dataset()->kept_.get(), rules().threads) {
    std::tie(begin_, end_) = rules().Bounds(dataset()->epoch_);
  }

 protected:
  Position Tell() const override { return {next_}; }
  bool Fits(const Position& at) const override {
    return at.next >= 0 && at.next <= end_ - begin_;
  }
  void Seek(const Position& at) override {
    next_ = at.next;
    positions_.clear();
    taken_ = 0;
    bytes_ = kFirstBytes;
  }

  absl::Status Element(data::IteratorContext* ctx, std::vector<Tensor>* out,
                       bool* end_of_sequence) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    TF_RETURN_IF_ERROR(CheckCancelled(ctx));
    *end_of_sequence = next_ >= end_ - begin_;
    if (*end_of_sequence) return absl::OkStatus();
    Fault fault;
    while (taken_ == positions_.size()) {
      if (!Fill(&fault)) return ToStatus(fault);
      *end_of_sequence = next_ >= end_ - begin_;
      if (*end_of_sequence) return absl::OkStatus();
    }
    std::string_view record;
    RecordPlace place;
    if (!records_.Get(taken_, &record, &place, &fault)) return ToStatus(fault);
    out->emplace_back(ctx->allocator({}), DT_STRING, TensorShape({}));
    tstring& to = out->back().scalar<tstring>()();
    to.resize_uninitialized(record.size() + sizeof(place));
    char* const data = to.mdata();
    std::copy(record.begin(), record.end(), data);
    AppendPlace(place, data + record.size());
    next_ = positions_[taken_++] + 1 - begin_;
    return absl::OkStatus();
  }

 private:
  const Rules& rules() const { return dataset()->rules_; }

  // Fill reads the next records.
  bool Fill(Fault* fault) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const ArrangeRules& order = rules().order;
    const bool mixed = !rules().parts.empty();
    const bool arranged = mixed || order.ordering != Ordering::kDefault;
    if (arranged && order_.empty()) {
      const int32_t* frames =
          rules().needs_frames()
              ? dataset()->frames_.vec<int32_t>().data() + rules().first
              : nullptr;
      const int64_t draw = dataset()->epoch_ / rules().partition;
      order_ = mixed ? Mix(order, rules().parts, rules().size, frames, draw)
                     : Arrange(order, rules().size, frames, draw);
    }
    records_.Clear();
    positions_.clear();
    taken_ = 0;
    const std::vector<int64_t>& skipped = dataset()->skipped_;
    int64_t at = begin_ + next_;
    for (; at < end_; ++at) {
      if (records_.bytes() >= bytes_ || records_.picked() >= kMostRecords)
        break;
      const int64_t number = rules().first + (arranged ? order_[at] : at);
      if (std::binary_search(skipped.begin(), skipped.end(), number)) continue;
      records_.Pick(number);
      positions_.push_back(at);
    }
    if (positions_.empty()) next_ = at - begin_;
    bytes_ =
        std::min(2 * bytes_, OrderedHorizon::MostBytes(*dataset()->table_));
    if (records_.Read(fault)) return true;
    positions_.clear();
    return false;
  }

  PickedRecords records_ ABSL_GUARDED_BY(mu_);
  std::vector<int64_t> order_ ABSL_GUARDED_BY(mu_);
  int64_t begin_ = 0, end_ = 0;  // bounds of the epoch in the order
  int64_t next_ = 0;             // guarded by mu_
  std::vector<int64_t> positions_ ABSL_GUARDED_BY(mu_);  // one for each record
  size_t taken_ = 0;             // records of these that were delivered
  int64_t bytes_ = kFirstBytes;  // size of what is read next
};

class OrderedSequencesDatasetOp : public data::DatasetOpKernel {
 public:
  explicit OrderedSequencesDatasetOp(OpKernelConstruction* ctx)
      : DatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, rules_.Read(ctx));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, data::DatasetBase** output) override {
    auto* dataset = new OrderedSequencesDataset(ctx, rules_);
    const core::ScopedUnref unref(dataset);
    OP_REQUIRES_OK(ctx, dataset->Read(ctx));
    dataset->Ref();
    *output = dataset;
  }

 private:
  Rules rules_;
};

REGISTER_KERNEL_BUILDER(
    Name("MillraceOrderedSequencesDataset").Device(DEVICE_CPU),
    OrderedSequencesDatasetOp);

}  // namespace
}  // namespace millrace
