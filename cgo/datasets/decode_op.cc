// MillraceDecodeExamples decodes a vector of serialized Examples within a
// graph, in place of TensorFlow's parser. MillraceDecodeSequences does the same
// for records with lists.
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "batch_form.h"
#include "record_origin.h"
#include "status.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

class DecodeOp : public OpKernel {
 public:
  explicit DecodeOp(OpKernelConstruction* ctx) : OpKernel(ctx) {
    OP_REQUIRES_OK(ctx, form_.Read(ctx));
    OP_REQUIRES_OK(ctx, ctx->GetAttr(kPlaced, &placed_));
  }

  void Compute(OpKernelContext* ctx) override {
    BatchForm form;
    RecordOrigin origin;
    OP_REQUIRES_OK(ctx, form_.WithInputs(ctx, &form));
    OP_REQUIRES_OK(ctx, ReadOrigin(ctx, placed_, &origin));
    const Tensor* serialized;
    OP_REQUIRES_OK(ctx, ctx->input("serialized", &serialized));
    OP_REQUIRES(ctx, serialized->dims() == 1,
                absl::InvalidArgumentError("serialized must be a vector"));
    std::vector<Tensor> out;
    OP_REQUIRES_OK(ctx, Decode(ctx->get_allocator(AllocatorAttributes()), form,
                               origin, serialized->vec<tstring>(), &out));
    for (size_t i = 0; i < out.size(); ++i) {
      ctx->set_output(static_cast<int>(i), out[i]);
    }
  }

 private:
  static absl::Status Decode(Allocator* allocator, const BatchForm& form,
                             const RecordOrigin& origin,
                             TTypes<const tstring>::Vec records,
                             std::vector<Tensor>* out) {
    const std::unique_ptr<Batcher> batcher = form.NewBatcher();
    TF_RETURN_IF_ERROR(batcher->Begin(allocator, records.size()));
    for (int64_t i = 0; i < records.size(); ++i) {
      TF_RETURN_IF_ERROR(AddRecord(
          origin, {records(i).data(), records(i).size()}, i, i, batcher.get()));
    }
    return batcher->Finish(allocator, records.size(), out);
  }

  BatchForm form_;
  bool placed_;
};

REGISTER_KERNEL_BUILDER(Name("MillraceDecodeExamples").Device(DEVICE_CPU),
                        DecodeOp);
REGISTER_KERNEL_BUILDER(Name("MillraceDecodeSequences").Device(DEVICE_CPU),
                        DecodeOp);

}  // namespace
}  // namespace millrace
