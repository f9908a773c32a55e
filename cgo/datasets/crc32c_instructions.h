// The instructions of processors for CRC-32C, under one name on x86-64 and
// arm64. MILLRACE_CRC32C is defined where the compiler knows them. Functions
// that use them begin with it, and run only if HasCrc32cInstructions.
#ifndef MILLRACE_CGO_DATASETS_CRC32C_INSTRUCTIONS_H_
#define MILLRACE_CGO_DATASETS_CRC32C_INSTRUCTIONS_H_

#include <cstdint>

#if defined(__x86_64__)
#include <nmmintrin.h>
#include <wmmintrin.h>

#define MILLRACE_CRC32C __attribute__((target("sse4.2,pclmul")))

#elif defined(__aarch64__) && defined(__linux__) && \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
// GCC declares these functions only after the pragma, unless all of the program
// may use the instructions.
#if defined(__clang__)
#define MILLRACE_CRC32C __attribute__((target("crc,aes")))
#else
#pragma GCC push_options
#pragma GCC target("+crc+crypto")
#define MILLRACE_CRC32C __attribute__((target("+crc+crypto")))
#endif
#include <arm_acle.h>
#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#if !defined(__clang__)
#pragma GCC pop_options
#endif
#endif

#if defined(MILLRACE_CRC32C)
namespace millrace {

inline bool HasCrc32cInstructions() {
#if defined(__x86_64__)
  static const bool has =
      __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
#else
  constexpr unsigned long kBoth = HWCAP_CRC32 | HWCAP_PMULL;
  static const bool has = (getauxval(AT_HWCAP) & kBoth) == kBoth;
#endif
  return has;
}

// Crc32cWord, and those below, extend a CRC that is not inverted. The upper
// half of the CRC is zero: with 32 bits, compilers for x86-64 clear it once
// more for each word.
MILLRACE_CRC32C inline uint64_t Crc32cWord(uint64_t crc, uint64_t v) {
#if defined(__x86_64__)
  return _mm_crc32_u64(crc, v);
#else
  return __crc32cd(static_cast<uint32_t>(crc), v);
#endif
}

MILLRACE_CRC32C inline uint32_t Crc32cFour(uint32_t crc, uint32_t v) {
#if defined(__x86_64__)
  return _mm_crc32_u32(crc, v);
#else
  return __crc32cw(crc, v);
#endif
}

MILLRACE_CRC32C inline uint32_t Crc32cTwo(uint32_t crc, uint16_t v) {
#if defined(__x86_64__)
  return _mm_crc32_u16(crc, v);
#else
  return __crc32ch(crc, v);
#endif
}

MILLRACE_CRC32C inline uint32_t Crc32cOne(uint32_t crc, uint8_t v) {
#if defined(__x86_64__)
  return _mm_crc32_u8(crc, v);
#else
  return __crc32cb(crc, v);
#endif
}

// CarrylessProduct multiplies two polynomials of 32 bits. The product has 63.
MILLRACE_CRC32C inline uint64_t CarrylessProduct(uint64_t a, uint64_t b) {
#if defined(__x86_64__)
  return static_cast<uint64_t>(_mm_cvtsi128_si64(
      _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(a)),
                           _mm_cvtsi64_si128(static_cast<long long>(b)), 0)));
#else
  return vgetq_lane_u64(vreinterpretq_u64_p128(vmull_p64(a, b)), 0);
#endif
}

}  // namespace millrace
#endif  // defined(MILLRACE_CRC32C)

#endif  // MILLRACE_CGO_DATASETS_CRC32C_INSTRUCTIONS_H_
