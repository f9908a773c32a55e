// MillraceImages makes a batch of images of their bytes: it decodes them, of a
// JPEG no more than a part, resizes, mirrors and normalizes them.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "image_resize.h"
#include "inflated_size.h"
#include "inner_kernel.h"
#include "media_check.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/util/work_sharder.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

// JPEG stores colours at half the resolution, so a pixel at an edge has its
// colour from pixels on both sides of the edge. That many pixels around a part
// are decoded with it, and the values equal the whole image.
constexpr int32_t kMargin = 4;

// About what an image takes, in cycles of the processor. It makes the threads
// share the images of a batch.
constexpr int64_t kCycles = 1'000'000;

// Box is a part of an image.
struct Box {
  int32_t top = 0, left = 0, height = 0, width = 0;
};

// Decoded is a decoded image, or a part of one with more around it.
struct Decoded {
  Tensor pixels;  // owns the memory
  Pixels part;
};

Tensor Vector(std::initializer_list<int32_t> list) {
  Tensor t(DT_INT32, TensorShape({static_cast<int64_t>(list.size())}));
  std::copy(list.begin(), list.end(), t.flat<int32_t>().data());
  return t;
}

// Decoders are the kernels of TensorFlow that decode images, or draw what
// becomes of them.
class Decoders {
 public:
  absl::Status Make(OpKernelConstruction* ctx, int64_t channels) {
    channels_ = channels;
    TF_RETURN_IF_ERROR(Inner(ctx, "DecodeImage",
                             NodeDefBuilder("whole", "DecodeImage")
                                 .Input("contents", 0, DT_STRING)
                                 .Attr("channels", channels)
                                 .Attr("dtype", DT_UINT8)
                                 .Attr("expand_animations", false),
                             &whole_));
    TF_RETURN_IF_ERROR(Inner(ctx, "ExtractJpegShape",
                             NodeDefBuilder("shape", "ExtractJpegShape")
                                 .Input("contents", 0, DT_STRING)
                                 .Attr("output_type", DT_INT32),
                             &shape_));
    return Inner(ctx, "DecodeAndCropJpeg",
                 NodeDefBuilder("part", "DecodeAndCropJpeg")
                     .Input("contents", 0, DT_STRING)
                     .Input("window", 0, DT_INT32)
                     .Attr("channels", channels),
                 &part_);
  }

  // Makes the kernel that draws a part of an image.
  absl::Status MakeDraw(OpKernelConstruction* ctx,
                        const std::vector<float>& scale,
                        const std::vector<float>& ratio) {
    boxes_ = Tensor(DT_FLOAT, TensorShape({1, 1, 4}));
    auto box = boxes_.flat<float>();
    box(0) = box(1) = 0;
    box(2) = box(3) = 1;
    covered_ = Tensor(DT_FLOAT, TensorShape({}));
    covered_.scalar<float>()() = 0;
    return Inner(ctx, "StatelessSampleDistortedBoundingBox",
                 NodeDefBuilder("box", "StatelessSampleDistortedBoundingBox")
                     .Input("image_size", 0, DT_INT32)
                     .Input("bounding_boxes", 0, DT_FLOAT)
                     .Input("min_object_covered", 0, DT_FLOAT)
                     .Input("seed", 0, DT_INT64)
                     .Attr("aspect_ratio_range", ratio)
                     .Attr("area_range", scale)
                     .Attr("max_attempts", 100)
                     .Attr("use_image_if_no_bounding_boxes", true),
                 &box_);
  }

  // Draws a part of an image.
  absl::Status Draw(OpKernelContext* ctx, int32_t height, int32_t width,
                    const Tensor& seed, Box* box) const {
    std::vector<Tensor> out;
    TF_RETURN_IF_ERROR(
        box_.Run(ctx,
                 {Vector({height, width, static_cast<int32_t>(channels_)}),
                  boxes_, covered_, seed},
                 &out));
    const auto begin = out[0].flat<int32_t>(), size = out[1].flat<int32_t>();
    *box = {begin(0), begin(1), size(0), size(1)};
    return absl::OkStatus();
  }

