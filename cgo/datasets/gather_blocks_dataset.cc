// MillraceGatherBlocksDataset puts blocks in order that the workers of a data
// service made. MillraceServiceReport says what a worker is, and which files it
// sees.
//
// A block is a number and the rows of that part of an order. A service gives
// each block once if its workers live, and loses the blocks of a worker that
// dies. Blocks arrive in any order, and a slow worker delays all that come
// after its own.
//
//	service ── thread ── buffer {7, 9, 10} ── next is 6: wait for it,
//	                                          or make it here
//
// A function makes a block in this process. It is called for the next block if
// that is not in the buffer, and
//
//	the service has ended: the block was lost;
//	the buffer is full: its worker is slow, or was ended;
//	nothing at all has arrived for a while: there is no worker.
//
// So a block comes once and in its place whatever happens to the workers. One
// that arrives later is dropped.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "dataset_base.h"
#include "record_judge.h"
#include "tensorflow/core/data/captured_function.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/tensor_util.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr char kLast[] = "last";
constexpr char kBlockRows[] = "block_rows";
constexpr char kStart[] = "start";
constexpr char kMostBuffered[] = "most_buffered";
constexpr char kWaitMs[] = "wait_ms";
constexpr char kNext[] = "next";

// The mark in the message of a fault of a record: see status.h.
constexpr char kFault[] = "[millrace.fault";

// Counts are the blocks of all iterators of the process.
struct Counts {
  std::atomic<int64_t> received{0};  // from a service
  std::atomic<int64_t> made{0};      // here
  std::atomic<int64_t> dropped{0};   // came twice
};

Counts& counts() {
  static Counts* const c = new Counts;
  return *c;
}

struct Args {
  int64_t rows = 0;   // a block's
  int64_t start = 0;  // position of the first row to deliver
  int64_t last = 0;   // the block after the last
  int64_t most = 0;   // blocks in the buffer
  int64_t wait_ms = 0;

  int64_t first() const { return start / rows; }
};

class GatherBlocksDataset : public InputDataset {
 public:
  using Function = std::unique_ptr<data::CapturedFunction>;

  GatherBlocksDataset(OpKernelContext* ctx, DataTypeVector types,
                      std::vector<PartialTensorShape> shapes,
                      const data::DatasetBase* input, Args args,
                      Function function)
      : InputDataset(ctx, "MillraceGatherBlocks", std::move(types),
                     std::move(shapes), input),
        args_(args),
        function_(std::move(function)) {}

  std::unique_ptr<data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override {
    return Iterate<Iterator>(this, prefix);
  }

  int64_t CardinalityInternal(data::CardinalityOptions) const override {
    return args_.last - args_.first();
  }

 protected:
  absl::Status AsGraphDefInternal(data::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  Node** output) const override {
    Node *in = nullptr, *rows = nullptr, *start = nullptr, *last = nullptr,
         *most = nullptr, *wait = nullptr;
    TF_RETURN_IF_ERROR(b->AddInputDataset(ctx, input(), &in));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.rows, &rows));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.start, &start));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.last, &last));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.most, &most));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.wait_ms, &wait));
    std::vector<Node*> captures;
    DataTypeVector types;
    TF_RETURN_IF_ERROR(function_->AddToGraph(ctx, b, &captures, &types));
    return b->AddDataset(
        this, {{0, in}, {1, rows}, {2, start}, {3, last}, {4, most}, {5, wait}},
        {{6, captures}},
        {{kJudge, b->BuildAttrValue(function_->func())},
         {"Targuments", b->BuildAttrValue(types)}},
        output);
  }

 private:
  class Iterator;
  const Args args_;
  const Function function_;
};

