// The part of TensorFlow's C API that this package uses, written out so that
// building needs no TensorFlow. Every function is a static wrapper around a
// pointer that mr_open fills in with dlsym. The wrappers keep TensorFlow's
// names, yet this program exports no symbol with such a name: it would replace
// libtensorflow's own and call itself.
#ifndef MILLRACE_CAPI_H_
#define MILLRACE_CAPI_H_

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct TF_Status TF_Status;
typedef struct TF_Tensor TF_Tensor;
typedef struct TF_Graph TF_Graph;
typedef struct TF_Operation TF_Operation;
typedef struct TF_OperationDescription TF_OperationDescription;
typedef struct TF_ImportGraphDefOptions TF_ImportGraphDefOptions;
typedef struct TF_ImportGraphDefResults TF_ImportGraphDefResults;
typedef struct TF_Function TF_Function;
typedef struct TF_FunctionOptions TF_FunctionOptions;
typedef struct TF_Session TF_Session;
typedef struct TF_SessionOptions TF_SessionOptions;
typedef struct TF_DeviceList TF_DeviceList;
typedef struct TF_Server TF_Server;
typedef struct TF_Library TF_Library;
typedef struct TF_OpDefinitionBuilder TF_OpDefinitionBuilder;
typedef struct TF_ShapeInferenceContext TF_ShapeInferenceContext;
typedef struct TF_ShapeHandle TF_ShapeHandle;
typedef struct TF_KernelBuilder TF_KernelBuilder;
typedef struct TF_OpKernelConstruction TF_OpKernelConstruction;
typedef struct TF_OpKernelContext TF_OpKernelContext;
typedef struct TF_AsyncOpKernelDoneCallback TF_AsyncOpKernelDoneCallback;

typedef int TF_Code;
typedef int TF_DataType;
typedef int TF_AttrType;

typedef struct TF_Buffer {
  const void *data;
  size_t length;
  void (*data_deallocator)(void *data, size_t length);
} TF_Buffer;

typedef struct TF_Output {
  TF_Operation *oper;
  int index;
} TF_Output;

typedef struct TF_Input {
  TF_Operation *oper;
  int index;
} TF_Input;

typedef struct TF_AttrMetadata {
  unsigned char is_list;
  int64_t list_size;
  TF_AttrType type;
  int64_t total_size;
} TF_AttrMetadata;

// TF_TString is one element of a string tensor: 24 bytes, only ever touched
// through the TF_String functions.
typedef union TF_TString {
  uint8_t raw[24];
  uint64_t align;
} TF_TString;

typedef void (*mr_deallocator)(void *data, size_t len, void *arg);
typedef void (*mr_infer)(TF_ShapeInferenceContext *ctx, TF_Status *st);
typedef void *(*mr_create)(TF_OpKernelConstruction *ctx);
typedef void (*mr_compute)(void *kernel, TF_OpKernelContext *ctx);
typedef void (*mr_compute_async)(void *kernel, TF_OpKernelContext *ctx,
                                 TF_AsyncOpKernelDoneCallback *done);
typedef void (*mr_delete)(void *kernel);

#include "capi_eager.h"
#include "capi_graph.h"
#include "capi_kernel.h"
#include "capi_operation.h"
#include "capi_session.h"
#include "capi_tensor.h"

// MR_CAPI lists every function: result, name, parameters, arguments.
#define MR_CAPI(X)     \
  MR_CAPI_TENSOR(X)    \
  MR_CAPI_GRAPH(X)     \
  MR_CAPI_OPERATION(X) \
  MR_CAPI_SESSION(X)   \
  MR_CAPI_KERNEL(X)    \
  MR_CAPI_EAGER(X)

#define MR_POINTER(ret, name, params, args) ret(*name) params;
struct mr_capi {
  MR_CAPI(MR_POINTER)
};
#undef MR_POINTER

#pragma GCC visibility push(hidden)

extern struct mr_capi mr_tf;

// mr_open opens both libraries and finds every function. It returns NULL, or
// an error message that the caller frees. With now, the dynamic linker resolves
// all functions at once: if one library lacks a function that the other needs,
// that is an error here and does not abort the process later.
char *mr_open(const char *framework, const char *cc, int now);

// mr_accept_unshaped has a graph accept operations without a shape function, as
// Python's graphs do: a library's operations may have none. Their outputs have unknown
// shapes. A libtensorflow without this function refuses them.
void mr_accept_unshaped(TF_Graph *g);