  // Reads the size of a JPEG.
  absl::Status Shape(OpKernelContext* ctx, const Tensor& contents,
                     Box* all) const {
    std::vector<Tensor> out;
    TF_RETURN_IF_ERROR(shape_.Run(ctx, {contents}, &out));
    const auto shape = out[0].flat<int32_t>();
    *all = {0, 0, shape(0), shape(1)};
    return absl::OkStatus();
  }

  // Decodes an image.
  absl::Status Whole(OpKernelContext* ctx, const Tensor& contents,
                     Decoded* image) const {
    return Run(whole_, ctx, {contents}, image);
  }

  // Decodes a part of a JPEG whose size is known.
  absl::Status Part(OpKernelContext* ctx, const Tensor& contents,
                    const Box& all, const Box& box, Decoded* image) const {
    const int32_t top = std::max(box.top - kMargin, 0),
                  left = std::max(box.left - kMargin, 0),
                  bottom = std::min(box.top + box.height + kMargin, all.height),
                  right = std::min(box.left + box.width + kMargin, all.width);
    const Tensor window = Vector({top, left, bottom - top, right - left});
    TF_RETURN_IF_ERROR(Run(part_, ctx, {contents, window}, image));
    Cut({box.top - top, box.left - left, box.height, box.width}, image);
    return absl::OkStatus();
  }

  // Takes a part of a decoded image.
  void Cut(const Box& box, Decoded* image) const {
    Pixels& p = image->part;
    p.data += box.top * p.stride + box.left * channels_;
    p.height = box.height;
    p.width = box.width;
  }

 private:
  static absl::Status Inner(OpKernelConstruction* ctx, const char* name,
                            NodeDefBuilder& node, InnerKernel* kernel) {
    const absl::Status s = kernel->Make(ctx, &node);
    if (s.ok()) return s;
    return absl::Status(s.code(), absl::StrCat(name, ": ", s.message()));
  }

  absl::Status Run(const InnerKernel& kernel, OpKernelContext* ctx,
                   std::initializer_list<Tensor> inputs, Decoded* image) const {
    std::vector<Tensor> out;
    TF_RETURN_IF_ERROR(kernel.Run(ctx, inputs, &out));
    const Tensor& t = out[0];
    if (t.dims() != 3 || t.dim_size(2) != channels_ || t.dtype() != DT_UINT8) {
      return absl::InvalidArgumentError(
          absl::StrCat("the image has shape ", t.shape().DebugString(),
                       ", and not ", channels_, " channels"));
    }
    image->pixels = t;
    image->part = {t.flat<uint8_t>().data(), t.dim_size(1) * channels_,
                   t.dim_size(0), t.dim_size(1)};
    return absl::OkStatus();
  }

  int64_t channels_ = 0;
  InnerKernel whole_, shape_, part_, box_;
  Tensor boxes_, covered_;
};

// Augment is what is drawn of a resized image.
enum class Augment { kRows, kColumns, kBrightness };

