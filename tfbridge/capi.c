// Opening libtensorflow and finding its functions.
#define _GNU_SOURCE  // dl_iterate_phdr
#include "capi.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct mr_capi mr_tf;

// The functions of MR_CAPI and the pointers that get their addresses.
#define MR_SLOT(ret, name, params, args) {#name, (void **)&mr_tf.name},
static const struct {
  const char *name;
  void **slot;
} slots[] = {MR_CAPI(MR_SLOT)};
#undef MR_SLOT

enum { SLOTS = sizeof slots / sizeof slots[0] };

// failure closes what was opened and returns a copy of a message.
static char *failure(void *framework, void *cc, const char *message) {
  char *copy = strdup(message ? message : "unknown reason");
  if (cc) dlclose(cc);
  if (framework) dlclose(framework);
  memset(&mr_tf, 0, sizeof mr_tf);
  return copy;
}

// drop_clean_pages gives back the pages of a library's read-only segments that
// the dynamic linker touched while it resolved symbols. They are clean copies
// of the file and come back when they are used; most never are, and they are
// most of what a process would hold otherwise.
static int drop_clean_pages(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)size;
  (void)unused;
  if (!strstr(info->dlpi_name, "/libtensorflow_")) return 0;
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type != PT_LOAD || (p->p_flags & PF_W)) continue;
    uintptr_t from = (info->dlpi_addr + p->p_vaddr + page - 1) & ~(page - 1);
    uintptr_t to = (info->dlpi_addr + p->p_vaddr + p->p_filesz) & ~(page - 1);
    if (from < to) madvise((void *)from, to - from, MADV_DONTNEED);
  }
  return 0;
}

// The dynamic linker touches most of the libraries' symbol tables, a third of
// what the process holds at its peak: a thread drops them while it is at work.
enum { DROP_EVERY_MS = 25 };

typedef struct {
  pthread_mutex_t mu;
  pthread_cond_t stop;
  int stopped;
} dropper;

static void *drop_often(void *arg) {
  dropper *d = arg;
  pthread_mutex_lock(&d->mu);
  while (!d->stopped) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += DROP_EVERY_MS * 1000000L;
    at.tv_sec += at.tv_nsec / 1000000000L;
    at.tv_nsec %= 1000000000L;
    if (pthread_cond_timedwait(&d->stop, &d->mu, &at) != 0) {
      dl_iterate_phdr(drop_clean_pages, NULL);
    }
  }
  pthread_mutex_unlock(&d->mu);
  return NULL;
}

// TensorFlow's constructors allocate 16 MB in small pieces. A thread other than
// the first has a heap of its own, which glibc makes larger page by page: 4,000
// calls of mprotect, 4 of 70 ms. So reserve_heap makes it large at once. It
// allocates blocks, below the size for which malloc calls mmap, and frees them.
// The small allocation behind them keeps free from giving the memory back.
enum { RESERVED_BLOCKS = 160, RESERVED_BLOCK_BYTES = 100 * 1024 };

static void reserve_heap(void) {
  static void *kept;
  void *blocks[RESERVED_BLOCKS];
  for (int i = 0; i < RESERVED_BLOCKS; i++) blocks[i] = malloc(RESERVED_BLOCK_BYTES);
  if (!kept) kept = malloc(1);
  for (int i = 0; i < RESERVED_BLOCKS; i++) free(blocks[i]);
}

static char *open_libraries(const char *framework_path, const char *cc_path, int now);

char *mr_open(const char *framework_path, const char *cc_path, int now) {
  dropper d = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
  pthread_t thread;
  int running = pthread_create(&thread, NULL, drop_often, &d) == 0;
  char *message = open_libraries(framework_path, cc_path, now);
  pthread_mutex_lock(&d.mu);
  d.stopped = 1;
  pthread_cond_signal(&d.stop);
  pthread_mutex_unlock(&d.mu);
  if (running) pthread_join(thread, NULL);
  return message;
}

static char *open_libraries(const char *framework_path, const char *cc_path, int now) {
  int flags = RTLD_GLOBAL | (now ? RTLD_NOW : RTLD_LAZY);
  reserve_heap();
  void *framework = dlopen(framework_path, flags);
  if (!framework) return failure(NULL, NULL, dlerror());
  void *cc = dlopen(cc_path, flags);
  if (!cc) return failure(framework, NULL, dlerror());
  for (int i = 0; i < SLOTS; i++) {
    *slots[i].slot = dlsym(cc, slots[i].name);
    if (*slots[i].slot) continue;
    char message[160];
    snprintf(message, sizeof message, "symbol %s is missing", slots[i].name);
    return failure(framework, cc, message);
  }
  dl_iterate_phdr(drop_clean_pages, NULL);
  return NULL;
}

void mr_accept_unshaped(TF_Graph *g) {
  void (*require)(TF_Graph *, bool) = dlsym(RTLD_DEFAULT, "TF_SetRequireShapeInferenceFns");
  if (require) require(g, false);
}
