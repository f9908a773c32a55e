// The checksum of TFRecords, as fast as one thread of plain C++ can, for the
// programs that Millrace is compared with.
#ifndef MILLRACE_BENCH_BARE_CRC_H_
#define MILLRACE_BENCH_BARE_CRC_H_

#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__aarch64__)
#include <arm_acle.h>
inline uint32_t Crc8(uint32_t c, uint64_t v) { return __crc32cd(c, v); }
inline uint32_t Crc1(uint32_t c, uint8_t v) { return __crc32cb(c, v); }
#else
#include <nmmintrin.h>
inline uint32_t Crc8(uint32_t c, uint64_t v) {
  return static_cast<uint32_t>(_mm_crc32_u64(c, v));
}
inline uint32_t Crc1(uint32_t c, uint8_t v) { return _mm_crc32_u8(c, v); }
#endif

using Bytes = std::string_view;

template <typename T>
T Load(const char* at) {
  T v;
  memcpy(&v, at, sizeof v);
  return v;
}

// Shift is the effect of kLane zero bytes after a text on its checksum, as four
// tables of its bytes. The processor takes three cycles for a checksum of 8
// bytes, but begins one in each cycle. So three lanes are computed at the same
// time, and joined.
constexpr size_t kLane = 96;
inline uint32_t shift[4][256];

inline void MakeShift() {
  for (int byte = 0; byte < 4; byte++) {
    for (uint32_t v = 0; v < 256; v++) {
      uint32_t c = v << (8 * byte);
      for (size_t i = 0; i < kLane; i += 8) c = Crc8(c, 0);
      shift[byte][v] = c;
    }
  }
}

inline uint32_t Shifted(uint32_t c) {
  return shift[0][c & 255] ^ shift[1][c >> 8 & 255] ^ shift[2][c >> 16 & 255] ^
         shift[3][c >> 24];
}

inline uint32_t MaskedCrc(Bytes text) {
  uint32_t c = ~0u;
  const char* p = text.data();
  size_t n = text.size();
  for (; n >= 3 * kLane; p += 3 * kLane, n -= 3 * kLane) {
    uint32_t d = 0, e = 0;
    for (size_t i = 0; i < kLane; i += 8) {
      c = Crc8(c, Load<uint64_t>(p + i));
      d = Crc8(d, Load<uint64_t>(p + kLane + i));
      e = Crc8(e, Load<uint64_t>(p + 2 * kLane + i));
    }
    c = Shifted(Shifted(c) ^ d) ^ e;
  }
  for (; n >= 8; p += 8, n -= 8) c = Crc8(c, Load<uint64_t>(p));
  for (; n > 0; p++, n--) c = Crc1(c, static_cast<uint8_t>(*p));
  c = ~c;
  return (c >> 15 | c << 17) + 0xa282ead8u;
}

#endif  // MILLRACE_BENCH_BARE_CRC_H_
