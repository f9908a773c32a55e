// MillraceCheckMedia checks images and sounds before an operation of TensorFlow
// decodes them.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "external/zlib/zlib.h"
#include "media_check.h"
#include "status.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr int64_t kMostRatio = 1032;  // the maximum of deflate

// Inflated returns the inflated size of a deflated stream, or a number above a
// limit. Bytes that zlib cannot inflate count with its maximum ratio.
int64_t Inflated(std::string_view deflated, int64_t limit) {
  constexpr size_t kRoom = 16 << 10;
  z_stream stream = {};
  if (inflateInit2(&stream, -15) != Z_OK) return INT64_MAX;
  char room[kRoom];
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(deflated.data()));
  stream.avail_in =
      static_cast<uInt>(std::min<size_t>(deflated.size(), UINT32_MAX));
  int64_t n = 0;
  int result = Z_OK;
  while (n <= limit && result == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(room);
    const int64_t room_left = std::min<int64_t>(kRoom, limit - n + 1);
    stream.avail_out = static_cast<uInt>(room_left);
    result = inflate(&stream, Z_NO_FLUSH);
    n += room_left - static_cast<int64_t>(stream.avail_out);
  }
  if (result == Z_DATA_ERROR) n += (int64_t{stream.avail_in} + 1) * kMostRatio;
  inflateEnd(&stream);
  return n;
}

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
    spec_.inflated = Inflated;
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
