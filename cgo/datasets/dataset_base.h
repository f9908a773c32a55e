// The common parts of our dataset ops: the description of a dataset, the
// reading of files, and saving, restoring and failing of iterators.
#ifndef MILLRACE_CGO_DATASETS_DATASET_BASE_H_
#define MILLRACE_CGO_DATASETS_DATASET_BASE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "byte_source.h"
#include "record_walk.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace millrace {

constexpr char kFilenames[] = "filenames";
constexpr char kCounts[] = "counts";
constexpr char kBatchSize[] = "batch_size";
constexpr char kEpochs[] = "epochs";
constexpr char kDropRemainder[] = "drop_remainder";
constexpr char kBufferBytes[] = "buffer_bytes";
constexpr char kCompression[] = "compression";
constexpr char kSkipped[] = "skipped";
constexpr int64_t kMaxBuffer = int64_t{1} << 30;

// FormatName returns the attribute's name of a format.
const char* FormatName(Format format);

// FileInputs are the common inputs and the attribute of the ops that read
// files.
struct FileInputs {
  FileList files;
  int64_t buffer_bytes = 0;
  Format format = Format::kPlain;

  // ReadFiles reads them, except the epochs, which not all ops have. Names and
  // counts are vectors, or both scalars; an empty vector of counts means that
  // all are unknown.
  absl::Status ReadFiles(tensorflow::OpKernelContext* ctx, Format stored);

  // AddFiles adds filenames and counts to a graph.
  template <typename Builder>
  absl::Status AddFiles(Builder* b, tensorflow::Node** filenames,
                        tensorflow::Node** counts) const {
    TF_RETURN_IF_ERROR(b->AddVector(files.names, filenames));
    return b->AddVector(files.counts, counts);
  }

  // Attrs returns the attributes. `first_file` is the number of the first file.
  template <typename Builder>
  std::vector<std::pair<absl::string_view, tensorflow::AttrValue>> Attrs(
      Builder* b, int64_t first_file = 0) const {
    std::vector<std::pair<absl::string_view, tensorflow::AttrValue>> attrs = {
        {kCompression, b->BuildAttrValue(std::string(FormatName(format)))}};
    if (!files.skipped.empty()) {
      const SkippedRecords skipped = files.skipped.From(-first_file);
      attrs.emplace_back(kSkipped, b->BuildAttrValue(skipped.Numbers()));
    }
    return attrs;
  }
};

// ReadSkipped reads the records to skip of an op that has the attribute.
absl::Status ReadSkipped(tensorflow::OpKernelConstruction* ctx,
                         SkippedRecords* skipped);

// CheckSkipped returns an error if all of a number of records are skipped,
// again and again without end. A negative number is unknown.
absl::Status CheckSkipped(const SkippedRecords& skipped, int64_t records,
                          int64_t epochs);

// ReadFormat reads the attribute of the files' compression.
absl::Status ReadFormat(tensorflow::OpKernelConstruction* ctx, Format* format);

// CheckRange returns an error if an input is outside of a range (both ends
// included).
absl::Status CheckRange(const char* input, int64_t value, int64_t least,
                        int64_t most);

// CheckRecords returns an error if a dataset does not yield records, which are
// scalar strings.
absl::Status CheckRecords(const tensorflow::data::DatasetBase* input);

// CheckCancelled returns an error if the iterator's run was cancelled.
absl::Status CheckCancelled(tensorflow::data::IteratorContext* ctx);

// TypedDataset is a dataset without an input dataset.
class TypedDataset : public tensorflow::data::DatasetBase {
 public:
  TypedDataset(tensorflow::OpKernelContext* ctx, const char* type,
               tensorflow::DataTypeVector types,
               std::vector<tensorflow::PartialTensorShape> shapes)
      : DatasetBase(tensorflow::data::DatasetContext(ctx)),
        type_(type),
        types_(std::move(types)),
        shapes_(std::move(shapes)) {}

  const tensorflow::DataTypeVector& output_dtypes() const override {
    return types_;
  }
  const std::vector<tensorflow::PartialTensorShape>& output_shapes()
      const override {
    return shapes_;
  }
  std::string DebugString() const override { return type_; }
  absl::Status InputDatasets(
      std::vector<const tensorflow::data::DatasetBase*>*) const override {
    return absl::OkStatus();
  }
  absl::Status CheckExternalState() const override { return absl::OkStatus(); }

