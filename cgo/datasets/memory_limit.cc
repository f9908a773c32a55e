// The allocator of tensors, with a limit.
//
// TensorFlow's own allocators for processors have none that helps: one asks
// malloc until the kernel ends the process, the other, of oneDNN, counts to the
// memory of the machine and then waits ten seconds, with a lock that every
// other tensor of the process needs. This one takes their place. It refuses
// what a kernel asks for beyond the limit, or beyond what the machine has at
// that moment; the kernel's run then fails with RESOURCE_EXHAUSTED, and the
// process lives.
//
//     kernel asks for n bytes
//       n >= 256 KiB, with oneDNN  ->  pool   (BFC: keeps freed memory)
//       otherwise                  ->  malloc
//     both take their memory from one Budget
//
// A tensor that is not made by a kernel's context is never refused, because
// such code does not look whether it got memory. It counts all the same.
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/util/util.h"
#include "xla/tsl/framework/allocator.h"
#include "xla/tsl/framework/allocator_registry.h"
#include "xla/tsl/framework/bfc_allocator.h"

namespace millrace {
namespace {

// kLarge is where TensorFlow's allocator for oneDNN begins to pool.
constexpr size_t kLarge = 256 << 10;

// kCounted is the size from which a piece of malloc counts. Counting all
// would have the threads of a busy server share a counter for each scalar.
constexpr size_t kCounted = 4 << 10;

// kLook is how much more memory is taken before we look at what is left.
constexpr size_t kLook = 64 << 20;

// kPriority is above the one of the allocator for oneDNN, which is 200.
constexpr int kPriority = 300;

// Available returns the memory that the machine has left, in bytes, or the
// largest number if that is not known. It takes about 20 microseconds.
size_t Available() {
  constexpr size_t kUnknown = std::numeric_limits<size_t>::max();
  const int file = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
  if (file < 0) return kUnknown;
  char text[1024];
  const ssize_t n = read(file, text, sizeof text - 1);
  close(file);
  if (n <= 0) return kUnknown;
  text[n] = '\0';
  const char* const line = std::strstr(text, "MemAvailable:");
  if (line == nullptr) return kUnknown;
  return std::strtoull(line + std::strlen("MemAvailable:"), nullptr, 10) << 10;
}

// Budget counts the memory of tensors.
class Budget {
 public:
  explicit Budget(size_t limit) : limit_(limit) {}

  // Take reports whether n more bytes fit, and counts them then. With must it
  // counts them in any case.
  bool Take(size_t n, bool must) {
    const size_t used = used_.fetch_add(n, std::memory_order_relaxed) + n;
    if (must || (n <= limit_ && used <= limit_ && Fits(n, used))) return true;
    Give(n);
    return false;
  }

  void Give(size_t n) { used_.fetch_sub(n, std::memory_order_relaxed); }

  size_t used() const { return used_.load(std::memory_order_relaxed); }
  size_t limit() const { return limit_; }

 private:
  // Fits compares n bytes with what the machine has left, where n is much or
  // more is in use than at the last look.
  bool Fits(size_t n, size_t used) {
    if (n < kLook && used < next_.load(std::memory_order_relaxed)) return true;
    if (Available() < n + kLook) return false;
    next_.store(used + kLook, std::memory_order_relaxed);
    return true;
  }

  const size_t limit_;
  std::atomic<size_t> used_{0};
  std::atomic<size_t> next_{kLook};  // look again from so much in use on
};

// Regions gives the pool its memory. It remembers where its regions are, so
// that the allocator recognizes pieces of the pool.
class Regions : public tsl::SubAllocator {
 public:
  explicit Regions(Budget* budget)
      : tsl::SubAllocator({}, {}), budget_(budget) {}

  void* Alloc(size_t alignment, size_t n, size_t* received) override {
    *received = n;
    if (count_.load() == regions_.size() || !budget_->Take(n, false)) {
      return nullptr;
    }
    void* start = nullptr;
    if (posix_memalign(&start, alignment, n) != 0) {
      budget_->Give(n);
      return nullptr;
    }
    const size_t i = count_.load();  // the pool calls this under its lock
    regions_[i].start = reinterpret_cast<uintptr_t>(start);
    regions_[i].end = reinterpret_cast<uintptr_t>(start) + n;
    count_.store(i + 1, std::memory_order_release);
    return start;
  }