class ImagesOp : public OpKernel {
 public:
  explicit ImagesOp(OpKernelConstruction* ctx) : OpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("step", &step_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("channels", &spec_.channels));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("limit", &spec_.limit));
    spec_.first = true;
    spec_.inflated = InflatedSize;
    form_.channels = spec_.channels;
    OP_REQUIRES_OK(ctx, ReadForm(ctx));
    OP_REQUIRES_OK(ctx, decoders_.Make(ctx, spec_.channels));
    std::vector<float> scale, ratio;
    OP_REQUIRES_OK(ctx, ctx->GetAttr("scale", &scale));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("ratio", &ratio));
    draws_ = !scale.empty();
    if (draws_) OP_REQUIRES_OK(ctx, decoders_.MakeDraw(ctx, scale, ratio));
    std::vector<std::string> augment;
    OP_REQUIRES_OK(ctx, ctx->GetAttr("augment", &augment));
    for (const std::string& kind : augment) {
      augment_.push_back(kind == "rows"      ? Augment::kRows
                         : kind == "columns" ? Augment::kColumns
                                             : Augment::kBrightness);
    }
    OP_REQUIRES_OK(ctx, ctx->GetAttr("max_delta", &max_delta_));
    OP_REQUIRES_OK(
        ctx,
        chance_.Make(ctx, &NodeDefBuilder("chance", "StatelessRandomUniform")
                               .Input("shape", 0, DT_INT32)
                               .Input("seed", 0, DT_INT64)
                               .Attr("dtype", DT_FLOAT)));
  }

  void Compute(OpKernelContext* ctx) override {
    const Tensor& contents = ctx->input(0);
    const Tensor& seeds = ctx->input(1);
    OP_REQUIRES(ctx, contents.dims() == 1,
                absl::InvalidArgumentError("contents must be a vector"));
    const int64_t n = contents.NumElements();
    const int64_t draws =
        (draws_ ? 1 : 0) + static_cast<int64_t>(augment_.size());
    OP_REQUIRES(ctx, draws == 0 || seeds.shape() == TensorShape({draws, n, 2}),
                absl::InvalidArgumentError(absl::StrCat(
                    "seeds must be pairs of ", draws, " draws for ", n,
                    " images, and have shape ", seeds.shape().DebugString())));
    Tensor* out = nullptr;
    OP_REQUIRES_OK(
        ctx, ctx->allocate_output(
                 0, TensorShape({n, form_.rows, form_.columns, form_.channels}),
                 &out));
    float* to = out->flat<float>().data();

    absl::Mutex mu;
    absl::Status first;  // the failure of the first image that failed
    int64_t failed = n;
    const auto work = [&](int64_t begin, int64_t end) {
      ImageResizer resizer(form_);
      for (int64_t i = begin; i < end; ++i) {
        const absl::Status s =
            One(ctx, contents, seeds, i, &resizer, to + i * form_.size());
        if (s.ok()) continue;
        absl::MutexLock lock(&mu);
        if (i < failed) {
          failed = i;
          first = s;
        }
        return;
      }
    };
    const auto& threads = *ctx->device()->tensorflow_cpu_worker_threads();
    Shard(threads.num_threads, threads.workers, n, kCycles, work);
    OP_REQUIRES(
        ctx, first.ok(),
        absl::Status(first.code(), absl::StrCat(step_, ": ", first.message())));
  }

 private:
  absl::Status ReadForm(OpKernelConstruction* ctx) {
    std::vector<int64_t> size, window;
    std::string change;
    TF_RETURN_IF_ERROR(ctx->GetAttr("size", &size));
    TF_RETURN_IF_ERROR(ctx->GetAttr("window", &window));
    TF_RETURN_IF_ERROR(ctx->GetAttr("change", &change));
    TF_RETURN_IF_ERROR(ctx->GetAttr("first", &form_.first));
    TF_RETURN_IF_ERROR(ctx->GetAttr("second", &form_.second));
    if (size.size() != 2 || window.size() != 4) {
      return absl::InvalidArgumentError(
          "size must have two numbers, and window four");
    }
    form_.height = size[0];
    form_.width = size[1];
    form_.top = window[0];
    form_.left = window[1];
    form_.rows = window[2];
    form_.columns = window[3];
    const bool inside = form_.top >= 0 && form_.left >= 0 && form_.rows > 0 &&
                        form_.columns > 0 &&
                        form_.rows <= form_.height - form_.top &&
                        form_.columns <= form_.width - form_.left;
    if (!inside) {
      return absl::InvalidArgumentError("the window must be inside the size");
    }
    if (change == "normalize") form_.change = ImageForm::Change::kNormalize;
    if (change == "scale") form_.change = ImageForm::Change::kScale;
    const size_t each = form_.channels;
    for (const auto* list : {&form_.first, &form_.second}) {
      const bool fits = change.empty()
                            ? list->empty()
                            : list->size() == 1 || list->size() == each;
      if (!fits) {
        return absl::InvalidArgumentError(
            "first and second must have a number, or one for each channel");
      }
    }
    return absl::OkStatus();
  }

  // Makes image i.
  absl::Status One(OpKernelContext* ctx, const Tensor& contents,
                   const Tensor& seeds, int64_t i, ImageResizer* resizer,
                   float* out) const {
    if (ctx->cancellation_manager() != nullptr &&
        ctx->cancellation_manager()->IsCancelled()) {
      return absl::CancelledError("the run was cancelled");
    }
    const tstring& bytes = contents.flat<tstring>()(i);
    Fault fault;
    if (!CheckMedia(spec_, bytes, &fault)) {
      return absl::InvalidArgumentError(fault.what);
    }
    Tensor alone(DT_STRING, TensorShape({}));
    alone.scalar<tstring>()().assign_as_view(bytes);
    Decoded image;
    TF_RETURN_IF_ERROR(Decode(ctx, alone, bytes, seeds, i, &image));
    bool flipped = false, mirrored = false;
    float added = 0;
    for (size_t k = 0; k < augment_.size(); ++k) {
      std::vector<Tensor> drawn;
      TF_RETURN_IF_ERROR(chance_.Run(
          ctx, {Vector({}), Seed(seeds, (draws_ ? 1 : 0) + k, i)}, &drawn));
      const float chance = drawn[0].scalar<float>()();
      switch (augment_[k]) {
        case Augment::kRows:
          flipped ^= chance < 0.5f;
          break;
        case Augment::kColumns:
          mirrored ^= chance < 0.5f;
          break;
        case Augment::kBrightness: {
          const float range = chance * (max_delta_ - -max_delta_);
          added = range + -max_delta_;
          break;
        }
      }
    }
    resizer->Run(image.part, mirrored, flipped, added, out);
    return absl::OkStatus();
  }

  absl::Status Decode(OpKernelContext* ctx, const Tensor& contents,
                      std::string_view bytes, const Tensor& seeds, int64_t i,
                      Decoded* image) const {
    Box box;
    // A JPEG without its end is decoded as a whole, so that it is refused
    // wherever the part is.
    const bool in_part = draws_ && absl::StartsWith(bytes, "\xff\xd8\xff") &&
                         absl::EndsWith(bytes, "\xff\xd9");
    if (in_part) {
      Box all;
      TF_RETURN_IF_ERROR(decoders_.Shape(ctx, contents, &all));
      TF_RETURN_IF_ERROR(
          decoders_.Draw(ctx, all.height, all.width, Seed(seeds, 0, i), &box));
      return decoders_.Part(ctx, contents, all, box, image);
    }
    TF_RETURN_IF_ERROR(decoders_.Whole(ctx, contents, image));
    if (!draws_) return absl::OkStatus();
    TF_RETURN_IF_ERROR(decoders_.Draw(
        ctx, static_cast<int32_t>(image->part.height),
        static_cast<int32_t>(image->part.width), Seed(seeds, 0, i), &box));
    decoders_.Cut(box, image);
    return absl::OkStatus();
  }

  // Returns the pair of a draw for image i.
  static Tensor Seed(const Tensor& seeds, int64_t draw, int64_t i) {
    Tensor seed(DT_INT64, TensorShape({2}));
    const auto all = seeds.tensor<int64_t, 3>();
    for (int k = 0; k < 2; ++k) seed.vec<int64_t>()(k) = all(draw, i, k);
    return seed;
  }

  std::string step_;
  MediaSpec spec_;
  ImageForm form_;
  Decoders decoders_;
  bool draws_ = false;
  std::vector<Augment> augment_;
  float max_delta_ = 0;
  InnerKernel chance_;
};

REGISTER_KERNEL_BUILDER(Name("MillraceImages").Device(DEVICE_CPU), ImagesOp);

}  // namespace
}  // namespace millrace
