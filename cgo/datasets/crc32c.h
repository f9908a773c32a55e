// The checksum of TFRecords: CRC-32C, masked.
#ifndef MILLRACE_CGO_DATASETS_CRC32C_H_
#define MILLRACE_CGO_DATASETS_CRC32C_H_

#include <cstddef>
#include <cstdint>

namespace millrace {

// Crc32c returns the CRC-32C of n bytes. It uses the processor's instruction if
// there is one.
uint32_t Crc32c(const void* data, size_t n);

// ExtendCrc32c extends `crc`, the CRC-32C of some bytes, by n more bytes.
uint32_t ExtendCrc32c(uint32_t crc, const void* data, size_t n);

// ExtendCrc32cPortable is ExtendCrc32c without the instruction.
uint32_t ExtendCrc32cPortable(uint32_t crc, const void* data, size_t n);

// MaskCrc returns a checksum in the masked form of TFRecords.
inline uint32_t MaskCrc(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_CRC32C_H_
