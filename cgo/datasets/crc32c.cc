#include "crc32c.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "crc32c_fold.h"
#include "crc32c_instructions.h"

namespace millrace {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected
constexpr size_t kMinFold = 384;  // folding is faster from this size on

// ByteTable has eight tables with the effect of a byte, one for each position
// in a word.
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

#if defined(MILLRACE_CRC32C)

// The instruction takes three cycles for eight bytes, but one can start in
// each. So three lanes are computed at a time. To join them, the checksums of
// the first two are multiplied by the power of x for the length of the
// following words. The instruction itself reduces the product, which has 64
// bits.
constexpr size_t kWord = 8;
constexpr size_t kMostWords = 128;  // largest length of a lane
constexpr size_t kLeastWords = 3;   // below this, joining costs more

// Times returns a product of polynomials, all reflected.
uint32_t Times(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (; a != 0; a <<= 1) {
    if (a >> 31) product ^= b;
    b = (b >> 1) ^ ((b & 1) ? kPolynomial : 0);
  }
  return product;
}

// Factors are the factors of a checksum, by the number of words that follow it.
using Factors = std::array<uint32_t, 2 * kMostWords + 1>;

// MakeFactors omits 33 powers of x: the instruction multiplies by 32 of them,
// and the product of two reflected factors of 32 bits lacks one.
Factors MakeFactors() {
  constexpr uint32_t kOne = uint32_t{1} << 31;
  uint32_t word = kOne, less = kOne;  // x to the power of 64, and of 31
  for (int i = 0; i < 64; ++i) word = Times(word, kOne >> 1);
  for (int i = 0; i < 31; ++i) less = Times(less, kOne >> 1);
  Factors factors = {0, less};
  for (size_t i = 2; i < factors.size(); ++i) {
    factors[i] = Times(factors[i - 1], word);
  }
  return factors;
}

// Lanes extends the checksum by three lanes of `words` words.
MILLRACE_CRC32C inline uint64_t Lanes(uint64_t crc, const uint8_t* p,
                                      size_t words) {
  static const Factors* const factors = new Factors(MakeFactors());
  const uint8_t* const q = p + words * kWord;
  const uint8_t* const r = q + words * kWord;
  uint64_t a = crc, b = 0, c = 0;
  for (size_t i = 0; i < words * kWord; i += kWord) {
    a = Crc32cWord(a, Load64(p + i));
    b = Crc32cWord(b, Load64(q + i));
    c = Crc32cWord(c, Load64(r + i));
  }
  const uint64_t moved = CarrylessProduct(a, (*factors)[2 * words]) ^
                         CarrylessProduct(b, (*factors)[words]);
  return Crc32cWord(0, moved) ^ c;
}

// Odd adds the bytes after the last whole word.
MILLRACE_CRC32C inline uint32_t Odd(uint32_t crc, const uint8_t** data,
                                    size_t n) {
  const uint8_t* p = *data;
  *data += n % kWord;
  if (n & 4) {
    uint32_t v;
    std::memcpy(&v, p, sizeof(v));
    crc = Crc32cFour(crc, v);
    p += sizeof(v);
  }
  if (n & 2) {
    uint16_t v;
    std::memcpy(&v, p, sizeof(v));
    crc = Crc32cTwo(crc, v);
    p += sizeof(v);
  }
  return n & 1 ? Crc32cOne(crc, *p) : crc;
}

MILLRACE_CRC32C uint32_t Hardware(uint32_t crc, const uint8_t* p, size_t n) {
  crc = ~crc;
#if defined(__x86_64__)
  if (n >= kMinFold && CanFoldCrc32c()) crc = FoldCrc32c(crc, &p, &n);
#endif
  uint64_t wide = Odd(crc, &p, n);
  size_t words = n / kWord;
  while (words >= 3 * kLeastWords) {
    const size_t lane = std::min(words / 3, kMostWords);
    wide = Lanes(wide, p, lane);
    p += 3 * lane * kWord;
    words -= 3 * lane;
  }
  for (; words > 0; --words, p += kWord) wide = Crc32cWord(wide, Load64(p));
  return ~static_cast<uint32_t>(wide);
}

#endif  // defined(MILLRACE_CRC32C)

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
#if defined(MILLRACE_CRC32C)
  if (HasCrc32cInstructions()) {
    return Hardware(crc, static_cast<const uint8_t*>(data), n);
  }
#endif
  return ExtendCrc32cPortable(crc, data, n);
}

uint32_t Crc32c(const void* data, size_t n) { return ExtendCrc32c(0, data, n); }

}  // namespace millrace
