// MillraceWindowsDataset cuts windows from the sequences in files of Examples.
// Windows of one size are stacked to batches. Windows of several sizes are
// joined to batches: they are concatenated, and a last component has the start
// of each.
#include <algorithm>
#include <cstring>
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
#include "dataset_base.h"
#include "env_source.h"
#include "position_reader.h"
#include "status.h"
#include "window_plan.h"
#include "window_ranges.h"
#include "windows_ahead.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr char kWindow[] = "window";
constexpr char kSeed[] = "seed";
constexpr char kFirst[] = "first";
constexpr char kThreads[] = "threads";
constexpr char kKeepTail[] = "keep_tail";
constexpr char kPadTail[] = "pad_tail";
constexpr char kWholeRecords[] = "whole_records";
constexpr char kJoined[] = "joined";
constexpr int64_t kMaxSize = int64_t{1} << 31;
constexpr int64_t kMaxThreads = 1000;
constexpr int64_t kCancelEvery = 8 << 20;  // bytes
// Threads share larger elements, and prefetch smaller ones.
constexpr int64_t kMostAhead = 4 << 20;  // bytes of an element

// Args are the inputs of the op.
struct Args : FileInputs {
  int64_t batch_size = 0;
  bool drop_remainder = false;
  std::vector<int64_t> window;  // min, max, stride
  int64_t seed = 0;
  std::vector<int64_t> first;  // epoch, file
  int64_t threads = 0;
};

// Attrs are the attributes of the op.
struct Attrs {
  BatchSpec spec;
  std::vector<PartialTensorShape> output_shapes;
  bool keep_tail;
  bool pad_tail;
  bool whole_records;
  bool joined;
  Format format;

  absl::Status Read(OpKernelConstruction* ctx) {
    TF_RETURN_IF_ERROR(spec.Read(ctx, kRecordShapes, kRecordTypes));
    TF_RETURN_IF_ERROR(ctx->GetAttr(kOutputShapes, &output_shapes));
    TF_RETURN_IF_ERROR(ctx->GetAttr(kKeepTail, &keep_tail));
    TF_RETURN_IF_ERROR(ctx->GetAttr(kPadTail, &pad_tail));
    TF_RETURN_IF_ERROR(ctx->GetAttr(kWholeRecords, &whole_records));
    TF_RETURN_IF_ERROR(ctx->GetAttr(kJoined, &joined));
    TF_RETURN_IF_ERROR(ReadFormat(ctx, &format));
    if (output_shapes.size() != spec.features().size() + (joined ? 1 : 0)) {
      return absl::InvalidArgumentError(
          "the attributes of features differ in length");
    }
    for (size_t i = 0; i < spec.features().size(); ++i) {
      const auto& dims = spec.dims(i);
      if (spec.features()[i].kind != Kind::kBytes && !dims.empty() &&
          dims[0] > 0 && (whole_records || dims[0] == spec.dims(0)[0])) {
        continue;
      }
      return absl::InvalidArgumentError(
          absl::StrCat("feature ", Quote(spec.features()[i].key, 256),
                       ": no numbers along a first axis as the others have"));
    }
    return absl::OkStatus();
  }

  // types returns the types of the components.
  DataTypeVector types() const {
    DataTypeVector all = spec.types();
    if (joined) all.push_back(DT_INT64);
    return all;
  }
};

class WindowsDataset : public TypedDataset {
 public:
  WindowsDataset(OpKernelContext* ctx, const Attrs& attrs, Args args)
      : TypedDataset(ctx, "MillraceWindows", attrs.types(),
                     attrs.output_shapes),
        spec_(attrs.spec),
        whole_records_(attrs.whole_records),
        joined_(attrs.joined),
        positions_(whole_records_ ? 1 : spec_.dims(0)[0]),
        args_(std::move(args)) {
    rules_.min = args_.window[0];
    rules_.max = args_.window[1];
    rules_.stride = args_.window[2];
    rules_.keep_tail = attrs.keep_tail;
    rules_.pad_tail = attrs.pad_tail;
    rules_.seed = static_cast<uint64_t>(args_.seed);
    rules_.epochs = args_.files.epochs;
    rules_.first_epoch = args_.first[0];
    rules_.first_file = args_.first[1];
    for (int64_t count : args_.files.counts) {
      rules_.sizes.push_back(count * positions_);
    }
    for (size_t i = 0; i < spec_.features().size(); ++i) {
      int64_t bytes = DataTypeSize(spec_.types()[i]);
      for (int64_t dim : spec_.dims(i)) bytes *= dim;
      row_bytes_.push_back(bytes / positions_);
    }
  }

