#include "inflated_size.h"

#include <algorithm>

#include "external/zlib/zlib.h"

namespace millrace {
namespace {

constexpr int64_t kMostRatio = 1032;  // the maximum of deflate

}  // namespace

int64_t InflatedSize(std::string_view deflated, int64_t limit) {
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

}  // namespace millrace
