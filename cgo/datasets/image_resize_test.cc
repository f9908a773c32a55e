#include "image_resize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace millrace {
namespace {

// Value computes a value of the resized image by itself, in the order of
// TensorFlow's operations.
float Value(const Pixels& in, const ImageForm& form, int64_t y, int64_t x,
            int64_t c) {
  const auto between = [](int64_t i, int64_t n, int64_t m, int64_t* lower,
                          int64_t* upper) {
    const float scale = static_cast<float>(n) / m;
    const float at = (static_cast<float>(i) + 0.5f) * scale - 0.5f;
    const float floor = std::floor(at);
    *lower = floor < 0 ? 0 : static_cast<int64_t>(floor);
    const auto ceil = static_cast<int64_t>(std::ceil(at));
    *upper = ceil > n - 1 ? n - 1 : ceil;
    return at - floor;
  };
  int64_t top, bottom, left, right;
  const float down = between(y, in.height, form.height, &top, &bottom);
  const float across = between(x, in.width, form.width, &left, &right);
  const auto at = [&](int64_t row, int64_t column) {
    return static_cast<float>(
        in.data[row * in.stride + column * form.channels + c]);
  };
  const float above = at(top, left) + (at(top, right) - at(top, left)) * across;
  const float below =
      at(bottom, left) + (at(bottom, right) - at(bottom, left)) * across;
  return above + (below - above) * down;
}

float Number(const std::vector<float>& list, int64_t c) {
  return list.size() == 1 ? list[0] : list[c];
}

// Images of all sizes get the values that each pixel has alone, whatever part
// is made, mirrored and changed.
TEST(ImageResizer, EveryForm) {
  std::mt19937 random(7);
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int round = 0; round < 300; ++round) {
    ImageForm form;
    form.channels = draw(0, 1) == 0 ? 1 : 3;
    form.height = draw(1, 30);
    form.width = draw(1, 30);
    form.rows = draw(1, form.height);
    form.columns = draw(1, form.width);
    form.top = draw(0, form.height - form.rows);
    form.left = draw(0, form.width - form.columns);
    form.change = static_cast<ImageForm::Change>(draw(0, 2));
    if (form.change != ImageForm::Change::kNone) {
      form.first = {1.7f, -3.1f, 0.3f};
      form.second = {58.3f};
      if (form.channels == 1) form.first.resize(1);
    }
    Pixels in;
    in.height = draw(1, 40);
    in.width = draw(1, 40);
    in.stride = in.width * form.channels + draw(0, 5);
    std::vector<uint8_t> bytes(in.height * in.stride);
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(draw(0, 255));
    in.data = bytes.data();

    const float added = draw(0, 1) == 0 ? 0 : draw(-99, 99) / 7.0f;
    const bool mirrored = draw(0, 1) == 1, flipped = draw(0, 1) == 1;
    std::vector<float> out(form.size() + 1, 1e9f);
    ImageResizer(form).Run(in, mirrored, flipped, added, out.data());
    EXPECT_EQ(out.back(), 1e9f) << "wrote too much";
    int64_t i = 0;
    for (int64_t y = 0; y < form.rows; ++y) {
      for (int64_t x = 0; x < form.columns; ++x) {
        for (int64_t c = 0; c < form.channels; ++c) {
          const int64_t row = flipped ? form.rows - 1 - y : y;
          const int64_t column = mirrored ? form.columns - 1 - x : x;
          float want = Value(in, form, form.top + row, form.left + column, c);
          want += added;
          if (form.change == ImageForm::Change::kNormalize) {
            want = (want - Number(form.first, c)) / Number(form.second, c);
          } else if (form.change == ImageForm::Change::kScale) {
            want = want * Number(form.first, c) + Number(form.second, c);
          }
          ASSERT_EQ(out[i++], want) << "round " << round << ", row " << y
                                    << ", column " << x << ", channel " << c;
        }
      }
    }
  }
}

}  // namespace
}  // namespace millrace