class GatherBlocksDataset::Iterator
    : public data::DatasetIterator<GatherBlocksDataset> {
 public:
  explicit Iterator(const Params& params)
      : DatasetIterator<GatherBlocksDataset>(params),
        next_(dataset()->args_.first()) {}

  ~Iterator() override {
    Cancel();
    if (deregister_) deregister_();
    thread_.reset();  // waits
  }

  absl::Status Initialize(data::IteratorContext* ctx) override {
    TF_RETURN_IF_ERROR(RegisterCancellationCallback(
        ctx->cancellation_manager(), [this] { Cancel(); }, &deregister_));
    TF_RETURN_IF_ERROR(dataset()->function_->Instantiate(ctx, &function_));
    data::IteratorContext::Params params(ctx);
    params.cancellation_manager = &cancellation_;
    data::IteratorContext own(std::move(params));
    return dataset()->input()->MakeIterator(&own, this, prefix(), &input_);
  }

  absl::Status GetNextInternal(data::IteratorContext* ctx,
                               std::vector<Tensor>* out,
                               bool* end_of_sequence) override {
    absl::MutexLock getting(&getting_);
    int64_t block = 0;
    bool here = false;
    TF_RETURN_IF_ERROR(Wait(ctx, &block, &here, out, end_of_sequence));
    if (*end_of_sequence) return absl::OkStatus();
    if (here) {
      Tensor number(DT_INT64, TensorShape({}));
      number.scalar<int64_t>()() = block;
      TF_RETURN_IF_ERROR(function_->Run(ctx, {std::move(number)}, out));
      counts().made.fetch_add(1);
    }
    TF_RETURN_IF_ERROR(Check(*out));
    absl::MutexLock lock(&mu_);
    next_ = block + 1;
    changed_.SignalAll();
    return SkipRows(block, out);
  }

 protected:
  absl::Status SaveInternal(data::SerializationContext*,
                            data::IteratorStateWriter* writer) override {
    absl::MutexLock lock(&mu_);
    return writer->WriteScalar(prefix(), kNext, next_);
  }

  absl::Status RestoreInternal(data::IteratorContext*,
                               data::IteratorStateReader* reader) override {
    int64_t next = 0;
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), kNext, &next));
    const Args& args = dataset()->args_;
    if (next < args.first() || next > args.last) {
      return absl::InvalidArgumentError("the state is not one of this dataset");
    }
    absl::MutexLock lock(&mu_);
    next_ = next;
    buffer_.erase(buffer_.begin(), buffer_.lower_bound(next));
    return absl::OkStatus();
  }

 private:
  // Wait takes the next block out of the buffer, or says that it is to be made
  // here.
  absl::Status Wait(data::IteratorContext* ctx, int64_t* block, bool* here,
                    std::vector<Tensor>* out, bool* end_of_sequence) {
    const Args& args = dataset()->args_;
    absl::MutexLock lock(&mu_);
    Start(ctx);
    const absl::Duration patience = absl::Milliseconds(args.wait_ms);
    for (;; changed_.WaitWithDeadline(&mu_, arrived_ + patience)) {
      if (cancelled_) return absl::CancelledError("the iterator was cancelled");
      *block = next_;
      *end_of_sequence = next_ >= args.last;
      if (*end_of_sequence) return absl::OkStatus();
      if (const auto found = buffer_.find(next_); found != buffer_.end()) {
        *out = std::move(found->second);
        buffer_.erase(found);
        changed_.SignalAll();
        return absl::OkStatus();
      }
      TF_RETURN_IF_ERROR(failure_);
      *here = ended_ || static_cast<int64_t>(buffer_.size()) >= args.most ||
              absl::Now() >= arrived_ + patience;
      if (*here) return absl::OkStatus();
    }
  }

  // Start starts the thread that takes blocks from the service.
  void Start(data::IteratorContext* ctx) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (thread_ != nullptr) return;
    arrived_ = absl::Now();
    data::IteratorContext::Params params(ctx);
    params.cancellation_manager = &cancellation_;
    own_ = std::make_unique<data::IteratorContext>(std::move(params));
    thread_ = ctx->StartThread("millrace_blocks", [this] { Receive(); });
  }

  // Receive takes blocks from the service until it ends.
  void Receive() {
    for (;;) {
      {
        absl::MutexLock lock(&mu_);
        while (!cancelled_ &&
               static_cast<int64_t>(buffer_.size()) >= dataset()->args_.most) {
          changed_.Wait(&mu_);
        }
        if (cancelled_) return;
      }
      std::vector<Tensor> element;
      bool end = false;
      const absl::Status s = input_->GetNext(own_.get(), &element, &end);
      absl::MutexLock lock(&mu_);
      if (s.ok() && !end) {
        if (Put(std::move(element))) continue;
      } else if (!s.ok() && !OfData(s)) {
        failure_ = s;
      }
      ended_ = true;
      changed_.SignalAll();
      return;
    }
  }

  // OfData reports whether the data may be the cause of a failure of a worker.
  // That ends the service's job, but not the run: the failure comes again where
  // this process makes the block, in its place.
  static bool OfData(const absl::Status& s) {
    return absl::IsInvalidArgument(s) || absl::IsDataLoss(s) ||
           absl::IsFailedPrecondition(s) ||
           absl::StrContains(s.message(), kFault);
  }

  // Put adds an element of the service to the buffer, unless its block was
  // delivered. It returns false for an element that is not a block.
  bool Put(std::vector<Tensor> element) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (element.empty() || element[0].dtype() != DT_INT64 ||
        element[0].NumElements() != 1) {
      failure_ = absl::InternalError("the service gave no number of a block");
      return false;
    }
    const int64_t block = element[0].flat<int64_t>()(0);
    element.erase(element.begin());
    arrived_ = absl::Now();
    counts().received.fetch_add(1);
    if (block < next_ || block >= dataset()->args_.last ||
        !buffer_.emplace(block, std::move(element)).second) {
      counts().dropped.fetch_add(1);
    }
    changed_.SignalAll();
    return true;
  }

  // Check returns an error unless the components fit the dataset.
  absl::Status Check(const std::vector<Tensor>& block) const {
    const DataTypeVector& types = dataset()->output_dtypes();
    bool right = block.size() == types.size();
    for (size_t i = 0; right && i < types.size(); ++i) {
      right = block[i].dtype() == types[i] && block[i].dims() > 0 &&
              block[i].dim_size(0) == block[0].dim_size(0) &&
              dataset()->output_shapes()[i].IsCompatibleWith(block[i].shape());
    }
    return right ? absl::OkStatus()
                 : absl::InternalError("a block has other tensors");
  }

  // SkipRows removes the rows of the first block that are before the start.
  absl::Status SkipRows(int64_t block, std::vector<Tensor>* out) const {
    const Args& args = dataset()->args_;
    const int64_t skip = args.start - block * args.rows;
    if (skip <= 0) return absl::OkStatus();
    for (Tensor& t : *out) {
      if (t.dim_size(0) < skip) {
        return absl::InternalError("a block has too few rows");
      }
      t = tensor::DeepCopy(t.Slice(skip, t.dim_size(0)));
    }
    return absl::OkStatus();
  }

  void Cancel() {
    cancellation_.StartCancel();
    absl::MutexLock lock(&mu_);
    cancelled_ = true;
    changed_.SignalAll();
  }

  CancellationManager cancellation_;  // the input's
  std::function<void()> deregister_;
  std::unique_ptr<data::InstantiatedCapturedFunction> function_;
  std::unique_ptr<data::IteratorBase> input_;
  std::unique_ptr<data::IteratorContext> own_;

  absl::Mutex getting_ ABSL_ACQUIRED_BEFORE(mu_);  // held by the caller
  absl::Mutex mu_;
  absl::CondVar changed_;
  std::map<int64_t, std::vector<Tensor>> buffer_ ABSL_GUARDED_BY(mu_);
  int64_t next_ ABSL_GUARDED_BY(mu_);
  absl::Time arrived_ ABSL_GUARDED_BY(mu_);  // when the last block came
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  std::unique_ptr<Thread> thread_;  // the last member: it uses the others
};

