// Making tensors, and copying what is in them, in one call each.
#include "capi.h"
#include "denormals.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { STRING = 7 };  // TF_STRING

void mr_describe(const TF_Tensor *t, mr_info *info) {
  info->dtype = TF_TensorType(t);
  info->rank = TF_NumDims(t);
  info->elements = TF_TensorElementCount(t);
  info->bytes = TF_TensorByteSize(t);
  info->data = TF_TensorData(t);
  for (int i = 0; i < info->rank && i < MR_INFO_DIMS; i++) {
    info->dims[i] = TF_Dim(t, i);
  }
  info->long_strings = 0;
  if (info->dtype == STRING) {
    const TF_TString *s = info->data;
    for (int64_t i = 0; i < info->elements; i++) {
      size_t len = TF_StringGetSize(&s[i]);
      if (len >= MR_LONG_STRING) info->long_strings += len;
    }
  }
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
  return TF_NewTensor(STRING, dims, rank, s, len, free_strings, NULL);
}

extern void millrace_unpin(uintptr_t handle);  // in Go

static void unpin(void *data, size_t len, void *arg) {
  (void)data;
  (void)len;
  uint64_t mode = mr_keep_denormals();
  millrace_unpin((uintptr_t)arg);
  mr_set_float_mode(mode);
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

// A shared tensor is freed with the last of those who use its memory. TensorFlow
// counts the references to a buffer, but its C API makes no tensor of a part of
// one. So each part is a tensor over foreign memory, whose deallocator counts.
typedef struct shared {
  TF_Tensor *t;
  atomic_long users;
} shared;

static void release_shared(void *data, size_t len, void *arg) {
  (void)data;
  (void)len;
  shared *s = arg;
  if (atomic_fetch_sub(&s->users, 1) > 1) return;
  TF_DeleteTensor(s->t);
  free(s);
}

// same_memory makes another tensor of the same memory, or returns NULL.
static TF_Tensor *same_memory(const TF_Tensor *t, const int64_t *dims,
                              int rank) {
  const int64_t none = 0;
  TF_Tensor *same = mr_new_tensor(TF_TensorType(t), &none, 1, 0);
  if (!same) return NULL;
  TF_Status *st = TF_NewStatus();
  TF_TensorBitcastFrom(t, TF_TensorType(t), same, dims, rank, st);
  if (TF_GetCode(st) != 0) {
    TF_DeleteTensor(same);
    same = NULL;
  }
  TF_DeleteStatus(st);
  return same;
}

int mr_split_rows(const TF_Tensor *t, const int64_t *dims, int rank,
                  int64_t rows, TF_Tensor **out, int64_t n) {
  shared *s = malloc(sizeof *s);
  int64_t *part = malloc(sizeof *part * (size_t)rank);
  if (s) s->t = part ? same_memory(t, dims, rank) : NULL;
  if (!s || !s->t) {
    free(part);
    free(s);
    return 0;
  }
  atomic_init(&s->users, (long)n);
  memcpy(part, dims, sizeof *part * (size_t)rank);
  char *data = TF_TensorData(t);
  const size_t row = TF_TensorByteSize(t) / (size_t)dims[0];
  for (int64_t i = 0; i < n; i++) {
    const int64_t begin = i * rows;
    part[0] = dims[0] - begin < rows ? dims[0] - begin : rows;
    out[i] = TF_NewTensor(TF_TensorType(t), part, rank, data + begin * (int64_t)row,
                          row * (size_t)part[0], release_shared, s);
  }
  free(part);
  return 1;
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

// outside returns how many bytes of a string are not in its 24 bytes.
static int64_t outside(const TF_TString *s) {
  size_t len = TF_StringGetSize(s);
  return len >= MR_LONG_STRING ? (int64_t)len : 0;
}

int64_t mr_copy_strings(TF_Tensor *to, int64_t at, const TF_Tensor *from,
                        int64_t start, int64_t n) {
  TF_TString *target = (TF_TString *)TF_TensorData(to) + at;
  const TF_TString *source = (const TF_TString *)TF_TensorData(from) + start;
  int64_t more = 0;
  for (int64_t i = 0; i < n; i++) {
    more += outside(&source[i]) - outside(&target[i]);
    TF_StringCopy(&target[i], TF_StringGetDataPointer(&source[i]),
                  TF_StringGetSize(&source[i]));
  }
  return more;
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
