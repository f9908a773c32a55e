// MillraceWindowsDataset cuts windows of the sequences in files of Examples.
#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "batch_spec.h"
#include "dataset_op.h"
#include "position_reader.h"
#include "window_plan.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr char kType[] = "MillraceWindows";
constexpr char kWindow[] = "window";
constexpr char kSeed[] = "seed";
constexpr char kFirst[] = "first";
constexpr char kThreads[] = "threads";
constexpr char kKeepTail[] = "keep_tail";
constexpr char kWholeRecords[] = "whole_records";
constexpr char kState[] = "state";
constexpr int kStateSize = 8;
constexpr int64_t kMaxSize = int64_t{1} << 31;
constexpr int64_t kMaxThreads = 1000;
constexpr int64_t kCancelEvery = 8 << 20;  // bytes

class WindowsDatasetOp : public data::DatasetOpKernel {
 public:
  explicit WindowsDatasetOp(OpKernelConstruction* ctx) : DatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, spec_.Read(ctx, kRecordShapes));
    OP_REQUIRES_OK(ctx, ctx->GetAttr(kOutputShapes, &output_shapes_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr(kKeepTail, &keep_tail_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr(kWholeRecords, &whole_records_));
    OP_REQUIRES(ctx, output_shapes_.size() == spec_.features().size(),
                absl::InvalidArgumentError(
                    "the attributes of features differ in length"));
    for (size_t i = 0; i < spec_.features().size(); ++i) {
      const auto& dims = spec_.dims(i);
      OP_REQUIRES(ctx,
                  spec_.features()[i].kind != Kind::kBytes && !dims.empty() &&
                      dims[0] > 0 &&
                      (whole_records_ || dims[0] == spec_.dims(0)[0]),
                  absl::InvalidArgumentError(absl::StrCat(
                      "feature ", Quote(spec_.features()[i].key, 256),
                      ": no numbers along a first axis as the others have")));
    }
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, data::DatasetBase** output) override;

 private:
  class Dataset;
  BatchSpec spec_;
  std::vector<PartialTensorShape> output_shapes_;
  bool keep_tail_;
  bool whole_records_;
};

// Args are the inputs of the op.
struct Args : FileInputs {
  std::vector<int64_t> window;  // min, max, stride
  int64_t seed = 0;
  std::vector<int64_t> first;  // epoch, file
  int64_t threads = 0;
};

class WindowsDatasetOp::Dataset : public data::DatasetBase {
 public:
  Dataset(OpKernelContext* ctx, const WindowsDatasetOp* op, Args args)
      : DatasetBase(data::DatasetContext(ctx)),
        spec_(op->spec_),
        output_shapes_(op->output_shapes_),
        whole_records_(op->whole_records_),
        positions_(whole_records_ ? 1 : spec_.dims(0)[0]),
        args_(std::move(args)) {
    rules_.min = args_.window[0];
    rules_.max = args_.window[1];
    rules_.stride = args_.window[2];
    rules_.keep_tail = op->keep_tail_;
    rules_.seed = static_cast<uint64_t>(args_.seed);
    rules_.epochs = args_.epochs;
    rules_.first_epoch = args_.first[0];
    rules_.first_file = args_.first[1];
    for (int64_t count : args_.counts) {
      rules_.sizes.push_back(count * positions_);
    }
    for (size_t i = 0; i < spec_.features().size(); ++i) {
      int64_t bytes = DataTypeSize(spec_.types()[i]);
      for (int64_t dim : spec_.dims(i)) bytes *= dim;
      row_bytes_.push_back(bytes / positions_);
    }
  }

  std::unique_ptr<data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override;

  const DataTypeVector& output_dtypes() const override { return spec_.types(); }
  const std::vector<PartialTensorShape>& output_shapes() const override {
    return output_shapes_;
  }
  std::string DebugString() const override { return kType; }
  absl::Status InputDatasets(
      std::vector<const data::DatasetBase*>*) const override {
    return absl::OkStatus();
  }
  absl::Status CheckExternalState() const override { return absl::OkStatus(); }

  int64_t CardinalityInternal(data::CardinalityOptions) const override {
    return rules_.epochs < 0 ? data::kInfiniteCardinality
                             : data::kUnknownCardinality;
  }

