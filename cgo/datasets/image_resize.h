// Images made smaller or larger, mirrored and normalized, in one pass.
#ifndef MILLRACE_CGO_DATASETS_IMAGE_RESIZE_H_
#define MILLRACE_CGO_DATASETS_IMAGE_RESIZE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace {

// ImageForm describes the images that an ImageResizer makes.
struct ImageForm {
  // What is computed of each resized value x, in float32.
  enum class Change {
    kNone,
    kNormalize,  // (x - first) / second
    kScale,      // x * first + second
  };

  int64_t height = 0, width = 0;  // the size of the resized image
  int64_t channels = 0;

  // The part of the resized image that is made.
  int64_t top = 0, left = 0, rows = 0, columns = 0;

  Change change = Change::kNone;
  std::vector<float> first, second;  // a number, or one for each channel

  int64_t size() const { return rows * columns * channels; }
};

// Pixels are a part of an image of bytes, [height, width, channels].
struct Pixels {
  const uint8_t* data = nullptr;
  int64_t stride = 0;  // bytes from a row to the next one
  int64_t height = 0, width = 0;
};

// ImageResizer resizes images as TensorFlow's ResizeBilinear with
// half_pixel_centers does, with the same bits.
//
// TensorFlow makes the resized image, then the mirrored one, then one without
// the mean, and then one that is divided: most of the time is spent on moving
// images of floats through memory. Here a row of the result is finished before
// the next one is begun:
//
//   two rows of bytes -> two rows of floats, interpolated along the width
//                     -> a row, interpolated along the height and normalized
//
// A row of floats is kept for the next row of the result, which often lies
// between the same rows of bytes.
//
// Not safe for concurrent use.
class ImageResizer {
 public:
  explicit ImageResizer(const ImageForm& form);

  // Writes form.size() values. The mirrored image has left and right
  // exchanged, and the flipped one top and bottom. added is added to each
  // resized value before it is changed.
  void Run(const Pixels& in, bool mirrored, bool flipped, float added,
           float* out);

 private:
  // Where a pixel of the result lies between two pixels of the image.
  struct Between {
    int64_t lower, upper;
    float share;  // the part of the upper one
  };

  static Between At(int64_t i, float scale, int64_t size);
  void Widths(const Pixels& in, bool mirrored);
  const float* Row(const Pixels& in, int64_t y, int64_t other);
  void Stretch(const Pixels& in, int64_t y, float* to);

  const ImageForm form_;
  std::vector<float> first_, second_;  // one for each value of a row
  std::vector<Between> widths_;        // one for each column, in values
  std::vector<float> values_;          // a row of the image
  std::vector<float> rows_[2];
  int64_t row_of_[2];  // which rows of the image rows_ has, -1 for none
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_IMAGE_RESIZE_H_
