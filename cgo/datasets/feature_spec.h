// The features to decode of a record, and their destinations.
#ifndef MILLRACE_CGO_DATASETS_FEATURE_SPEC_H_
#define MILLRACE_CGO_DATASETS_FEATURE_SPEC_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "wire.h"

namespace millrace {

// Kind is the way a feature is stored and decoded.
enum class Kind {
  kInt64,
  kFloat,
  kBytes,  // byte strings, unchanged
  kRaw,    // byte strings that contain numbers
};

// FeatureSpec is a feature to decode, of exactly `values` values. A list has
// any number of elements with `values` values each: a feature list of a
// SequenceExample, or a feature of an Example.
struct FeatureSpec {
  std::string key;
  Kind kind = Kind::kInt64;
  int64_t values = 1;     // stored in a record, or in an element of a list
  int64_t raw_bytes = 0;  // size of each byte string of a raw feature
  int swap_bytes = 1;     // bytes per number to reverse in a raw feature
  bool is_list = false;
  bool is_optional = false;  // a list of Examples that is empty if missing

  // Where values must be finite, the size of a number and its exponent bits,
  // which are all set in NaN and infinities; 0 if any value is allowed.
  int float_bytes = 0;
  uint64_t infinite_bits = 0;
};

// AllFinite reports whether the values of a feature of fixed size are finite as
// required.
inline bool AllFinite(const FeatureSpec& f, const void* values, size_t bytes) {
  const auto all = [&](auto bits) {
    const auto* p = static_cast<const char*>(values);
    bool finite = true;
    for (const char* end = p + bytes; p != end; p += sizeof(bits)) {
      auto v = bits;
      std::memcpy(&v, p, sizeof(v));
      finite &= static_cast<decltype(bits)>(v & bits) != bits;
    }
    return finite;
  };
  switch (f.float_bytes) {
    case 2:
      return all(static_cast<uint16_t>(f.infinite_bits));
    case 4:
      return all(static_cast<uint32_t>(f.infinite_bits));
    case 8:
      return all(f.infinite_bits);
    default:
      return true;
  }
}

// ElementBytes returns the bytes of an element of a list of numbers, and 0 for
// strings.
inline size_t ElementBytes(const FeatureSpec& f) {
  const auto values = static_cast<size_t>(f.values);
  switch (f.kind) {
    case Kind::kInt64:
      return values * 8;
    case Kind::kFloat:
      return values * 4;
    case Kind::kRaw:
      return values * static_cast<size_t>(f.raw_bytes);
    default:
      return 0;
  }
}

// ElementTexts returns the number of strings in an element of a list, and 0 for
// numbers.
inline size_t ElementTexts(const FeatureSpec& f) {
  return f.kind == Kind::kBytes ? static_cast<size_t>(f.values) : 0;
}

// Destination is the memory for the values of one feature, starting with the
// first row. Byte strings are passed to `set`, numbers written to memory.
struct Destination {
  void* base = nullptr;
  void (*set)(void* base, int64_t index, const char* data, size_t n) = nullptr;
};

// ListName returns the name of a list with this tag.
inline const char* ListName(uint8_t tag) {
  switch (tag) {
    case wire::kBytes1:
      return "bytes";
    case wire::kBytes2:
      return "float";
    default:
      return "int64";
  }
}

// ListTag returns the tag of the list that a kind is stored as.
inline uint8_t ListTag(Kind kind) {
  switch (kind) {
    case Kind::kInt64:
      return wire::kBytes3;
    case Kind::kFloat:
      return wire::kBytes2;
    default:
      return wire::kBytes1;
  }
}

// CopyRaw copies a byte string of numbers to memory, in the machine's byte
// order.
inline void CopyRaw(const FeatureSpec& f, std::string_view text, char* to) {
  if (f.swap_bytes < 2) {
    std::memcpy(to, text.data(), text.size());
    return;
  }
  for (size_t i = 0; i < text.size(); i += f.swap_bytes) {
    std::reverse_copy(text.data() + i, text.data() + i + f.swap_bytes, to + i);
  }
}

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_FEATURE_SPEC_H_
