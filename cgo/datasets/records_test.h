// What the tests of the decoders share: CHECK, and records field by field.
#ifndef MILLRACE_CGO_DATASETS_RECORDS_TEST_H_
#define MILLRACE_CGO_DATASETS_RECORDS_TEST_H_

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                        \
    }                                                                      \
  } while (false)

namespace millrace {

// Field returns a field of bytes.
inline std::string Field(char tag, const std::string& s) {
  std::string out(1, tag);
  for (size_t n = s.size();; n >>= 7) {
    out += static_cast<char>(n < 128 ? n : (n & 127) | 128);
    if (n < 128) return out + s;
  }
}

// Entry returns an entry of a map of features, or of feature lists.
inline std::string Entry(const std::string& key, const std::string& value) {
  return Field(10, Field(10, key) + Field(18, value));
}

// Int returns a feature of one int64.
inline std::string Int(int v) {
  return Field(26, Field(10, {static_cast<char>(v)}));
}

// Floats returns a feature of packed floats.
inline std::string Floats(const std::vector<float>& v) {
  const auto* bytes = reinterpret_cast<const char*>(v.data());
  return Field(18, Field(10, std::string(bytes, v.size() * 4)));
}

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_RECORDS_TEST_H_