 protected:
  absl::Status AsGraphDefInternal(data::SerializationContext*,
                                  DatasetGraphDefBuilder* b,
                                  Node** output) const override {
    std::vector<Node*> in(10);
    TF_RETURN_IF_ERROR(b->AddVector(args_.filenames, &in[0]));
    TF_RETURN_IF_ERROR(b->AddVector(args_.counts, &in[1]));
    TF_RETURN_IF_ERROR(b->AddVector(args_.window, &in[2]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.seed, &in[3]));
    TF_RETURN_IF_ERROR(b->AddVector(args_.first, &in[4]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.epochs, &in[5]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.batch_size, &in[6]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.drop_remainder, &in[7]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.buffer_bytes, &in[8]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.threads, &in[9]));
    auto attrs = spec_.Attrs();
    attrs.emplace_back(kRecordShapes, b->BuildAttrValue(spec_.shapes()));
    attrs.emplace_back(kKeepTail, b->BuildAttrValue(rules_.keep_tail));
    attrs.emplace_back(kWholeRecords, b->BuildAttrValue(whole_records_));
    return b->AddDataset(this, in, attrs, output);
  }

 private:
  class Iterator;

  // Allocate makes the tensors of one element of n windows of a size.
  absl::Status Allocate(Allocator* allocator, int64_t n, int64_t size,
                        std::vector<Tensor>* out,
                        std::vector<char*>* to) const {
    for (size_t i = 0; i < row_bytes_.size(); ++i) {
      const std::vector<int64_t>& dims = spec_.dims(i);
      TensorShape shape;
      if (args_.batch_size > 0) TF_RETURN_IF_ERROR(shape.AddDimWithStatus(n));
      TF_RETURN_IF_ERROR(shape.AddDimWithStatus(size * (dims[0] / positions_)));
      for (size_t d = 1; d < dims.size(); ++d) {
        TF_RETURN_IF_ERROR(shape.AddDimWithStatus(dims[d]));
      }
      out->emplace_back(allocator, spec_.types()[i], shape);
      if (!out->back().IsInitialized()) {
        return absl::ResourceExhaustedError(absl::StrCat(
            "no memory for windows of shape ", shape.DebugString()));
      }
      to->push_back(static_cast<char*>(out->back().data()));
    }
    return absl::OkStatus();
  }

  const BatchSpec spec_;
  const std::vector<PartialTensorShape> output_shapes_;
  const bool whole_records_;
  const int64_t positions_;  // of a record
  const Args args_;
  WindowRules rules_;
  std::vector<int64_t> row_bytes_;  // of one position of each feature
};

// Place is the file that is read and the first record that is still needed.
struct Place {
  int64_t epoch = 0;
  int64_t file = 0;
  int64_t offset = 0;
  int64_t ordinal = 0;
};

