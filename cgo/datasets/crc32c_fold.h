// CRC32C of many bytes, for processors with wide carry-less multiplication.
#ifndef MILLRACE_CGO_DATASETS_CRC32C_FOLD_H_
#define MILLRACE_CGO_DATASETS_CRC32C_FOLD_H_

#include <cstddef>
#include <cstdint>

namespace millrace {

// CanFoldCrc32c reports whether this processor can run FoldCrc32c.
bool CanFoldCrc32c();

// FoldCrc32c extends a CRC, not inverted, by all whole blocks of 256 bytes, and
// moves *data and *n past them.
uint32_t FoldCrc32c(uint32_t crc, const uint8_t** data, size_t* n);

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_CRC32C_FOLD_H_
