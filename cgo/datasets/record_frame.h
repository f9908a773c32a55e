// The frame of a record: its length, and two checksums.
//
//   length uint64 | its checksum uint32 | data | the data's checksum uint32
#ifndef MILLRACE_CGO_DATASETS_RECORD_FRAME_H_
#define MILLRACE_CGO_DATASETS_RECORD_FRAME_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace millrace {

constexpr size_t kHeader = 12;  // length and its checksum
constexpr size_t kFooter = 4;   // the data's checksum

// LoadLittle loads a number that is stored least significant byte first.
template <typename T>
T LoadLittle(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  std::reverse(reinterpret_cast<char*>(&v),
               reinterpret_cast<char*>(&v) + sizeof(v));
#endif
  return v;
}

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_RECORD_FRAME_H_