class GatherBlocksDatasetOp : public data::UnaryDatasetOpKernel {
 public:
  explicit GatherBlocksDatasetOp(OpKernelConstruction* ctx)
      : UnaryDatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("output_types", &types_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("output_shapes", &shapes_));
    OP_REQUIRES_OK(ctx, RecordJudge::Read(ctx, &function_));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, data::DatasetBase* input,
                   data::DatasetBase** output) override {
    Args args;
    const auto read = [&](const char* name, int64_t least, int64_t* to) {
      TF_RETURN_IF_ERROR(data::ParseScalarArgument(ctx, name, to));
      return CheckRange(name, *to, least, INT64_MAX / 2);
    };
    OP_REQUIRES_OK(ctx, read(kBlockRows, 1, &args.rows));
    OP_REQUIRES_OK(ctx, read(kStart, 0, &args.start));
    OP_REQUIRES_OK(ctx, read(kLast, 0, &args.last));
    OP_REQUIRES_OK(ctx, read(kMostBuffered, 1, &args.most));
    OP_REQUIRES_OK(ctx, read(kWaitMs, 0, &args.wait_ms));
    args.last = std::max(args.last, args.first());
    GatherBlocksDataset::Function function;
    OP_REQUIRES_OK(ctx, RecordJudge::Create(ctx, function_, &function));
    *output = new GatherBlocksDataset(ctx, types_, shapes_, input, args,
                                      std::move(function));
  }

 private:
  DataTypeVector types_;
  std::vector<PartialTensorShape> shapes_;
  std::shared_ptr<data::FunctionMetadata> function_;
};

