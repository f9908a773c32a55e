// What the kernels of our dataset ops share: inputs, and the end of a run.
#ifndef MILLRACE_CGO_DATASETS_DATASET_OP_H_
#define MILLRACE_CGO_DATASETS_DATASET_OP_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace millrace {

constexpr char kFilenames[] = "filenames";
constexpr char kCounts[] = "counts";
constexpr char kBatchSize[] = "batch_size";
constexpr char kEpochs[] = "epochs";
constexpr char kDropRemainder[] = "drop_remainder";
constexpr char kBufferBytes[] = "buffer_bytes";
constexpr int64_t kMaxBuffer = int64_t{1} << 30;

// FileInputs are the inputs of the ops that read files. What is in range is
// for the op to say.
struct FileInputs {
  std::vector<tensorflow::tstring> filenames;
  std::vector<int64_t> counts;
  int64_t batch_size = 0;
  int64_t epochs = 0;
  bool drop_remainder = false;
  int64_t buffer_bytes = 0;

  absl::Status Read(tensorflow::OpKernelContext* ctx) {
    using tensorflow::data::ParseScalarArgument;
    using tensorflow::data::ParseVectorArgument;
    TF_RETURN_IF_ERROR(ParseVectorArgument(ctx, kFilenames, &filenames));
    TF_RETURN_IF_ERROR(ParseVectorArgument(ctx, kCounts, &counts));
    TF_RETURN_IF_ERROR(ParseScalarArgument(ctx, kBatchSize, &batch_size));
    TF_RETURN_IF_ERROR(ParseScalarArgument(ctx, kEpochs, &epochs));
    TF_RETURN_IF_ERROR(
        ParseScalarArgument(ctx, kDropRemainder, &drop_remainder));
    return ParseScalarArgument(ctx, kBufferBytes, &buffer_bytes);
  }
};

// CheckCancelled fails if nobody waits for the iterator any more.
inline absl::Status CheckCancelled(tensorflow::data::IteratorContext* ctx) {
  if (ctx->cancellation_manager() != nullptr &&
      ctx->cancellation_manager()->IsCancelled()) {
    return absl::CancelledError("the iterator was cancelled");
  }
  return absl::OkStatus();
}

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_DATASET_OP_H_