  std::unique_ptr<data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override {
    return Iterate<Iterator>(this, prefix);
  }

  int64_t CardinalityInternal(data::CardinalityOptions) const override {
    return rules_.epochs < 0 ? data::kInfiniteCardinality
                             : data::kUnknownCardinality;
  }

 protected:
  absl::Status AsGraphDefInternal(data::SerializationContext*,
                                  DatasetGraphDefBuilder* b,
                                  Node** output) const override {
    std::vector<Node*> in(10);
    TF_RETURN_IF_ERROR(args_.AddFiles(b, &in[0], &in[1]));
    TF_RETURN_IF_ERROR(b->AddVector(args_.window, &in[2]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.seed, &in[3]));
    TF_RETURN_IF_ERROR(b->AddVector(args_.first, &in[4]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.files.epochs, &in[5]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.batch_size, &in[6]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.drop_remainder, &in[7]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.buffer_bytes, &in[8]));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.threads, &in[9]));
    auto attrs = spec_.Attrs();
    attrs.emplace_back(kRecordTypes, b->BuildAttrValue(spec_.types()));
    attrs.emplace_back(kRecordShapes, b->BuildAttrValue(spec_.shapes()));
    attrs.emplace_back(kKeepTail, b->BuildAttrValue(rules_.keep_tail));
    attrs.emplace_back(kPadTail, b->BuildAttrValue(rules_.pad_tail));
    attrs.emplace_back(kWholeRecords, b->BuildAttrValue(whole_records_));
    attrs.emplace_back(kJoined, b->BuildAttrValue(joined_));
    for (auto& attr : args_.Attrs(b)) attrs.push_back(std::move(attr));
    return b->AddDataset(this, in, attrs, output);
  }

 private:
  class Iterator;

  // Allocate makes the tensors of one element of some windows.
  absl::Status Allocate(Allocator* allocator,
                        const std::vector<Window>& windows,
                        std::vector<Tensor>* out,
                        std::vector<char*>* to) const {
    const auto n = static_cast<int64_t>(windows.size());
    int64_t size = windows[0].size;
    if (joined_) size = 0;
    for (size_t k = 0; joined_ && k < windows.size(); ++k) {
      size += windows[k].size;
    }
    for (size_t i = 0; i < row_bytes_.size(); ++i) {
      const std::vector<int64_t>& dims = spec_.dims(i);
      TensorShape shape;
      if (args_.batch_size > 0 && !joined_) {
        TF_RETURN_IF_ERROR(shape.AddDimWithStatus(n));
      }
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
    if (joined_) out->push_back(Splits(allocator, windows));
    return absl::OkStatus();
  }

  // MakesAhead reports whether each thread may make its own element. Records
  // with several features are read one by one.
  bool MakesAhead() const {
    return args_.format == Format::kPlain && args_.threads > 1 &&
           row_bytes_.size() == 1 && rules_.stride == 0 &&
           args_.batch_size > 0 &&
           rules_.max <= kMostAhead / args_.batch_size / row_bytes_[0];
  }

  // Splits returns the starts of joined windows, and the end of the last one.
  static Tensor Splits(Allocator* allocator,
                       const std::vector<Window>& windows) {
    Tensor splits(allocator, DT_INT64,
                  TensorShape({static_cast<int64_t>(windows.size()) + 1}));
    if (!splits.IsInitialized()) throw std::bad_alloc();
    int64_t* const at = splits.flat<int64_t>().data();
    at[0] = 0;
    for (size_t k = 0; k < windows.size(); ++k) {
      at[k + 1] = at[k] + windows[k].size;
    }
    return splits;
  }

  const BatchSpec spec_;
  const bool whole_records_;
  const bool joined_;
  const int64_t positions_;  // positions per record
  const Args args_;
  WindowRules rules_;
  std::vector<int64_t> row_bytes_;  // bytes of one position of each feature
};

