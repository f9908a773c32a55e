// Memory that is accessed at random.
#ifndef MILLRACE_CGO_DATASETS_LARGE_MEMORY_H_
#define MILLRACE_CGO_DATASETS_LARGE_MEMORY_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace millrace {

struct FreeMemory {
  void operator()(char* p) const { std::free(p); }
};

using LargeMemory = std::unique_ptr<char[], FreeMemory>;

// NewLargeMemory returns memory, in large pages if the system has them, or
// nullptr. A processor caches the addresses of some thousand small pages, 8 MB,
// and looks up all others in memory.
inline LargeMemory NewLargeMemory(size_t bytes) {
  constexpr size_t kPage = 2 << 20;
  if (bytes < kPage) {
    return LargeMemory(static_cast<char*>(std::malloc(bytes + 1)));
  }
  const size_t whole = (bytes + kPage - 1) / kPage * kPage;
  LargeMemory memory(static_cast<char*>(std::aligned_alloc(kPage, whole)));
#ifdef MADV_HUGEPAGE
  if (memory != nullptr) madvise(memory.get(), whole, MADV_HUGEPAGE);
#endif
  return memory;
}

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_LARGE_MEMORY_H_