class WindowsDatasetOp::Dataset::Iterator
    : public data::DatasetIterator<WindowsDatasetOp::Dataset> {
 public:
  explicit Iterator(const Params& params)
      : DatasetIterator(params),
        reader_(dataset()->spec_.features(), dataset()->row_bytes_,
                dataset()->positions_,
                static_cast<size_t>(dataset()->args_.buffer_bytes),
                dataset()->args_.threads) {}

  absl::Status GetNextInternal(data::IteratorContext* ctx,
                               std::vector<Tensor>* out,
                               bool* end_of_sequence) override {
    absl::MutexLock lock(&mu_);
    const WindowPosition before = next_;
    const Place place = place_;
    absl::Status s;
    try {
      s = Element(ctx, out, end_of_sequence);
    } catch (const std::bad_alloc&) {
      s = absl::ResourceExhaustedError("no memory for a window");
    }
    if (!s.ok()) {
      // An element is whole or was not begun: asked again, it fails again.
      out->clear();
      reader_.Close();
      next_ = before;
      place_ = place;
    }
    return s;
  }

 protected:
  absl::Status SaveInternal(data::SerializationContext*,
                            data::IteratorStateWriter* writer) override {
    absl::MutexLock lock(&mu_);
    Tensor state(DT_INT64, TensorShape({kStateSize}));
    const int64_t values[kStateSize] = {
        next_.epoch,  next_.file,  next_.begin,   next_.ordinal,
        place_.epoch, place_.file, place_.offset, place_.ordinal};
    std::copy(values, values + kStateSize, state.flat<int64_t>().data());
    return writer->WriteTensor(prefix(), kState, state);
  }

  absl::Status RestoreInternal(data::IteratorContext*,
                               data::IteratorStateReader* reader) override {
    absl::MutexLock lock(&mu_);
    Tensor state;
    TF_RETURN_IF_ERROR(reader->ReadTensor(prefix(), kState, &state));
    const auto files = static_cast<int64_t>(dataset()->args_.filenames.size());
    bool fits = state.dtype() == DT_INT64 && state.NumElements() == kStateSize;
    for (int i = 0; fits && i < kStateSize; ++i) {
      fits = state.flat<int64_t>()(i) >= 0;
    }
    if (!fits || state.flat<int64_t>()(1) > files ||
        state.flat<int64_t>()(5) > files) {
      return absl::InvalidArgumentError("the state is not one of this dataset");
    }
    const auto v = state.flat<int64_t>();
    next_ = {v(0), v(1), v(2), v(3)};
    place_ = {v(4), v(5), v(6), v(7)};
    reader_.Close();
    return absl::OkStatus();
  }

 private:
  absl::Status Element(data::IteratorContext* ctx, std::vector<Tensor>* out,
                       bool* end_of_sequence)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const Args& args = dataset()->args_;
    const WindowRules& rules = dataset()->rules_;
    if (rules.epochs < 0 && !HasWindows(rules)) {
      return absl::FailedPreconditionError(
          "no file is long enough for a window, and they repeat without end");
    }
    std::vector<Window> windows;
    const auto want =
        static_cast<size_t>(std::max<int64_t>(args.batch_size, 1));
    Window window;
    while (windows.size() < want && NextWindow(rules, &next_, &window)) {
      windows.push_back(window);
    }
    *end_of_sequence =
        windows.empty() || (windows.size() < want && args.drop_remainder);
    if (*end_of_sequence) return MoveTo(ctx, rules.epochs, 0);
    std::vector<char*> to;
    TF_RETURN_IF_ERROR(dataset()->Allocate(ctx->allocator({}),
                                           static_cast<int64_t>(windows.size()),
                                           windows[0].size, out, &to));
    for (size_t i = 0; i < windows.size();) {
      Window joined = windows[i++];
      // Windows one behind the other are one range, of the file and of the
      // batch.
      while (i < windows.size() && rules.stride == 0 &&
             windows[i].epoch == joined.epoch &&
             windows[i].file == joined.file) {
        joined.size += windows[i++].size;
      }
      TF_RETURN_IF_ERROR(MoveTo(ctx, joined.epoch, joined.file));
      TF_RETURN_IF_ERROR(Fill(ctx, joined, &to));
    }
    if (reader_.is_open()) {
      const bool same =
          next_.epoch == place_.epoch && next_.file == place_.file;
      reader_.Resume(same ? next_.begin : rules.sizes[place_.file],
                     &place_.offset, &place_.ordinal);
    }
    return absl::OkStatus();
  }

  // Fill copies a range of positions, some at a time.
  absl::Status Fill(data::IteratorContext* ctx, const Window& range,
                    std::vector<char*>* to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const std::vector<int64_t>& row_bytes = dataset()->row_bytes_;
    const int64_t stride = dataset()->rules_.stride;
    int64_t bytes = 1;
    for (int64_t b : row_bytes) bytes += b;
    const int64_t most = std::max<int64_t>(
        kCancelEvery / bytes / dataset()->positions_ * dataset()->positions_,
        dataset()->positions_);
    const int64_t end = range.begin + range.size;
    // The next window begins here: what is before is not needed again.
    const int64_t keep = stride > 0 ? range.begin + stride : end;
    for (int64_t at = range.begin; at < end;) {
      TF_RETURN_IF_ERROR(CheckCancelled(ctx));
      const int64_t n = std::min(end - at, most);
      Fault fault;
      if (!reader_.Copy(at, n, keep, to->data(), &fault)) {
        return ToStatus(fault);
      }
      for (size_t i = 0; i < to->size(); ++i) (*to)[i] += n * row_bytes[i];
      at += n;
    }
    return absl::OkStatus();
  }

  // MoveTo reads the files before one to their ends, so that no fault in what
  // no window takes goes unseen, and opens that file.
  absl::Status MoveTo(data::IteratorContext* ctx, int64_t epoch, int64_t file)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const Args& args = dataset()->args_;
    const auto files = static_cast<int64_t>(args.filenames.size());
    if (files == 0) return absl::OkStatus();
    for (;;) {
      if (place_.file == files) place_ = Place{place_.epoch + 1};
      const bool there = place_.epoch == epoch && place_.file == file;
      if (place_.epoch > epoch || (there && reader_.is_open()) ||
          (there && epoch == dataset()->rules_.epochs)) {
        return absl::OkStatus();
      }
      TF_RETURN_IF_ERROR(CheckCancelled(ctx));
      Fault fault;
      if (!reader_.is_open() &&
          !reader_.Open(args.filenames[place_.file], args.counts[place_.file],
                        place_.offset, place_.ordinal, &fault)) {
        return ToStatus(fault);
      }
      if (there) return absl::OkStatus();
      if (!reader_.Finish(&fault)) return ToStatus(fault);
      place_ = Place{place_.epoch, place_.file + 1};
    }
  }

  absl::Mutex mu_;
  PositionReader reader_ ABSL_GUARDED_BY(mu_);
  WindowPosition next_ ABSL_GUARDED_BY(mu_);
  Place place_ ABSL_GUARDED_BY(mu_);
};

