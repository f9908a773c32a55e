// MillraceBucketBatchDataset decodes the records with lists of another dataset,
// and batches those whose lists are of similar length.
//
// A record is decoded when it arrives, into the batch of its bucket, so that a
// bad one fails after the same batches as with tf.data's operations. A record
// that is longer than its padding fails when the batch is taken, as in tf.data.
// The length of one list determines the bucket of a record. It is measured
// first, by a decoder that skips all other features.
//
//	record ── measure ── bucket 1 | 3 of 8 rows decoded |
//	                     bucket 2 | 8 of 8              | ── batch
//	                     bucket 3 | none: no memory     |
//
// A saved state has the buffered records as they were read.
#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "batch_form.h"
#include "dataset_base.h"
#include "record_origin.h"
#include "status.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr char kBoundaries[] = "boundaries";
constexpr char kBucketSizes[] = "bucket_sizes";
constexpr char kHeldPositions[] = "held_positions";
constexpr char kNextPosition[] = "next_position";
constexpr char kLengthOf[] = "length_of";

// The keys of a saved state.
constexpr char kElements[] = "elements";
constexpr char kEnded[] = "ended";
constexpr char kHeldBuckets[] = "held_buckets";
constexpr char kHeldElements[] = "held_elements";
constexpr char kHeldRecords[] = "held_records";

constexpr int64_t kCancelEvery = 64;  // records

// Args are the inputs and attributes of the op without the dataset and the
// form.
struct Args {
  std::vector<int64_t> boundaries;  // the greatest length of each bucket
  std::vector<int64_t>
      sizes;  // batch size of each bucket, one more than boundaries
  bool drop_remainder = false;
  std::vector<int64_t> held;  // positions of the first elements
  int64_t next = 0;           // position of the element after them
  int64_t length_of = 0;      // the list whose length counts
  bool positions =
      false;  // whether batches have the positions of their records
  RecordOrigin origin;

  // Position returns the position of an element of the input in an order of
  // records.
  int64_t Position(int64_t element) const {
    const auto held_elements = static_cast<int64_t>(held.size());
    if (element < held_elements) return held[element];
    return next + (element - held_elements);
  }

  absl::Status Check() const {
    if (boundaries.empty() || sizes.size() != boundaries.size() + 1 ||
        !std::is_sorted(boundaries.begin(), boundaries.end())) {
      return absl::InvalidArgumentError(
          "there are no ascending boundaries, and sizes of one bucket more");
    }
    if (*std::min_element(sizes.begin(), sizes.end()) < 1) {
      return absl::InvalidArgumentError("a batch has at least one row");
    }
    return absl::OkStatus();
  }
};

// Vector reads an input that is a vector.
absl::Status Vector(OpKernelContext* ctx, const char* name,
                    std::vector<int64_t>* to) {
  const Tensor* t;
  TF_RETURN_IF_ERROR(ctx->input(name, &t));
  if (t->dims() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(name, " must be a vector"));
  }
  const auto values = t->vec<int64_t>();
  to->assign(values.data(), values.data() + values.size());
  return absl::OkStatus();
}

DataTypeVector Types(const BatchForm& form, const Args& args) {
  DataTypeVector types = form.types();
  if (args.positions) types.push_back(DT_INT64);
  return types;
}

std::vector<PartialTensorShape> Shapes(const BatchForm& form,
                                       const Args& args) {
  std::vector<PartialTensorShape> shapes = form.shapes();
  if (args.positions) shapes.push_back(PartialTensorShape({-1}));
  return shapes;
}

class BucketBatchDataset : public InputDataset {
 public:
  BucketBatchDataset(OpKernelContext* ctx, const data::DatasetBase* input,
                     BatchForm form, Args args)
      : InputDataset(ctx, "MillraceBucketBatch", Types(form, args),
                     Shapes(form, args), input),
        form_(std::move(form)),
        args_(std::move(args)) {}

  std::unique_ptr<data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override {
    return Iterate<Iterator>(this, prefix);
  }

  int64_t CardinalityInternal(data::CardinalityOptions options) const override {
    const int64_t n = input()->Cardinality(options);
    return n == data::kInfiniteCardinality ? n : data::kUnknownCardinality;
  }