class WindowsDataset::Iterator
    : public FileIterator<WindowsDataset, WindowsAt> {
 public:
  explicit Iterator(const Params& params)
      : FileIterator(params),
        reader_(dataset()->spec_.features(), dataset()->row_bytes_,
                dataset()->positions_,
                static_cast<size_t>(dataset()->args_.buffer_bytes),
                dataset()->args_.threads, Opener(dataset()->args_.format)) {
    if (!dataset()->MakesAhead()) return;
    ahead_ = std::make_unique<WindowsAhead>(
        WindowRanges(dataset()->args_.files, dataset()->rules_,
                     dataset()->positions_, dataset()->row_bytes_[0]),
        static_cast<size_t>(dataset()->args_.batch_size),
        dataset()->args_.threads,
        [this](auto... args) { return dataset()->Allocate(args...); });
  }

 protected:
  WindowsAt Tell() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return {next_, place_};
  }

  void Seek(const WindowsAt& at) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (ahead_ != nullptr) ahead_->Stop();
    reader_.Close();
    next_ = at.next;
    place_ = at.read;
  }

  bool Fits(const WindowsAt& at) const override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto files =
        static_cast<int64_t>(dataset()->args_.files.names.size());
    const WindowPosition& w = at.next;
    const ReadPosition& r = at.read;
    return w.epoch >= 0 && w.file >= 0 && w.file <= files && w.begin >= 0 &&
           w.ordinal >= 0 && r.epoch >= 0 && r.file >= 0 && r.file <= files &&
           r.offset >= 0 && r.ordinal >= 0;
  }

  absl::Status Element(data::IteratorContext* ctx, std::vector<Tensor>* out,
                       bool* end_of_sequence) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (ahead_ == nullptr) return Cut(ctx, out, end_of_sequence);
    TF_RETURN_IF_ERROR(CheckCancelled(ctx));
    WindowsAt behind;
    if (ahead_->Next(ctx->allocator({}), out, &behind)) {
      reader_.Close();
      next_ = behind.next;
      place_ = behind.read;
      return absl::OkStatus();
    }
    out->clear();
    TF_RETURN_IF_ERROR(Cut(ctx, out, end_of_sequence));
    const Layout* const alike = reader_.alike();
    if (alike != nullptr && !*end_of_sequence) ahead_->Seek(Tell(), *alike);
    return absl::OkStatus();
  }

 private:
  // Cut makes the next element from records that are read in order.
  absl::Status Cut(data::IteratorContext* ctx, std::vector<Tensor>* out,
                   bool* end_of_sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const Args& args = dataset()->args_;
    const WindowRules& rules = dataset()->rules_;
    if (!HasWindows(rules)) {
      if (rules.epochs < 0) {
        return absl::FailedPreconditionError(
            "no file is long enough for a window, and they repeat without end");
      }
      *end_of_sequence = true;  // reads one epoch to find its faults
      return MoveTo(ctx, std::min<int64_t>(rules.epochs, 1), 0);
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
    TF_RETURN_IF_ERROR(
        dataset()->Allocate(ctx->allocator({}), windows, out, &to));
    for (size_t i = 0; i < windows.size();) {
      Window joined = windows[i++];
      // Consecutive windows form one range, of the file and of the batch.
      while (i < windows.size() && rules.stride == 0 &&
             windows[i].epoch == joined.epoch &&
             windows[i].file == joined.file) {
        joined.padding = windows[i].padding;  // only the last one has any
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

  // Fill copies a range of positions, some at a time, and pads it.
  absl::Status Fill(data::IteratorContext* ctx, const Window& range,
                    std::vector<char*>* to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const std::vector<int64_t>& row_bytes = dataset()->row_bytes_;
    const int64_t stride = dataset()->rules_.stride;
    int64_t bytes = 1;
    for (int64_t b : row_bytes) bytes += b;
    const int64_t most = std::max<int64_t>(
        kCancelEvery / bytes / dataset()->positions_ * dataset()->positions_,
        dataset()->positions_);
    const int64_t end = range.begin + range.size - range.padding;
    // The next window begins here: earlier positions are not needed again.
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
    for (size_t i = 0; i < to->size() && range.padding > 0; ++i) {
      const auto padding = static_cast<size_t>(range.padding * row_bytes[i]);
      std::memset((*to)[i], 0, padding);
      (*to)[i] += padding;
    }
    return absl::OkStatus();
  }

  // MoveTo reads the files before one to their ends, so that faults outside of
  // all windows are found, and opens that file.
  absl::Status MoveTo(data::IteratorContext* ctx, int64_t epoch, int64_t file)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const Args& args = dataset()->args_;
    const auto files = static_cast<int64_t>(args.files.names.size());
    if (files == 0) return absl::OkStatus();
    for (;;) {
      if (place_.file == files) place_ = ReadPosition{place_.epoch + 1};
      const bool there = place_.epoch == epoch && place_.file == file;
      if (place_.epoch > epoch || (there && reader_.is_open()) ||
          (there && epoch == dataset()->rules_.epochs)) {
        return absl::OkStatus();
      }
      TF_RETURN_IF_ERROR(CheckCancelled(ctx));
      Fault fault;
      if (!reader_.is_open() &&
          !reader_.Open(args.files.names[place_.file],
                        args.files.counts[place_.file], place_.offset,
                        place_.ordinal, &fault)) {
        return ToStatus(fault);
      }
      if (there) return absl::OkStatus();
      if (!reader_.Finish(&fault)) return ToStatus(fault);
      place_ = ReadPosition{place_.epoch, place_.file + 1};
    }
  }

  PositionReader reader_ ABSL_GUARDED_BY(mu_);
  WindowPosition next_ ABSL_GUARDED_BY(mu_);
  ReadPosition place_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<WindowsAhead> ahead_ ABSL_PT_GUARDED_BY(mu_);
};

// ReadArgs reads the inputs.
absl::Status ReadArgs(OpKernelContext* ctx, Format format, Args* args) {
  using data::ParseScalarArgument;
  using data::ParseVectorArgument;
  TF_RETURN_IF_ERROR(args->ReadFiles(ctx, format));
  TF_RETURN_IF_ERROR(ParseScalarArgument(ctx, kBatchSize, &args->batch_size));
  TF_RETURN_IF_ERROR(ParseScalarArgument(ctx, kEpochs, &args->files.epochs));
  TF_RETURN_IF_ERROR(
      ParseScalarArgument(ctx, kDropRemainder, &args->drop_remainder));
  TF_RETURN_IF_ERROR(ParseVectorArgument<int64_t>(ctx, kWindow, &args->window));
  TF_RETURN_IF_ERROR(ParseScalarArgument<int64_t>(ctx, kSeed, &args->seed));
  TF_RETURN_IF_ERROR(ParseVectorArgument<int64_t>(ctx, kFirst, &args->first));
  return ParseScalarArgument<int64_t>(ctx, kThreads, &args->threads);
}

// CheckArgs reports inputs that are out of range.
absl::Status CheckArgs(const Args& args, const Attrs& attrs) {
  const int64_t positions = attrs.spec.dims(0)[0];
  for (int64_t count : args.files.counts) {
    TF_RETURN_IF_ERROR(
        CheckRange(kCounts, count, 0, INT64_MAX / 4 / positions));
  }
  const std::vector<int64_t>& w = args.window;
  if (w.size() != 3 || args.first.size() != 2) {
    return absl::InvalidArgumentError("window or first has another length");
  }
  TF_RETURN_IF_ERROR(CheckRange(kWindow, w[0], 1, kMaxSize));
  TF_RETURN_IF_ERROR(CheckRange(kWindow, w[1], w[0], kMaxSize));
  TF_RETURN_IF_ERROR(CheckRange(kWindow, w[2], 0, INT64_MAX / 4));
  TF_RETURN_IF_ERROR(CheckRange(kEpochs, args.files.epochs, -1, INT64_MAX));
  // Windows of several sizes can only be batched if they are joined.
  const bool batches = attrs.joined || w[0] == w[1];
  TF_RETURN_IF_ERROR(CheckRange(kBatchSize, args.batch_size,
                                attrs.joined ? 1 : 0, batches ? kMaxSize : 0));
  return CheckRange(kThreads, args.threads, 1, kMaxThreads);
}

class WindowsDatasetOp : public data::DatasetOpKernel {
 public:
  explicit WindowsDatasetOp(OpKernelConstruction* ctx) : DatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, attrs_.Read(ctx));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, data::DatasetBase** output) override {
    Args args;
    OP_REQUIRES_OK(ctx, ReadArgs(ctx, attrs_.format, &args));
    OP_REQUIRES_OK(ctx, CheckArgs(args, attrs_));
    *output = new WindowsDataset(ctx, attrs_, std::move(args));
  }

 private:
  Attrs attrs_;
};

REGISTER_KERNEL_BUILDER(Name("MillraceWindowsDataset").Device(DEVICE_CPU),
                        WindowsDatasetOp);

}  // namespace
}  // namespace millrace
