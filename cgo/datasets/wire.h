// The protobuf wire format as TensorFlow reads it.
#ifndef MILLRACE_CGO_DATASETS_WIRE_H_
#define MILLRACE_CGO_DATASETS_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace millrace {
namespace wire {

// Tags of one byte: the field's number and its wire type.
constexpr uint8_t kBytes1 = 1 << 3 | 2;
constexpr uint8_t kBytes2 = 2 << 3 | 2;
constexpr uint8_t kBytes3 = 3 << 3 | 2;
constexpr uint8_t kVarint1 = 1 << 3 | 0;
constexpr uint8_t kFixed32 = 1 << 3 | 5;

// Long reads a varint of up to ten bytes, keeping 64 bits.
inline bool Long(const uint8_t** p, const uint8_t* end, uint64_t* v) {
  const uint8_t* q = *p;
  uint64_t result = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (q == end) return false;
    const uint64_t b = *q++;
    result |= (b & 0x7f) << shift;
    if (b < 0x80) {
      *v = result;
      *p = q;
      return true;
    }
  }
  return false;
}

inline bool Varint64(const uint8_t** p, const uint8_t* end, uint64_t* v) {
  if (*p != end && **p < 0x80) {
    *v = *(*p)++;
    return true;
  }
  return Long(p, end, v);
}

// Varint32 reads a varint and drops the bits above 32, as TensorFlow does with
// lengths and tags.
inline bool Varint32(const uint8_t** p, const uint8_t* end, uint32_t* v) {
  uint64_t wide;
  if (!Varint64(p, end, &wide)) return false;
  *v = static_cast<uint32_t>(wide);
  return true;
}

// Limit returns the end of a message of n bytes at p. A message that claims
// more bytes than exist ends with the message around it.
inline const uint8_t* Limit(const uint8_t* p, const uint8_t* end, uint32_t n) {
  if (n > INT32_MAX || n >= static_cast<size_t>(end - p)) return end;
  return p + n;
}

// Text reads a length and that number of bytes, which must exist.
inline bool Text(const uint8_t** p, const uint8_t* end,
                 std::string_view* text) {
  uint32_t n;
  if (!Varint32(p, end, &n)) return false;
  if (n > static_cast<size_t>(end - *p)) return false;
  *text = std::string_view(reinterpret_cast<const char*>(*p), n);
  *p += n;
  return true;
}

// Skip skips a field outside of the features. Like TensorFlow it accepts the
// field number 0, and treats a length that reaches past the record as its end.
inline bool Skip(const uint8_t** p, const uint8_t* end) {
  uint32_t tag;
  if (!Varint32(p, end, &tag)) return false;
  uint32_t n = 0;
  switch (tag & 7) {
    case 0:
      return Varint32(p, end, &n);
    case 1:
      n = 8;
      break;
    case 2:
      if (!Varint32(p, end, &n)) return false;
      if (n > INT32_MAX) return true;  // a negative length skips nothing
      *p = Limit(*p, end, n);
      return true;
    case 5:
      n = 4;
      break;
    default:
      return false;
  }
  if (n > static_cast<size_t>(end - *p)) return false;
  *p += n;
  return true;
}

}  // namespace wire
}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_WIRE_H_
