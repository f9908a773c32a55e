#define _GNU_SOURCE  // dl_iterate_phdr
#include "callback.h"
#include "capi.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct mr_capi mr_tf;

// The functions of MR_CAPI and where their addresses go.
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

void mr_describe(const TF_Tensor *t, mr_info *info) {
  info->dtype = TF_TensorType(t);
  info->rank = TF_NumDims(t);
  info->elements = TF_TensorElementCount(t);
  info->bytes = TF_TensorByteSize(t);
  info->data = TF_TensorData(t);
  for (int i = 0; i < info->rank && i < MR_INFO_DIMS; i++) {
    info->dims[i] = TF_Dim(t, i);
  }
}

TF_Status *mr_run(TF_Session *s, const void *options, size_t options_len,
                  const TF_Output *in, TF_Tensor *const *in_values, int nin,
                  const TF_Output *out, TF_Tensor **out_values, int nout,
                  TF_Operation *const *targets, int ntargets,
                  TF_Buffer *metadata) {
  const TF_Buffer buffer = {options, options_len, NULL};
  TF_Status *st = TF_NewStatus();
  mr_session_here = (int64_t)(intptr_t)s;
  TF_SessionRun(s, options_len ? &buffer : NULL, in, in_values, nin, out,
                out_values, nout, (const TF_Operation *const *)targets,
                ntargets, metadata, st);
  if (TF_GetCode(st) != 0) return st;
  TF_DeleteStatus(st);
  return NULL;
}

TF_Status *mr_run_bare(int64_t n, TF_Session *s, const void *options,
                       size_t options_len, const TF_Output *in,
                       TF_Tensor *const *in_values, int nin,
                       const TF_Output *out, int nout) {
  enum { MOST = 16 };
  TF_Tensor *results[MOST];
  if (nout > MOST) nout = MOST;
  const TF_Buffer buffer = {options, options_len, NULL};
  TF_Status *st = TF_NewStatus();
  for (int64_t i = 0; i < n; i++) {
    TF_SessionRun(s, options_len ? &buffer : NULL, in, in_values, nin, out,
                  results, nout, NULL, 0, NULL, st);
    if (TF_GetCode(st) != 0) return st;
    for (int j = 0; j < nout; j++) TF_DeleteTensor(results[j]);
  }
  TF_DeleteStatus(st);
  return NULL;
}

// aligned allocates memory as TensorFlow likes it: unaligned it would copy.
static void *aligned(size_t len) {
  enum { ALIGNMENT = 64 };
  void *data = NULL;
  if (posix_memalign(&data, ALIGNMENT, len ? len : 1) != 0) return NULL;
  return data;
}

static void free_bytes(void *data, size_t len, void *arg) {
  (void)len;
  (void)arg;
  free(data);
}

static void free_strings(void *data, size_t len, void *arg) {
  TF_TString *s = data;
  for (size_t i = 0; i < len / sizeof *s; i++) TF_StringDealloc(&s[i]);
  free_bytes(data, len, arg);
}

TF_Tensor *mr_new_tensor(TF_DataType dt, const int64_t *dims, int rank,
                         size_t len) {
  void *data = aligned(len);
  if (!data) return NULL;
  return TF_NewTensor(dt, dims, rank, data, len, free_bytes, NULL);
}

TF_Tensor *mr_new_strings(const int64_t *dims, int rank, int64_t n) {
  size_t len = (size_t)n * sizeof(TF_TString);
  TF_TString *s = aligned(len);
  if (!s) return NULL;
  for (int64_t i = 0; i < n; i++) TF_StringInit(&s[i]);
  enum { STRING = 7 };
  return TF_NewTensor(STRING, dims, rank, s, len, free_strings, NULL);
}

extern void millrace_unpin(uintptr_t handle);  // in Go

static void unpin(void *data, size_t len, void *arg) {
  (void)data;
  (void)len;
  millrace_unpin((uintptr_t)arg);
}

TF_Tensor *mr_new_pinned(TF_DataType dt, const int64_t *dims, int rank,
                         void *data, size_t len, uintptr_t handle) {
  return TF_NewTensor(dt, dims, rank, data, len, unpin, (void *)handle);
}

static void free_tensor(void *data, size_t len, void *arg) {
  (void)data;
  (void)len;
  TF_DeleteTensor(arg);
}

TF_Tensor *mr_reshape_strings(TF_Tensor *t, const int64_t *dims, int rank) {
  return TF_NewTensor(TF_TensorType(t), dims, rank, TF_TensorData(t),
                      TF_TensorByteSize(t), free_tensor, t);
}

void mr_set_strings(TF_Tensor *t, int64_t first, int64_t n, const char *packed,
                    const int64_t *ends) {
  TF_TString *s = (TF_TString *)TF_TensorData(t) + first;
  int64_t at = 0;
  for (int64_t i = 0; i < n; i++) {
    TF_StringCopy(&s[i], packed + at, (size_t)(ends[i] - at));
    at = ends[i];
  }
}

void mr_string_ends(const TF_Tensor *t, int64_t n, int64_t *ends) {
  const TF_TString *s = TF_TensorData(t);
  int64_t at = 0;
  for (int64_t i = 0; i < n; i++) {
    at += (int64_t)TF_StringGetSize(&s[i]);
    ends[i] = at;
  }
}

void mr_pack_strings(const TF_Tensor *t, int64_t n, char *packed) {
  const TF_TString *s = TF_TensorData(t);
  for (int64_t i = 0; i < n; i++) {
    size_t len = TF_StringGetSize(&s[i]);
    memcpy(packed, TF_StringGetDataPointer(&s[i]), len);
    packed += len;
  }
}

const char *mr_string(const TF_Tensor *t, int64_t i, size_t *len) {
  const TF_TString *s = (const TF_TString *)TF_TensorData(t) + i;
  *len = TF_StringGetSize(s);
  return TF_StringGetDataPointer(s);
}

void mr_free_buffer(TF_Buffer b) {
  if (b.data_deallocator) b.data_deallocator((void *)b.data, b.length);
}