 protected:
  absl::Status AsGraphDefInternal(data::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  Node** output) const override {
    std::vector<Node*> in(7);
    TF_RETURN_IF_ERROR(b->AddInputDataset(ctx, input(), &in[0]));
    TF_RETURN_IF_ERROR(b->AddVector(args_.boundaries, &in[1]));
    TF_RETURN_IF_ERROR(b->AddVector(args_.sizes, &in[2]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.drop_remainder, &in[3]));
    TF_RETURN_IF_ERROR(b->AddVector(args_.held, &in[4]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.next, &in[5]));
    TF_RETURN_IF_ERROR(b->AddVector(args_.origin.files(), &in[6]));
    return form_.AddNode(b, this, in,
                         {{kPlaced, b->BuildAttrValue(args_.origin.placed())},
                          {kLengthOf, b->BuildAttrValue(args_.length_of)},
                          {kPositions, b->BuildAttrValue(args_.positions)}},
                         output);
  }

 private:
  class Iterator;
  const BatchForm form_;
  const Args args_;
};

class BucketBatchDataset::Iterator
    : public data::DatasetIterator<BucketBatchDataset> {
 public:
  explicit Iterator(const Params& params)
      : DatasetIterator(params),
        measure_(dataset()->form_.NewDecoderOf(args().length_of)),
        buckets_(args().sizes.size()) {}

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
      s = Next(ctx, out, end_of_sequence);
    } catch (const std::bad_alloc&) {
      s = absl::ResourceExhaustedError("no memory for a batch");
    }
    if (!s.ok()) {
      // The record that failed is gone. Continuing after it would lose it
      // silently.
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
    TF_RETURN_IF_ERROR(writer->WriteScalar(prefix(), kElements, elements_));
    TF_RETURN_IF_ERROR(
        writer->WriteScalar(prefix(), kEnded, int64_t{ended_ ? 1 : 0}));
    int64_t held = 0;
    for (const Bucket& bucket : buckets_) held += bucket.rows();
    Tensor keys(DT_INT64, TensorShape({held}));
    Tensor elements(DT_INT64, TensorShape({held}));
    Tensor records(DT_STRING, TensorShape({held}));
    int64_t i = 0;
    for (size_t key = 0; key < buckets_.size(); ++key) {
      const Bucket& bucket = buckets_[key];
      for (int64_t row = 0; row < bucket.rows(); ++row, ++i) {
        keys.vec<int64_t>()(i) = static_cast<int64_t>(key);
        elements.vec<int64_t>()(i) = bucket.elements[row];
        records.vec<tstring>()(i) = bucket.records[row].scalar<tstring>()();
      }
    }
    TF_RETURN_IF_ERROR(writer->WriteTensor(prefix(), kHeldBuckets, keys));
    TF_RETURN_IF_ERROR(writer->WriteTensor(prefix(), kHeldElements, elements));
    TF_RETURN_IF_ERROR(writer->WriteTensor(prefix(), kHeldRecords, records));
    return ended_ ? absl::OkStatus() : SaveInput(ctx, writer, input_);
  }

  absl::Status RestoreInternal(data::IteratorContext* ctx,
                               data::IteratorStateReader* reader) override {
    absl::MutexLock lock(&mu_);
    int64_t ended = 0;
    Tensor keys, elements, records;
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), kElements, &elements_));
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), kEnded, &ended));
    TF_RETURN_IF_ERROR(reader->ReadTensor(prefix(), kHeldBuckets, &keys));
    TF_RETURN_IF_ERROR(reader->ReadTensor(prefix(), kHeldElements, &elements));
    TF_RETURN_IF_ERROR(reader->ReadTensor(prefix(), kHeldRecords, &records));
    failed_ = absl::OkStatus();
    ended_ = ended != 0;
    TF_RETURN_IF_ERROR(Hold(ctx, keys, elements, records));
    return ended_ ? absl::OkStatus() : RestoreInput(ctx, reader, input_);
  }

 private:
  // Bucket is the records of a batch that is not full.
  struct Bucket {
    std::unique_ptr<Batcher> batcher;  // nullptr: the bucket is empty
    std::vector<Tensor> records;       // as they were read
    std::vector<int64_t> elements;     // their numbers in the input
    absl::Status too_long;  // error for records longer than their padding

    int64_t rows() const { return static_cast<int64_t>(records.size()); }
  };

  const Args& args() const { return dataset()->args_; }

  // Next reads until a bucket is full, and at the end empties one bucket after
  // the other.
  absl::Status Next(data::IteratorContext* ctx, std::vector<Tensor>* out,
                    bool* end_of_sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    *end_of_sequence = false;
    for (int64_t n = 0; !ended_; ++n) {
      if (n % kCancelEvery == 0) TF_RETURN_IF_ERROR(CheckCancelled(ctx));
      std::vector<Tensor> element;
      TF_RETURN_IF_ERROR(input_->GetNext(ctx, &element, &ended_));
      if (ended_) break;
      size_t key = 0;
      TF_RETURN_IF_ERROR(Put(ctx, std::move(element[0]), elements_, &key));
      ++elements_;
      if (buckets_[key].rows() == args().sizes[key]) {
        return Take(ctx, &buckets_[key], out);
      }
    }
    for (Bucket& bucket : buckets_) {
      if (bucket.rows() == 0) continue;
      if (!args().drop_remainder) return Take(ctx, &bucket, out);
      Empty(&bucket);
    }
    *end_of_sequence = true;
    return absl::OkStatus();
  }

  // Put decodes a record into the batch of its bucket.
  absl::Status Put(data::IteratorContext* ctx, Tensor element, int64_t number,
                   size_t* key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const tstring& text = element.scalar<tstring>()();
    std::string_view record(text.data(), text.size());
    Fault fault;
    RecordPlace place;
    if (!args().origin.Split(&record, &place, &fault)) return ToStatus(fault);
    *key = KeyOf(record);
    Bucket* const bucket = &buckets_[*key];
    if (bucket->batcher == nullptr) {
      TF_RETURN_IF_ERROR(Begin(ctx, bucket, args().sizes[*key]));
    }
    if (!bucket->batcher->Decode(record, bucket->rows(), &fault)) {
      args().origin.Describe(place, number, &fault);
      return ToStatus(fault);
    }
    if (!bucket->batcher->WithinPadding(&fault) && bucket->too_long.ok()) {
      args().origin.Describe(place, number, &fault);
      bucket->too_long = ToStatus(fault);
    }
    bucket->records.push_back(std::move(element));
    bucket->elements.push_back(number);
    return absl::OkStatus();
  }

  // KeyOf returns the bucket of a record: the number of boundaries below its
  // length. A record that cannot be measured cannot be decoded either, so its
  // bucket does not matter.
  size_t KeyOf(std::string_view record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Fault fault;
    const Destination none;
    measure_->Clear();
    if (!measure_->Decode(record, &none, 0, &fault)) return 0;
    const int64_t length = measure_->list(0).splits().back();
    const std::vector<int64_t>& bounds = args().boundaries;
    return std::lower_bound(bounds.begin(), bounds.end(), length) -
           bounds.begin();
  }

  // Begin begins the batch of an empty bucket.
  absl::Status Begin(data::IteratorContext* ctx, Bucket* bucket, int64_t rows)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (idle_.empty()) idle_.push_back(dataset()->form_.NewBatcher());
    TF_RETURN_IF_ERROR(idle_.back()->Begin(ctx->allocator({}), rows));
    bucket->batcher = std::move(idle_.back());
    idle_.pop_back();
    return absl::OkStatus();
  }

  // Take makes a batch of the records of a bucket.
  absl::Status Take(data::IteratorContext* ctx, Bucket* bucket,
                    std::vector<Tensor>* out)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    TF_RETURN_IF_ERROR(bucket->too_long);
    const int64_t rows = bucket->rows();
    TF_RETURN_IF_ERROR(bucket->batcher->Finish(ctx->allocator({}), rows, out));
    if (args().positions) {
      out->emplace_back(ctx->allocator({}), DT_INT64, TensorShape({rows}));
      int64_t* const to = out->back().flat<int64_t>().data();
      for (int64_t i = 0; i < rows; ++i) {
        to[i] = args().Position(bucket->elements[i]);
      }
    }
    Empty(bucket);
    return absl::OkStatus();
  }

  // Empty drops the records of a bucket.
  void Empty(Bucket* bucket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (bucket->batcher != nullptr) idle_.push_back(std::move(bucket->batcher));
    bucket->records.clear();
    bucket->elements.clear();
    bucket->too_long = absl::OkStatus();
  }

  // Restore adds the records of a saved state to their buckets.
  absl::Status Hold(data::IteratorContext* ctx, const Tensor& keys,
                    const Tensor& elements, const Tensor& records)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (Bucket& bucket : buckets_) Empty(&bucket);
    const int64_t held = keys.NumElements();
    if (keys.dtype() != DT_INT64 || elements.dtype() != DT_INT64 ||
        records.dtype() != DT_STRING || elements.NumElements() != held ||
        records.NumElements() != held) {
      return absl::InvalidArgumentError(kForeign);
    }
    for (int64_t i = 0; i < held; ++i) {
      Tensor record(DT_STRING, TensorShape({}));
      record.scalar<tstring>()() = records.flat<tstring>()(i);
      size_t key = 0;
      TF_RETURN_IF_ERROR(
          Put(ctx, std::move(record), elements.flat<int64_t>()(i), &key));
      if (static_cast<int64_t>(key) != keys.flat<int64_t>()(i) ||
          buckets_[key].rows() >= args().sizes[key]) {
        return absl::InvalidArgumentError(kForeign);
      }
    }
    return absl::OkStatus();
  }

  static constexpr char kForeign[] = "the state is not one of this dataset";

  absl::Mutex mu_;
  std::unique_ptr<data::IteratorBase> input_ ABSL_GUARDED_BY(mu_);
  const std::unique_ptr<RowDecoder> measure_ ABSL_PT_GUARDED_BY(mu_);
  std::vector<Bucket> buckets_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<Batcher>> idle_ ABSL_GUARDED_BY(mu_);
  int64_t elements_ ABSL_GUARDED_BY(mu_) =
      0;  // number of elements taken from the input
  bool ended_ ABSL_GUARDED_BY(mu_) = false;  // the input
  absl::Status failed_ ABSL_GUARDED_BY(mu_);
};