// LibraryName returns the file name of this library, which has its digest.
std::string LibraryName() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&LibraryName), &info) == 0 ||
      info.dli_fname == nullptr) {
    return "";
  }
  const std::string path = info.dli_fname;
  return path.substr(path.find_last_of('/') + 1);
}

class ServiceReportOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* ctx) override {
    const Tensor& names = ctx->input(0);
    const Tensor& sizes = ctx->input(1);
    OP_REQUIRES(ctx, names.dims() == 1 && sizes.shape() == names.shape(),
                absl::InvalidArgumentError("want a size for each file"));
    std::string wrong;
    for (int64_t i = 0; i < names.NumElements() && wrong.empty(); ++i) {
      wrong = Look(names.vec<tstring>()(i), sizes.vec<int64_t>()(i));
    }
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    Tensor* report = nullptr;
    OP_REQUIRES_OK(ctx, ctx->allocate_output(0, TensorShape({3}), &report));
    auto text = report->vec<tstring>();
    text(0) = absl::StrCat(host, ", process ", getpid());
    text(1) = LibraryName();
    text(2) = wrong;
  }

 private:
  // Look returns what is wrong with a file, "" for nothing.
  static std::string Look(const std::string& path, int64_t size) {
    struct stat info;
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || fstat(file, &info) != 0) {
      const int cause = errno;
      if (file >= 0) close(file);
      return absl::StrCat(path, ": ", strerror(cause));
    }
    close(file);
    if (info.st_size != size) {
      return absl::StrCat(path, ": ", info.st_size, " bytes, and ", size,
                          " where the plan was made");
    }
    return "";
  }
};

REGISTER_KERNEL_BUILDER(Name("MillraceGatherBlocksDataset").Device(DEVICE_CPU),
                        GatherBlocksDatasetOp);
REGISTER_KERNEL_BUILDER(Name("MillraceServiceReport").Device(DEVICE_CPU),
                        ServiceReportOp);

}  // namespace
}  // namespace millrace

// MillraceBlockCounts returns how many blocks came from services, were made
// here, and were dropped because they came twice.
extern "C" __attribute__((visibility("default"))) void MillraceBlockCounts(
    int64_t counts[3]) {
  const millrace::Counts& c = millrace::counts();
  counts[0] = c.received.load();
  counts[1] = c.made.load();
  counts[2] = c.dropped.load();
}
