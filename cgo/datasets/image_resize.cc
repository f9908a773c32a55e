#include "image_resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace millrace {
namespace {

// TensorFlow needs a processor with AVX. FMA is not among what these functions
// may use: a fused product gives other bits.
#ifdef __x86_64__
#define MILLRACE_WIDE __attribute__((target("avx")))
#else
#define MILLRACE_WIDE
#endif

// The room behind a row, because pixels are moved four values at a time.
constexpr size_t kBehind = 4;

MILLRACE_WIDE void ToFloats(const uint8_t* __restrict in, int64_t n,
                            float* __restrict out) {
  for (int64_t i = 0; i < n; ++i) out[i] = in[i];
}

MILLRACE_WIDE void Mix(const float* top, const float* bottom, float share,
                       float added, int64_t n, float* __restrict out) {
  for (int64_t i = 0; i < n; ++i) {
    out[i] = (top[i] + (bottom[i] - top[i]) * share) + added;
  }
}

MILLRACE_WIDE void MixAndNormalize(const float* top, const float* bottom,
                                   float share, float added, const float* mean,
                                   const float* std, int64_t n,
                                   float* __restrict out) {
  for (int64_t i = 0; i < n; ++i) {
    const float x = (top[i] + (bottom[i] - top[i]) * share) + added;
    out[i] = (x - mean[i]) / std[i];
  }
}

MILLRACE_WIDE void MixAndScale(const float* top, const float* bottom,
                               float share, float added, const float* factor,
                               const float* offset, int64_t n,
                               float* __restrict out) {
  for (int64_t i = 0; i < n; ++i) {
    const float x = (top[i] + (bottom[i] - top[i]) * share) + added;
    out[i] = x * factor[i] + offset[i];
  }
}

// Four is four values that the compiler keeps in one register.
typedef float Four __attribute__((vector_size(16)));

inline Four Load(const float* from) {
  Four v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}

// Repeated returns numbers for each value of a row.
std::vector<float> Repeated(const std::vector<float>& numbers, int64_t columns,
                            int64_t channels) {
  std::vector<float> all;
  if (numbers.empty()) return all;
  all.reserve(columns * channels);
  for (int64_t i = 0; i < columns * channels; ++i) {
    all.push_back(numbers.size() == 1 ? numbers[0] : numbers[i % channels]);
  }
  return all;
}

}  // namespace

ImageResizer::ImageResizer(const ImageForm& form)
    : form_(form),
      first_(Repeated(form.first, form.columns, form.channels)),
      second_(Repeated(form.second, form.columns, form.channels)),
      widths_(form.columns) {
  for (auto& row : rows_) row.resize(form.columns * form.channels + kBehind);
}

ImageResizer::Between ImageResizer::At(int64_t i, float scale, int64_t size) {
  const float in = (static_cast<float>(i) + 0.5f) * scale - 0.5f;
  const float floor = std::floor(in);
  return {std::max<int64_t>(static_cast<int64_t>(floor), 0),
          std::min(static_cast<int64_t>(std::ceil(in)), size - 1), in - floor};
}

void ImageResizer::Widths(const Pixels& in, bool mirrored) {
  const float scale = static_cast<float>(in.width) / form_.width;
  for (int64_t x = 0; x < form_.columns; ++x) {
    Between b = At(form_.left + x, scale, in.width);
    b.lower *= form_.channels;
    b.upper *= form_.channels;
    widths_[mirrored ? form_.columns - 1 - x : x] = b;
  }
}

void ImageResizer::Stretch(const Pixels& in, int64_t y, float* to) {
  const int64_t channels = form_.channels;
  ToFloats(in.data + y * in.stride, in.width * channels, values_.data());
  const float* from = values_.data();
  if (channels == 3) {
    for (const Between& b : widths_) {
      const Four lower = Load(from + b.lower), upper = Load(from + b.upper);
      const Four made = lower + (upper - lower) * b.share;
      std::memcpy(to, &made, sizeof(made));
      to += 3;
    }
    return;
  }
  for (const Between& b : widths_) {
    for (int64_t c = 0; c < channels; ++c) {
      const float lower = from[b.lower + c];
      *to++ = lower + (from[b.upper + c] - lower) * b.share;
    }
  }
}

const float* ImageResizer::Row(const Pixels& in, int64_t y, int64_t other) {
  for (int i = 0; i < 2; ++i) {
    if (row_of_[i] == y) return rows_[i].data();
  }
  const int i = row_of_[0] == other ? 1 : 0;
  Stretch(in, y, rows_[i].data());
  row_of_[i] = y;
  return rows_[i].data();
}

void ImageResizer::Run(const Pixels& in, bool mirrored, bool flipped,
                       float added, float* out) {
  Widths(in, mirrored);
  values_.resize(in.width * form_.channels + kBehind);
  row_of_[0] = row_of_[1] = -1;
  const float scale = static_cast<float>(in.height) / form_.height;
  const int64_t n = form_.columns * form_.channels;
  for (int64_t y = 0; y < form_.rows; ++y) {
    const Between b = At(form_.top + y, scale, in.height);
    const float* top = Row(in, b.lower, b.upper);
    const float* bottom = Row(in, b.upper, b.lower);
    float* to = out + (flipped ? form_.rows - 1 - y : y) * n;
    switch (form_.change) {
      case ImageForm::Change::kNone:
        Mix(top, bottom, b.share, added, n, to);
        break;
      case ImageForm::Change::kNormalize:
        MixAndNormalize(top, bottom, b.share, added, first_.data(),
                        second_.data(), n, to);
        break;
      case ImageForm::Change::kScale:
        MixAndScale(top, bottom, b.share, added, first_.data(), second_.data(),
                    n, to);
        break;
    }
  }
}

}  // namespace millrace