// mr_info holds a tensor's properties, which Go gets in one call.
enum { MR_INFO_DIMS = 8 };
// TensorFlow stores a string from this length on outside of its TF_TString.
enum { MR_LONG_STRING = 23 };
typedef struct mr_info {
  TF_DataType dtype;
  int rank;
  int64_t elements;
  size_t bytes;
  size_t long_strings;  // bytes of strings stored outside of data
  void *data;
  int64_t dims[MR_INFO_DIMS];  // the first dimensions
} mr_info;

void mr_describe(const TF_Tensor *t, mr_info *info);

// mr_run calls TF_SessionRun. It returns NULL, or the status of a failure. The
// options are a RunOptions message, or empty; metadata may be NULL.
TF_Status *mr_run(TF_Session *s, const void *options, size_t options_len,
                  const TF_Output *in, TF_Tensor *const *in_values, int nin,
                  const TF_Output *out, TF_Tensor **out_values, int nout,
                  TF_Operation *const *targets, int ntargets,
                  TF_Buffer *metadata);

// mr_run_bare calls TF_SessionRun n times in a row with nothing in between. The
// benchmark of the binding compares with this function. It returns NULL, or the
// status of the first failure.
TF_Status *mr_run_bare(int64_t n, TF_Session *s, const void *options,
                       size_t options_len, const TF_Output *in,
                       TF_Tensor *const *in_values, int nin,
                       const TF_Output *out, int nout);

// mr_new_tensor makes a tensor of len bytes, and mr_new_strings one of n empty
// strings. Both return NULL at once if memory is exhausted; TF_AllocateTensor
// would retry for ten seconds.
TF_Tensor *mr_new_tensor(TF_DataType dt, const int64_t *dims, int rank,
                         size_t len);
TF_Tensor *mr_new_strings(const int64_t *dims, int rank, int64_t n);

// mr_new_pinned makes a tensor over memory that is not copied. TensorFlow calls
// millrace_unpin with the handle when it no longer uses the memory.
TF_Tensor *mr_new_pinned(TF_DataType dt, const int64_t *dims, int rank,
                         void *data, size_t len, uintptr_t handle);

// mr_reshape_strings makes a tensor of another shape over the strings of t, and
// takes ownership of t. TF_TensorBitcastFrom does not support strings.
TF_Tensor *mr_reshape_strings(TF_Tensor *t, const int64_t *dims, int rank);

// mr_split_rows splits a tensor of numbers along its first dimension into n
// tensors of the given number of rows; the last may have fewer. The parts share
// its memory, which is freed after the last of them and the tensor itself. A
// part whose start is not aligned as TensorFlow requires is a copy. It returns
// 0 and makes no tensor if memory is exhausted.
int mr_split_rows(const TF_Tensor *t, const int64_t *dims, int rank,
                  int64_t rows, TF_Tensor **out, int64_t n);

// mr_set_strings copies n strings, which are contiguous in packed, to the
// tensor's elements from first on. ends[i] is the end of string i in packed.
void mr_set_strings(TF_Tensor *t, int64_t first, int64_t n, const char *packed,
                    const int64_t *ends);

// mr_string_ends writes the offset at which each string of the tensor ends when
// the strings are packed one after the other.
void mr_string_ends(const TF_Tensor *t, int64_t n, int64_t *ends);

// mr_copy_strings copies n strings of one tensor to another, which may be the
// same if the elements are not. It returns by how many bytes the memory of the
// target's strings outside of their 24 bytes has grown.
int64_t mr_copy_strings(TF_Tensor *to, int64_t at, const TF_Tensor *from,
                        int64_t start, int64_t n);

// mr_pack_strings copies the tensor's strings to packed, one after the other.
void mr_pack_strings(const TF_Tensor *t, int64_t n, char *packed);

// mr_string returns the bytes of one string, owned by the tensor.
const char *mr_string(const TF_Tensor *t, int64_t i, size_t *len);

// mr_free_buffer frees the memory of a TF_Buffer that was returned by value.
void mr_free_buffer(TF_Buffer b);

#pragma GCC visibility pop

#define MR_WRAPPER(ret, name, params, args) \
  static inline ret name params { return mr_tf.name args; }
MR_CAPI(MR_WRAPPER)
#undef MR_WRAPPER

#endif  // MILLRACE_CAPI_H_