std::unique_ptr<data::IteratorBase>
WindowsDatasetOp::Dataset::MakeIteratorInternal(
    const std::string& prefix) const {
  return std::make_unique<Iterator>(
      Iterator::Params{this, prefix + "::" + kType});
}

// ReadArgs reads the inputs.
absl::Status ReadArgs(OpKernelContext* ctx, Args* args) {
  using data::ParseScalarArgument;
  using data::ParseVectorArgument;
  TF_RETURN_IF_ERROR(args->Read(ctx));
  TF_RETURN_IF_ERROR(ParseVectorArgument<int64_t>(ctx, kWindow, &args->window));
  TF_RETURN_IF_ERROR(ParseScalarArgument<int64_t>(ctx, kSeed, &args->seed));
  TF_RETURN_IF_ERROR(ParseVectorArgument<int64_t>(ctx, kFirst, &args->first));
  return ParseScalarArgument<int64_t>(ctx, kThreads, &args->threads);
}

// CheckArgs reports inputs that are out of range. `positions` is what a record
// has.
absl::Status CheckArgs(const Args& args, int64_t positions) {
  const auto wrong = [](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(what, " is out of range"));
  };
  if (args.counts.size() != args.filenames.size()) return wrong(kCounts);
  for (int64_t count : args.counts) {
    if (count < 0 || count > INT64_MAX / 4 / positions) return wrong(kCounts);
  }
  const std::vector<int64_t>& w = args.window;
  if (w.size() != 3 || w[0] < 1 || w[1] < w[0] || w[1] > kMaxSize || w[2] < 0 ||
      w[2] > INT64_MAX / 4) {
    return wrong(kWindow);
  }
  if (args.first.size() != 2) return wrong(kFirst);
  if (args.epochs < -1) return wrong(kEpochs);
  if (args.batch_size < 0 || args.batch_size > kMaxSize ||
      (args.batch_size > 0 && w[0] != w[1])) {
    return wrong(kBatchSize);
  }
  if (args.buffer_bytes < 0 || args.buffer_bytes > kMaxBuffer) {
    return wrong(kBufferBytes);
  }
  if (args.threads < 1 || args.threads > kMaxThreads) return wrong(kThreads);
  return absl::OkStatus();
}

void WindowsDatasetOp::MakeDataset(OpKernelContext* ctx,
                                   data::DatasetBase** output) {
  Args args;
  OP_REQUIRES_OK(ctx, ReadArgs(ctx, &args));
  OP_REQUIRES_OK(ctx, CheckArgs(args, spec_.dims(0)[0]));
  *output = new Dataset(ctx, this, std::move(args));
}

REGISTER_KERNEL_BUILDER(Name("MillraceWindowsDataset").Device(DEVICE_CPU),
                        WindowsDatasetOp);

}  // namespace
}  // namespace millrace