 protected:
  // Iterate makes an iterator over a dataset.
  template <typename Iterator, typename Dataset>
  std::unique_ptr<tensorflow::data::IteratorBase> Iterate(
      const Dataset* dataset, const std::string& prefix) const {
    return std::make_unique<Iterator>(
        typename Iterator::Params{dataset, absl::StrCat(prefix, "::", type_)});
  }

 private:
  const char* const type_;
  const tensorflow::DataTypeVector types_;
  const std::vector<tensorflow::PartialTensorShape> shapes_;
};

// InputDataset is a dataset with an input dataset.
class InputDataset : public TypedDataset {
 public:
  InputDataset(tensorflow::OpKernelContext* ctx, const char* type,
               tensorflow::DataTypeVector types,
               std::vector<tensorflow::PartialTensorShape> shapes,
               const tensorflow::data::DatasetBase* input)
      : TypedDataset(ctx, type, std::move(types), std::move(shapes)),
        input_(input) {
    input_->Ref();
  }
  ~InputDataset() override { input_->Unref(); }

  absl::Status InputDatasets(std::vector<const tensorflow::data::DatasetBase*>*
                                 inputs) const override {
    inputs->push_back(input_);
    return absl::OkStatus();
  }
  absl::Status CheckExternalState() const override {
    return input_->CheckExternalState();
  }

 protected:
  const tensorflow::data::DatasetBase* input() const { return input_; }

 private:
  const tensorflow::data::DatasetBase* const input_;
};

// FileIterator is an iterator whose whole state is a position in its files:
// Position is a struct of int64s. Elements are atomic: after a failure, the
// next call fails again.
template <typename Dataset, typename Position>
class FileIterator : public tensorflow::data::DatasetIterator<Dataset> {
 public:
  using Params = typename tensorflow::data::DatasetIterator<Dataset>::Params;

  explicit FileIterator(const Params& params)
      : tensorflow::data::DatasetIterator<Dataset>(params) {}

  absl::Status GetNextInternal(tensorflow::data::IteratorContext* ctx,
                               std::vector<tensorflow::Tensor>* out,
                               bool* end_of_sequence) final {
    absl::MutexLock lock(&mu_);
    *end_of_sequence = false;
    const Position before = Tell();
    absl::Status s;
    try {
      s = Element(ctx, out, end_of_sequence);
    } catch (const std::bad_alloc&) {
      s = absl::ResourceExhaustedError("no memory for an element");
    }
    if (!s.ok()) {
      out->clear();
      Seek(before);
    }
    return s;
  }

 protected:
  absl::Status SaveInternal(
      tensorflow::data::SerializationContext*,
      tensorflow::data::IteratorStateWriter* writer) final {
    absl::MutexLock lock(&mu_);
    const Position at = Tell();
    tensorflow::Tensor state(tensorflow::DT_INT64,
                             tensorflow::TensorShape({kNumbers}));
    std::memcpy(state.data(), &at, sizeof(at));
    return writer->WriteTensor(this->prefix(), kState, state);
  }

  absl::Status RestoreInternal(
      tensorflow::data::IteratorContext*,
      tensorflow::data::IteratorStateReader* reader) final {
    absl::MutexLock lock(&mu_);
    tensorflow::Tensor state;
    TF_RETURN_IF_ERROR(reader->ReadTensor(this->prefix(), kState, &state));
    Position at;
    if (state.dtype() != tensorflow::DT_INT64 ||
        state.NumElements() != kNumbers) {
      return absl::InvalidArgumentError(kForeign);
    }
    std::memcpy(&at, state.data(), sizeof(at));
    if (!Fits(at)) return absl::InvalidArgumentError(kForeign);
    Seek(at);
    return absl::OkStatus();
  }

  // Element makes the next element.
  virtual absl::Status Element(tensorflow::data::IteratorContext* ctx,
                               std::vector<tensorflow::Tensor>* out,
                               bool* end_of_sequence)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;

  // Tell returns the next position, Seek moves to a position, and Fits reports
  // whether a position is valid in this dataset.
  virtual Position Tell() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  virtual void Seek(const Position& at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  virtual bool Fits(const Position& at) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;

  mutable absl::Mutex mu_;

 private:
  static_assert(std::is_trivially_copyable<Position>::value &&
                    sizeof(Position) % sizeof(int64_t) == 0,
                "a position is a struct of int64s");
  static constexpr int64_t kNumbers = sizeof(Position) / sizeof(int64_t);
  static constexpr char kState[] = "position";
  static constexpr char kForeign[] = "the state is not one of this dataset";
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_DATASET_BASE_H_
