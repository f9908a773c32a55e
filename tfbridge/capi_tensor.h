// Statuses, buffers, tensors and strings of the C API; capi.h includes it.
#ifndef MILLRACE_CAPI_TENSOR_H_
#define MILLRACE_CAPI_TENSOR_H_

#define MR_CAPI_TENSOR(X)                                                      \
  X(const char *, TF_Version, (void), ())                                      \
  /* status, buffer */                                                         \
  X(TF_Status *, TF_NewStatus, (void), ())                                     \
  X(void, TF_DeleteStatus, (TF_Status * s), (s))                               \
  X(TF_Code, TF_GetCode, (const TF_Status *s), (s))                            \
  X(const char *, TF_Message, (const TF_Status *s), (s))                       \
  X(TF_Buffer *, TF_NewBuffer, (void), ())                                     \
  X(TF_Buffer *, TF_NewBufferFromString, (const void *p, size_t n), (p, n))    \
  X(void, TF_DeleteBuffer, (TF_Buffer * b), (b))                               \
  /* tensor, string */                                                         \
  X(TF_Tensor *, TF_NewTensor,                                                 \
    (TF_DataType dt, const int64_t *dims, int rank, void *data, size_t len,    \
     mr_deallocator free_data, void *arg),                                     \
    (dt, dims, rank, data, len, free_data, arg))                               \
  X(void, TF_DeleteTensor, (TF_Tensor * t), (t))                               \
  X(TF_DataType, TF_TensorType, (const TF_Tensor *t), (t))                     \
  X(int, TF_NumDims, (const TF_Tensor *t), (t))                                \
  X(int64_t, TF_Dim, (const TF_Tensor *t, int i), (t, i))                      \
  X(size_t, TF_TensorByteSize, (const TF_Tensor *t), (t))                      \
  X(void *, TF_TensorData, (const TF_Tensor *t), (t))                          \
  X(int64_t, TF_TensorElementCount, (const TF_Tensor *t), (t))                 \
  X(void, TF_StringInit, (TF_TString * s), (s))                                \
  X(void, TF_StringCopy, (TF_TString * s, const char *p, size_t n), (s, p, n)) \
  X(void, TF_StringDealloc, (TF_TString * s), (s))                             \
  X(const char *, TF_StringGetDataPointer, (const TF_TString *s), (s))         \
  X(size_t, TF_StringGetSize, (const TF_TString *s), (s))                      \
  X(void, TF_TensorBitcastFrom,                                                \
    (const TF_Tensor *from, TF_DataType dt, TF_Tensor *to,                     \
     const int64_t *dims, int rank, TF_Status *st),                            \
    (from, dt, to, dims, rank, st))

#endif  // MILLRACE_CAPI_TENSOR_H_
