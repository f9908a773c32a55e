#include "crc32c.h"

#include <array>
#include <cstring>

#include "crc32c_fold.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace millrace {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected
constexpr size_t kMinFold = 512;  // bytes from which on folding is faster

// ByteTable is eight tables of a byte's effect, at each place of a word.
using ByteTable = std::array<std::array<uint32_t, 256>, 8>;

ByteTable MakeByteTable() {
  ByteTable table;
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) ? kPolynomial : 0);
    }
    table[0][i] = crc;
  }
  for (uint32_t i = 0; i < 256; ++i) {
    for (int place = 1; place < 8; ++place) {
      const uint32_t crc = table[place - 1][i];
      table[place][i] = (crc >> 8) ^ table[0][crc & 0xff];
    }
  }
  return table;
}

const ByteTable& Bytes() {
  static const ByteTable* const table = new ByteTable(MakeByteTable());
  return *table;
}

uint64_t Load64(const uint8_t* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}

#if defined(__x86_64__)

// ShiftTable is the effect on a CRC of a lane's length of zeros behind it.
using ShiftTable = std::array<std::array<uint32_t, 256>, 4>;

ShiftTable MakeShiftTable(size_t zeros) {
  const ByteTable& bytes = Bytes();
  ShiftTable table;
  for (int place = 0; place < 4; ++place) {
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t crc = i << (8 * place);
      for (size_t k = 0; k < zeros; ++k) {
        crc = (crc >> 8) ^ bytes[0][crc & 0xff];
      }
      table[place][i] = crc;
    }
  }
  return table;
}

uint32_t Shift(const ShiftTable& t, uint32_t crc) {
  return t[0][crc & 0xff] ^ t[1][(crc >> 8) & 0xff] ^ t[2][(crc >> 16) & 0xff] ^
         t[3][crc >> 24];
}

// The instruction takes three cycles but one can start in each, so three lanes
// are computed at a time and joined.
template <size_t kLane>
__attribute__((target("sse4.2"))) uint32_t Lanes(uint32_t crc,
                                                 const uint8_t** data,
                                                 size_t* n) {
  static const ShiftTable* const shift = new ShiftTable(MakeShiftTable(kLane));
  const uint8_t* p = *data;
  for (; *n >= 3 * kLane; *n -= 3 * kLane) {
    uint64_t a = crc, b = 0, c = 0;
    for (size_t i = 0; i < kLane; i += 8) {
      a = _mm_crc32_u64(a, Load64(p + i));
      b = _mm_crc32_u64(b, Load64(p + kLane + i));
      c = _mm_crc32_u64(c, Load64(p + 2 * kLane + i));
    }
    crc = Shift(*shift, static_cast<uint32_t>(a)) ^ static_cast<uint32_t>(b);
    crc = Shift(*shift, crc) ^ static_cast<uint32_t>(c);
    p += 3 * kLane;
  }
  *data = p;
  return crc;
}

__attribute__((target("sse4.2"))) uint32_t Hardware(uint32_t crc,
                                                    const uint8_t* p,
                                                    size_t n) {
  crc = ~crc;
  if (n >= kMinFold && CanFoldCrc32c()) crc = FoldCrc32c(crc, &p, &n);
  if (n >= 3 * 2048) crc = Lanes<2048>(crc, &p, &n);
  if (n >= 3 * 256) crc = Lanes<256>(crc, &p, &n);
  if (n >= 3 * 64) crc = Lanes<64>(crc, &p, &n);
  uint64_t wide = crc;
  for (; n >= 8; n -= 8, p += 8) wide = _mm_crc32_u64(wide, Load64(p));
  crc = static_cast<uint32_t>(wide);
  for (; n > 0; --n, ++p) crc = _mm_crc32_u8(crc, *p);
  return ~crc;
}

#endif  // defined(__x86_64__)

}  // namespace

uint32_t ExtendCrc32cPortable(uint32_t crc, const void* data, size_t n) {
  const ByteTable& t = Bytes();
  const auto* p = static_cast<const uint8_t*>(data);
  crc = ~crc;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  for (; n >= 8; n -= 8, p += 8) {
    const uint64_t v = Load64(p) ^ crc;
    crc = t[7][v & 0xff] ^ t[6][(v >> 8) & 0xff] ^ t[5][(v >> 16) & 0xff] ^
          t[4][(v >> 24) & 0xff] ^ t[3][(v >> 32) & 0xff] ^
          t[2][(v >> 40) & 0xff] ^ t[1][(v >> 48) & 0xff] ^ t[0][v >> 56];
  }
#endif
  for (; n > 0; --n, ++p) crc = (crc >> 8) ^ t[0][(crc ^ *p) & 0xff];
  return ~crc;
}

uint32_t ExtendCrc32c(uint32_t crc, const void* data, size_t n) {
#if defined(__x86_64__)
  static const bool hardware = __builtin_cpu_supports("sse4.2");
  if (hardware) return Hardware(crc, static_cast<const uint8_t*>(data), n);
#endif
  return ExtendCrc32cPortable(crc, data, n);
}

uint32_t Crc32c(const void* data, size_t n) { return ExtendCrc32c(0, data, n); }

}  // namespace millrace