  void Free(void* start, size_t n) override {
    for (size_t i = 0; i < count_.load(); ++i) {
      if (regions_[i].start == reinterpret_cast<uintptr_t>(start)) {
        regions_[i].end = 0;  // a place is used once
      }
    }
    std::free(start);
    budget_->Give(n);
  }

  bool SupportsCoalescing() const override { return false; }

  // Contains reports whether a piece of memory is in a region.
  bool Contains(const void* piece) const {
    const auto p = reinterpret_cast<uintptr_t>(piece);
    const size_t n = count_.load(std::memory_order_acquire);
    for (size_t i = 0; i < n; ++i) {
      if (p >= regions_[i].start && p < regions_[i].end) return true;
    }
    return false;
  }

 private:
  struct Region {
    std::atomic<uintptr_t> start{0}, end{0};
  };

  Budget* const budget_;
  std::array<Region, 256> regions_;
  std::atomic<size_t> count_{0};
};

class LimitedAllocator : public tsl::Allocator {
 public:
  LimitedAllocator(size_t limit, bool pooled)
      : name_(absl::StrCat("cpu, within the memory limit of ", limit >> 20,
                           " MiB and what the machine has left")),
        budget_(limit) {
    if (!pooled) return;
    auto regions = std::make_unique<Regions>(&budget_);
    regions_ = regions.get();
    tsl::BFCAllocator::Options options;
    options.allow_growth = true;
    options.allow_retry_on_failure = false;
    options.garbage_collection = true;
    pool_ = std::make_unique<tsl::BFCAllocator>(std::move(regions), limit,
                                                "millrace", options);
  }

  std::string Name() override { return name_; }

  void* AllocateRaw(size_t alignment, size_t n) override {
    return Allocate(alignment, n, true);
  }

  void* AllocateRaw(size_t alignment, size_t n,
                    const tsl::AllocationAttributes& attributes) override {
    // Only a kernel's context asks for a record of the allocation.
    return Allocate(alignment, n, !attributes.allocation_will_be_logged);
  }

  void DeallocateRaw(void* piece) override {
    if (piece == nullptr) return;
    if (pool_ != nullptr && regions_->Contains(piece)) {
      pool_->DeallocateRaw(piece);
      return;
    }
    const size_t size = malloc_usable_size(piece);
    if (size >= kCounted) budget_.Give(size);
    std::free(piece);
  }

  std::optional<tsl::AllocatorStats> GetStats() override {
    tsl::AllocatorStats stats;
    stats.bytes_in_use = static_cast<int64_t>(budget_.used());
    stats.bytes_limit = static_cast<int64_t>(budget_.limit());
    return stats;
  }

 private:
  void* Allocate(size_t alignment, size_t n, bool must) {
    if (pool_ != nullptr && n >= kLarge) {
      void* const piece = pool_->AllocateRaw(alignment, n);
      if (piece != nullptr || !must) return piece;
    }
    if (n >= kCounted) {
      if (!budget_.Take(n, must)) return nullptr;
      budget_.Give(n);  // what malloc gives counts
    }
    void* piece = nullptr;
    if (posix_memalign(&piece, std::max(alignment, sizeof(void*)), n) != 0) {
      return nullptr;
    }
    const size_t size = malloc_usable_size(piece);
    if (size >= kCounted) budget_.Take(size, true);
    return piece;
  }

  const std::string name_;
  Budget budget_;
  Regions* regions_ = nullptr;  // belongs to pool_
  std::unique_ptr<tsl::BFCAllocator> pool_;
};

class LimitedFactory : public tsl::AllocatorFactory {
 public:
  explicit LimitedFactory(size_t limit) : limit_(limit) {}

  tsl::Allocator* CreateAllocator() override {
    return new LimitedAllocator(limit_, tensorflow::IsMKLEnabled());
  }

  // Devices other than the CPU ask for it.
  tsl::SubAllocator* CreateSubAllocator(int /*numa_node*/) override {
    return new Regions(new Budget(limit_));
  }

 private:
  const size_t limit_;
};

}  // namespace
}  // namespace millrace

// MillraceLimitMemory limits the memory of tensors, in bytes. Call it once, and
// before TensorFlow makes its first tensor: it ends the process otherwise.
extern "C" __attribute__((visibility("default"))) void MillraceLimitMemory(
    int64_t bytes) {
  tsl::AllocatorFactoryRegistry::singleton()->Register(
      __FILE__, __LINE__, "MillraceLimited", millrace::kPriority,
      new millrace::LimitedFactory(static_cast<size_t>(bytes)));
}
