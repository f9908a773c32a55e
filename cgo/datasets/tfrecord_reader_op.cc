// MillraceTFRecordReader reads TFRecord files whose names come from a queue, in
// place of TensorFlow's TFRecordReaderV2, which ends the process for a record
// header that claims too much. MillraceReaderRead and MillraceReaderReadUpTo
// read its records in the thread of the run.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "dataset_base.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/reader_op_kernel.h"
#include "tensorflow/core/platform/threadpool.h"
#include "tfrecord_reader.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

class TFRecordReaderOp : public ReaderOpKernel {
 public:
  explicit TFRecordReaderOp(OpKernelConstruction* ctx) : ReaderOpKernel(ctx) {
    Format format;
    OP_REQUIRES_OK(ctx, ReadFormat(ctx, &format));
    SetReaderFactory(
        [this, format] { return new TFRecordReader(name(), format); });
  }
};

REGISTER_KERNEL_BUILDER(Name("MillraceTFRecordReader").Device(DEVICE_CPU),
                        TFRecordReaderOp);

// Records are the results of a read.
class Records {
 public:
  void Add(std::string key, std::string_view record) {
    keys_.push_back(std::move(key));
    values_.emplace_back(record);
  }

  // Return makes the records the outputs of the operation.
  absl::Status Return(OpKernelContext* ctx, const TensorShape& shape) {
    Tensor* keys = nullptr;
    TF_RETURN_IF_ERROR(ctx->allocate_output("keys", shape, &keys));
    Tensor* values = nullptr;
    TF_RETURN_IF_ERROR(ctx->allocate_output("values", shape, &values));
    for (size_t i = 0; i < keys_.size(); ++i) {
      keys->flat<tstring>()(i) = std::move(keys_[i]);
      values->flat<tstring>()(i) = std::move(values_[i]);
    }
    return absl::OkStatus();
  }

  int64_t size() const { return static_cast<int64_t>(keys_.size()); }

 private:
  std::vector<tstring> keys_, values_;
};

// ReadOp reads in the calling thread, or in a separate one if it has to wait
// for the name of a file.
class ReadOp : public AsyncOpKernel {
 public:
  explicit ReadOp(OpKernelConstruction* ctx)
      : AsyncOpKernel(ctx),
        up_to_(ctx->num_inputs() == 3),
        waiting_(ctx->env(), "millrace_reader", 1) {}

  void ComputeAsync(OpKernelContext* ctx, DoneCallback done) override {
    int64_t n = 1;
    if (up_to_) {
      const Tensor& limit = ctx->input(2);
      OP_REQUIRES_ASYNC(
          ctx, limit.dims() == 0 && limit.scalar<int64_t>()() >= 0,
          absl::InvalidArgumentError(
              "num_records must be a scalar that is not negative"),
          done);
      n = limit.scalar<int64_t>()();
    }
    core::RefCountPtr<ReaderInterface> found;
    OP_REQUIRES_OK_ASYNC(
        ctx, LookupResource(ctx, HandleFromInput(ctx, 0), &found), done);
    auto* reader = dynamic_cast<TFRecordReader*>(found.get());
    OP_REQUIRES_ASYNC(
        ctx, reader != nullptr,
        absl::InvalidArgumentError("the reader is no MillraceTFRecordReader"),
        done);
    Records records;
    const auto take = [&](std::string key, std::string_view record) {
      records.Add(std::move(key), record);
    };
    absl::Status status;
    if (reader->TryRead(n, take, &status)) {
      if (status.ok()) status = Return(ctx, &records);
      OP_REQUIRES_OK_ASYNC(ctx, status, done);
      done();
      return;
    }
    found.release();  // Wait owns it
    waiting_.Schedule([this, ctx, reader, n, done = std::move(done)] {
      OP_REQUIRES_OK_ASYNC(ctx, Wait(ctx, reader, n), done);
      done();
    });
  }

 private:
  // Wait is the read that waits for the name of a file. It takes over a
  // reference to the reader.
  absl::Status Wait(OpKernelContext* ctx, TFRecordReader* reader,
                    int64_t n) const {
    const core::ScopedUnref unref(reader);
    core::RefCountPtr<QueueInterface> queue;
    TF_RETURN_IF_ERROR(LookupResource(ctx, HandleFromInput(ctx, 1), &queue));
    Records records;
    TF_RETURN_IF_ERROR(reader->ReadOn(
        n, queue.get(), ctx, [&](std::string key, std::string_view record) {
          records.Add(std::move(key), record);
        }));
    return Return(ctx, &records);
  }

  absl::Status Return(OpKernelContext* ctx, Records* records) const {
    return records->Return(
        ctx, up_to_ ? TensorShape({records->size()}) : TensorShape({}));
  }

  const bool up_to_;
  thread::ThreadPool waiting_;
};

REGISTER_KERNEL_BUILDER(Name("MillraceReaderRead").Device(DEVICE_CPU), ReadOp);
REGISTER_KERNEL_BUILDER(Name("MillraceReaderReadUpTo").Device(DEVICE_CPU),
                        ReadOp);

}  // namespace
}  // namespace millrace
