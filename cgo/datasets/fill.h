// Filling memory with a value.
#ifndef MILLRACE_CGO_DATASETS_FILL_H_
#define MILLRACE_CGO_DATASETS_FILL_H_

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace millrace {

// Fill fills n bytes of memory with a value of `size` bytes.
inline void Fill(char* to, size_t n, const char* value, size_t size) {
  if (n == 0) return;
  if (std::all_of(value, value + size, [](char c) { return c == 0; })) {
    std::memset(to, 0, n);
    return;
  }
  std::memcpy(to, value, size);
  for (size_t done = size; done < n; done *= 2) {
    std::memcpy(to + done, to, std::min(done, n - done));
  }
}

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_FILL_H_
