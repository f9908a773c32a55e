// mr_trim returns free memory of all of malloc's heaps to the system, where the C library is
// able to.

#ifndef MILLRACE_TFBRIDGE_TRIM_H_
#define MILLRACE_TFBRIDGE_TRIM_H_

#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>
static inline void mr_trim(void) { malloc_trim(0); }
#else
static inline void mr_trim(void) {}
#endif

#endif  // MILLRACE_TFBRIDGE_TRIM_H_
