// MillraceRecordLengths reads the lengths of the records of plain local files,
// for the operations that read records in a computed order.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "dataset_base.h"
#include "record_lengths.h"
#include "status.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "worker_pool.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr int64_t kThreads = 8;

class RecordLengthsOp : public OpKernel {
 public:
  explicit RecordLengthsOp(OpKernelConstruction* ctx) : OpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ReadSkipped(ctx, &skipped_));
  }

  void Compute(OpKernelContext* ctx) override {
    const Tensor *names, *counts;
    OP_REQUIRES_OK(ctx, ctx->input(kFilenames, &names));
    OP_REQUIRES_OK(ctx, ctx->input(kCounts, &counts));
    OP_REQUIRES(
        ctx, names->dims() == 1 && counts->shape() == names->shape(),
        absl::InvalidArgumentError("want vectors of filenames and counts"));
    std::vector<std::string> paths;
    std::vector<int64_t> starts = {0};
    for (int64_t i = 0; i < names->NumElements(); ++i) {
      const int64_t count = counts->vec<int64_t>()(i);
      paths.emplace_back(names->vec<tstring>()(i));
      Fault fault;
      OP_REQUIRES(ctx, HoldsRecords(paths.back(), count, &fault),
                  ToStatus(fault));
      starts.push_back(starts.back() + count);
    }
    Tensor* lengths = nullptr;
    OP_REQUIRES_OK(
        ctx, ctx->allocate_output(0, TensorShape({starts.back()}), &lengths));
    OP_REQUIRES_OK(
        ctx, ReadAll(ctx, paths, starts, lengths->vec<uint32_t>().data()));
  }

 private:
  // ReadAll reads several files at the same time. The first faulty one, in
  // their order, is the failure.
  absl::Status ReadAll(OpKernelContext* ctx,
                       const std::vector<std::string>& paths,
                       const std::vector<int64_t>& starts,
                       uint32_t* lengths) const {
    CancellationManager* const manager = ctx->cancellation_manager();
    const auto cancelled = [manager] {
      return manager != nullptr && manager->IsCancelled();
    };
    std::vector<Fault> faults(paths.size());
    std::atomic<size_t> faulty{paths.size()};
    const auto read = [&](size_t i) {
      if (i > faulty) return;
      if (!ReadLengths(paths[i], starts[i + 1] - starts[i], lengths + starts[i],
                       cancelled, skipped_, static_cast<int64_t>(i),
                       &faults[i])) {
        size_t first = faulty;
        while (i < first && !faulty.compare_exchange_weak(first, i)) {
        }
      }
    };
    WorkerPool(kThreads).Run(paths.size(), read);
    return faulty < paths.size() ? ToStatus(faults[faulty]) : absl::OkStatus();
  }

  SkippedRecords skipped_;
};

REGISTER_KERNEL_BUILDER(Name("MillraceRecordLengths").Device(DEVICE_CPU),
                        RecordLengthsOp);

}  // namespace
}  // namespace millrace
