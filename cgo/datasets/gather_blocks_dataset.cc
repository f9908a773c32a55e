// MillraceGatherBlocksDataset takes blocks that the workers of a data service
// made, and yields each once.
//
// A block is a number and the rows of that part of an order. A service gives
// each block once if its workers live, and loses the blocks of a worker that
// dies. Blocks arrive in any order. Where they are put in their order a slow
// worker delays all that come after its own; with any_order they come as they
// arrive.
//
//	service ── thread ── buffer {7, 9, 10} ── next is 6: wait for it,
//	                                          or make it here
//
// A function makes a block in this process. It is called for the next block if
// that is not in the buffer, and
//
//	the service has ended: the block was lost;
//	the buffer is full, or as many came before the block: a slow worker;
//	nothing has arrived for a while: all workers are gone.
//
// So a block comes once whatever happens to the workers. One that arrives later
// is dropped. The last component of an element is the positions of its rows, by
// which a run knows where it is if blocks come in any order.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
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
#include "block_progress.h"
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
constexpr char kMissing[] = "missing";
constexpr char kAnyOrder[] = "any_order";
constexpr char kFrontier[] = "frontier";
constexpr char kPassed[] = "passed";

// kFarAhead is by how many blocks one may be after all that came before it: far
// more than workers draw at a time. It bounds the blocks that are remembered.
constexpr int64_t kFarAhead = 1 << 20;

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
  bool any_order = false;
  std::vector<int64_t>
      missing;  // begin and end of each part, see BlockProgress

  // Progress returns the state at the start.
  BlockProgress Progress() const {
    std::vector<RowRange> parts;
    for (size_t i = 0; i + 1 < missing.size(); i += 2) {
      parts.emplace_back(missing[i], missing[i + 1]);
    }
    return BlockProgress(rows, start, std::move(parts));
  }

  // Check returns an error unless the parts are ascending, before the start.
  absl::Status Check() const {
    bool right = missing.size() % 2 == 0 &&
                 std::is_sorted(missing.begin(), missing.end());
    right = right &&
            (missing.empty() || (missing[0] >= 0 && missing.back() <= start));
    return right
               ? absl::OkStatus()
               : absl::InvalidArgumentError(
                     "the missing parts are not ascending, or after the start");
  }
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
    const BlockProgress begin = args_.Progress();
    return std::max<int64_t>(args_.last - begin.Frontier(), 0) +
           static_cast<int64_t>(begin.Passed().size());
  }

 protected:
  absl::Status AsGraphDefInternal(data::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  Node** output) const override {
    Node *in = nullptr, *rows = nullptr, *start = nullptr, *last = nullptr,
         *most = nullptr, *wait = nullptr, *missing = nullptr;
    TF_RETURN_IF_ERROR(b->AddInputDataset(ctx, input(), &in));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.rows, &rows));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.start, &start));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.last, &last));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.most, &most));
    TF_RETURN_IF_ERROR(b->AddScalar(args_.wait_ms, &wait));
    TF_RETURN_IF_ERROR(b->AddVector(args_.missing, &missing));
    std::vector<Node*> captures;
    DataTypeVector types;
    TF_RETURN_IF_ERROR(function_->AddToGraph(ctx, b, &captures, &types));
    return b->AddDataset(this,
                         {{0, in},
                          {1, rows},
                          {2, start},
                          {3, last},
                          {4, most},
                          {5, wait},
                          {6, missing}},
                         {{7, captures}},
                         {{kJudge, b->BuildAttrValue(function_->func())},
                          {"Targuments", b->BuildAttrValue(types)},
                          {kAnyOrder, b->BuildAttrValue(args_.any_order)}},
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
        progress_(dataset()->args_.Progress()) {}

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
    bool cut = false;
    while (!cut && !*end_of_sequence) {
      TF_RETURN_IF_ERROR(Take(ctx, out, &cut, end_of_sequence));
    }
    return absl::OkStatus();
  }

 protected:
  absl::Status SaveInternal(data::SerializationContext*,
                            data::IteratorStateWriter* writer) override {
    absl::MutexLock lock(&mu_);
    TF_RETURN_IF_ERROR(
        writer->WriteScalar(prefix(), kFrontier, progress_.Frontier()));
    const std::set<int64_t>& passed = progress_.Passed();
    Tensor list(DT_INT64, TensorShape({static_cast<int64_t>(passed.size())}));
    std::copy(passed.begin(), passed.end(), list.flat<int64_t>().data());
    return writer->WriteTensor(prefix(), kPassed, list);
  }

  absl::Status RestoreInternal(data::IteratorContext*,
                               data::IteratorStateReader* reader) override {
    int64_t frontier = 0;
    Tensor list;
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), kFrontier, &frontier));
    TF_RETURN_IF_ERROR(reader->ReadTensor(prefix(), kPassed, &list));
    if (frontier < 0 || frontier > dataset()->args_.last ||
        list.dtype() != DT_INT64 || list.dims() != 1) {
      return absl::InvalidArgumentError("the state is not one of this dataset");
    }
    const auto blocks = list.vec<int64_t>();
    std::set<int64_t> passed(blocks.data(), blocks.data() + blocks.size());
    absl::MutexLock lock(&mu_);
    progress_.Restore(frontier, std::move(passed));
    for (auto i = buffer_.begin(); i != buffer_.end();) {
      i = progress_.Wanted(i->first) ? std::next(i) : buffer_.erase(i);
    }
    return absl::OkStatus();
  }

 private:
  // Take takes one block. cut says whether any of its rows come: none of the
  // last block's do if a run continues at the end of the order.
  absl::Status Take(data::IteratorContext* ctx, std::vector<Tensor>* out,
                    bool* cut, bool* end_of_sequence) {
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
    std::vector<RowRange> parts;
    {
      absl::MutexLock lock(&mu_);
      parts = progress_.Rows(block);
      progress_.Deliver(block);
      changed_.SignalAll();
    }
    return Cut(block, parts, out, cut);
  }

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
      *block = progress_.Next();
      *end_of_sequence = *block >= args.last;
      if (*end_of_sequence) return absl::OkStatus();
      const bool early = args.any_order && progress_.Ahead() < args.most;
      auto found = buffer_.find(*block);
      if (found == buffer_.end() && early) found = buffer_.begin();
      if (found != buffer_.end()) {
        *block = found->first;
        *out = std::move(found->second);
        buffer_.erase(found);
        changed_.SignalAll();
        return absl::OkStatus();
      }
      TF_RETURN_IF_ERROR(failure_);
      *here = ended_ || static_cast<int64_t>(buffer_.size()) >= args.most ||
              (args.any_order && !early) || absl::Now() >= arrived_ + patience;
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
      } else if (!s.ok() && !OfData(s) && !Gone(s)) {
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

  // Gone reports whether a failure means that the service's servers are out of
  // reach. This process makes the blocks then.
  static bool Gone(const absl::Status& s) {
    return absl::IsUnavailable(s) || absl::IsDeadlineExceeded(s);
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
    if (!progress_.Wanted(block) || block >= dataset()->args_.last ||
        block - progress_.Frontier() > kFarAhead ||
        !buffer_.emplace(block, std::move(element)).second) {
      counts().dropped.fetch_add(1);
    }
    changed_.SignalAll();
    return true;
  }

  // Check returns an error unless the components fit the dataset.
  absl::Status Check(const std::vector<Tensor>& block) const {
    const DataTypeVector& types = dataset()->output_dtypes();
    bool right = block.size() + 1 == types.size() && !block.empty();
    for (size_t i = 0; right && i < block.size(); ++i) {
      right = block[i].dtype() == types[i] && block[i].dims() > 0 &&
              block[i].dim_size(0) == block[0].dim_size(0) &&
              block[i].dim_size(0) <= dataset()->args_.rows &&
              dataset()->output_shapes()[i].IsCompatibleWith(block[i].shape());
    }
    return right ? absl::OkStatus()
                 : absl::InternalError("a block has other tensors");
  }

  // Cut leaves the parts of a block that come, and adds their positions.
  absl::Status Cut(int64_t block, const std::vector<RowRange>& parts,
                   std::vector<Tensor>* out, bool* cut) const {
    const int64_t rows = out->front().dim_size(0);
    const int64_t begin = block * dataset()->args_.rows;
    std::vector<RowRange> there;
    for (const RowRange& part : parts) {
      const int64_t end = std::min(part.second, rows);
      if (part.first < end) there.emplace_back(part.first, end);
    }
    *cut = !there.empty();
    if (!*cut) return absl::OkStatus();
    if (there.front() != RowRange(0, rows)) {
      for (Tensor& t : *out) {
        std::vector<Tensor> pieces;
        for (const RowRange& part : there) {
          pieces.push_back(t.Slice(part.first, part.second));
        }
        TF_RETURN_IF_ERROR(tensor::Concat(pieces, &t));
      }
    }
    Tensor positions(DT_INT64, TensorShape({out->front().dim_size(0)}));
    int64_t* at = positions.flat<int64_t>().data();
    for (const RowRange& part : there) {
      for (int64_t i = part.first; i < part.second; ++i) *at++ = begin + i;
    }
    out->push_back(std::move(positions));
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
  BlockProgress progress_ ABSL_GUARDED_BY(mu_);
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
    OP_REQUIRES_OK(ctx, ctx->GetAttr(kAnyOrder, &any_order_));
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
    OP_REQUIRES_OK(ctx,
                   data::ParseVectorArgument(ctx, kMissing, &args.missing));
    OP_REQUIRES_OK(ctx, args.Check());
    args.any_order = any_order_;
    GatherBlocksDataset::Function function;
    OP_REQUIRES_OK(ctx, RecordJudge::Create(ctx, function_, &function));
    *output = new GatherBlocksDataset(ctx, types_, shapes_, input, args,
                                      std::move(function));
  }

 private:
  DataTypeVector types_;
  std::vector<PartialTensorShape> shapes_;
  bool any_order_ = false;
  std::shared_ptr<data::FunctionMetadata> function_;
};

REGISTER_KERNEL_BUILDER(Name("MillraceGatherBlocksDataset").Device(DEVICE_CPU),
                        GatherBlocksDatasetOp);

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
