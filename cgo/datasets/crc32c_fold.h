// CRC32C of many bytes, for processors with wide carry-less multiplication.
#ifndef MILLRACE_CGO_DATASETS_CRC32C_FOLD_H_
#define MILLRACE_CGO_DATASETS_CRC32C_FOLD_H_

#include <cstddef>
#include <cstdint>

namespace millrace {

// CanFoldCrc32c reports whether this processor can run FoldCrc32c.
bool CanFoldCrc32c();

// FoldCrc32c extends a CRC, not inverted, by as much of the data as it takes at
// a time and moves *data and *n behind it: fewer than 256 bytes are left.
uint32_t FoldCrc32c(uint32_t crc, const uint8_t** data, size_t* n);

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_CRC32C_FOLD_H_
