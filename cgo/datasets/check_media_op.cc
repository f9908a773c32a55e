// MillraceCheckMedia checks images and sounds before an operation of TensorFlow
// decodes them.
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "inflated_size.h"
#include "media_check.h"
#include "status.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

class CheckMediaOp : public OpKernel {
 public:
  explicit CheckMediaOp(OpKernelConstruction* ctx) : OpKernel(ctx) {
    std::string decoder;
    DataType type;
    OP_REQUIRES_OK(ctx, ctx->GetAttr("step", &step_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("decoder", &decoder));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("dtype", &type));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("channels", &spec_.channels));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("first", &spec_.first));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("limit", &spec_.limit));
    spec_.sound = decoder == "DecodeWav";
    spec_.value_size = DataTypeSize(type);
    spec_.inflated = InflatedSize;
  }

  void Compute(OpKernelContext* ctx) override {
    const Tensor& contents = ctx->input(0);
    const auto all = contents.flat<tstring>();
    for (int64_t i = 0; i < all.size(); ++i) {
      Fault fault;
      OP_REQUIRES(
          ctx, CheckMedia(spec_, all(i), &fault),
          absl::InvalidArgumentError(absl::StrCat(step_, ": ", fault.what)));
    }
    ctx->set_output(0, contents);
  }

 private:
  std::string step_;
  MediaSpec spec_;
};

REGISTER_KERNEL_BUILDER(Name("MillraceCheckMedia").Device(DEVICE_CPU),
                        CheckMediaOp);

}  // namespace
}  // namespace millrace
