// The threads of TensorFlow's pools treat denormal numbers as zero: float32
// below 1.2e-38 and float64 below 2.2e-308. The mode belongs to a thread of the
// system, and a thread that it starts inherits it. Go runs in such a thread
// when TensorFlow calls it, and starts new threads from any thread. They would
// keep the mode for their whole life, and it would affect every goroutine that
// one of them runs.
//
// So each call into Go clears the mode while it runs.

#ifndef MILLRACE_TFBRIDGE_DENORMALS_H_
#define MILLRACE_TFBRIDGE_DENORMALS_H_

#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
enum { MR_FLUSH = 1 << 15 | 1 << 6 };  // results, and operands
static inline uint64_t mr_float_mode(void) { return _mm_getcsr(); }
static inline void mr_set_float_mode(uint64_t mode) { _mm_setcsr((unsigned)mode); }
#elif defined(__aarch64__)
enum { MR_FLUSH = 1 << 24 | 1 << 19 };  // floats, and float16
static inline uint64_t mr_float_mode(void) {
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
static inline void mr_set_float_mode(uint64_t mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }
#else
enum { MR_FLUSH = 0 };
static inline uint64_t mr_float_mode(void) { return 0; }
static inline void mr_set_float_mode(uint64_t mode) { (void)mode; }
#endif

// mr_keep_denormals makes this thread compute with denormal numbers, and
// returns its previous mode, for mr_set_float_mode.
static inline uint64_t mr_keep_denormals(void) {
  uint64_t mode = mr_float_mode();
  if (mode & MR_FLUSH) mr_set_float_mode(mode & ~(uint64_t)MR_FLUSH);
  return mode;
}

#endif  // MILLRACE_TFBRIDGE_DENORMALS_H_