class BucketBatchDatasetOp : public data::UnaryDatasetOpKernel {
 public:
  explicit BucketBatchDatasetOp(OpKernelConstruction* ctx)
      : UnaryDatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, form_.Read(ctx));
    OP_REQUIRES_OK(ctx, ctx->GetAttr(kPlaced, &placed_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr(kLengthOf, &length_of_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr(kPositions, &positions_));
    OP_REQUIRES(ctx, form_.IsList(length_of_),
                absl::InvalidArgumentError("length_of is no list"));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, data::DatasetBase* input,
                   data::DatasetBase** output) override {
    Args args;
    args.length_of = length_of_;
    args.positions = positions_;
    OP_REQUIRES_OK(ctx, Vector(ctx, kBoundaries, &args.boundaries));
    OP_REQUIRES_OK(ctx, Vector(ctx, kBucketSizes, &args.sizes));
    OP_REQUIRES_OK(ctx, data::ParseScalarArgument(ctx, kDropRemainder,
                                                  &args.drop_remainder));
    OP_REQUIRES_OK(ctx, Vector(ctx, kHeldPositions, &args.held));
    OP_REQUIRES_OK(ctx,
                   data::ParseScalarArgument(ctx, kNextPosition, &args.next));
    OP_REQUIRES_OK(ctx, args.Check());
    OP_REQUIRES_OK(ctx, ReadOrigin(ctx, placed_, &args.origin));
    OP_REQUIRES_OK(ctx, CheckRecords(input));
    BatchForm form;
    OP_REQUIRES_OK(ctx, form_.WithInputs(ctx, &form));
    *output =
        new BucketBatchDataset(ctx, input, std::move(form), std::move(args));
  }

 private:
  BatchForm form_;
  bool placed_;
  bool positions_;
  int64_t length_of_;
};

REGISTER_KERNEL_BUILDER(Name("MillraceBucketBatchDataset").Device(DEVICE_CPU),
                        BucketBatchDatasetOp);

}  // namespace
}  // namespace millrace
