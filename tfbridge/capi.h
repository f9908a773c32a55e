// The part of TensorFlow's C API that this package uses, written out so that
// building needs no TensorFlow. Every function is a static wrapper around a
// pointer that mr_open fills in with dlsym. The wrappers keep TensorFlow's
// names, yet no symbol of such a name leaves this program: one that did would
// take the place of libtensorflow's own and call itself.
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
typedef struct TF_Library TF_Library;
typedef struct TF_OpDefinitionBuilder TF_OpDefinitionBuilder;
typedef struct TF_ShapeInferenceContext TF_ShapeInferenceContext;
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

// MR_CAPI lists every function: result, name, parameters, arguments.
#define MR_CAPI(X)                                                             \
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
  /* graph */                                                                  \
  X(TF_Graph *, TF_NewGraph, (void), ())                                       \
  X(void, TF_DeleteGraph, (TF_Graph * g), (g))                                 \
  X(void, TF_GraphSetTensorShape,                                              \
    (TF_Graph * g, TF_Output o, const int64_t *dims, int rank, TF_Status *st), \
    (g, o, dims, rank, st))                                                    \
  X(int, TF_GraphGetTensorNumDims,                                             \
    (TF_Graph * g, TF_Output o, TF_Status *st), (g, o, st))                    \
  X(void, TF_GraphGetTensorShape,                                              \
    (TF_Graph * g, TF_Output o, int64_t *dims, int rank, TF_Status *st),       \
    (g, o, dims, rank, st))                                                    \
  X(TF_Operation *, TF_GraphOperationByName,                                   \
    (TF_Graph * g, const char *name), (g, name))                               \
  X(TF_Operation *, TF_GraphNextOperation, (TF_Graph * g, size_t *pos),        \
    (g, pos))                                                                  \
  X(void, TF_GraphToGraphDef, (TF_Graph * g, TF_Buffer *out, TF_Status *st),   \
    (g, out, st))                                                              \
  X(void, TF_GraphGetOpDef,                                                    \
    (TF_Graph * g, const char *op, TF_Buffer *out, TF_Status *st),             \
    (g, op, out, st))                                                          \
  /* import */                                                                 \
  X(TF_ImportGraphDefOptions *, TF_NewImportGraphDefOptions, (void), ())       \
  X(void, TF_DeleteImportGraphDefOptions, (TF_ImportGraphDefOptions * o), (o)) \
  X(void, TF_ImportGraphDefOptionsSetPrefix,                                   \
    (TF_ImportGraphDefOptions * o, const char *prefix), (o, prefix))           \
  X(void, TF_ImportGraphDefOptionsSetDefaultDevice,                            \
    (TF_ImportGraphDefOptions * o, const char *device), (o, device))           \
  X(void, TF_ImportGraphDefOptionsSetUniquifyNames,                            \
    (TF_ImportGraphDefOptions * o, unsigned char yes), (o, yes))               \
  X(void, TF_ImportGraphDefOptionsSetUniquifyPrefix,                           \
    (TF_ImportGraphDefOptions * o, unsigned char yes), (o, yes))               \
  X(void, TF_ImportGraphDefOptionsAddInputMapping,                             \
    (TF_ImportGraphDefOptions * o, const char *src, int index, TF_Output dst), \
    (o, src, index, dst))                                                      \
  X(void, TF_ImportGraphDefOptionsRemapControlDependency,                      \
    (TF_ImportGraphDefOptions * o, const char *src, TF_Operation *dst),        \
    (o, src, dst))                                                             \
  X(void, TF_ImportGraphDefOptionsAddControlDependency,                        \
    (TF_ImportGraphDefOptions * o, TF_Operation *op), (o, op))                 \
  X(void, TF_ImportGraphDefOptionsAddReturnOutput,                             \
    (TF_ImportGraphDefOptions * o, const char *op, int index),                 \
    (o, op, index))                                                            \
  X(void, TF_ImportGraphDefOptionsAddReturnOperation,                          \
    (TF_ImportGraphDefOptions * o, const char *op), (o, op))                   \
  X(TF_ImportGraphDefResults *, TF_GraphImportGraphDefWithResults,             \
    (TF_Graph * g, const TF_Buffer *def, const TF_ImportGraphDefOptions *o,    \
     TF_Status *st),                                                           \
    (g, def, o, st))                                                           \
  X(void, TF_ImportGraphDefResultsReturnOutputs,                               \
    (TF_ImportGraphDefResults * r, int *n, TF_Output **outputs),               \
    (r, n, outputs))                                                           \
  X(void, TF_ImportGraphDefResultsReturnOperations,                            \
    (TF_ImportGraphDefResults * r, int *n, TF_Operation ***ops), (r, n, ops))  \
  X(void, TF_ImportGraphDefResultsMissingUnusedInputMappings,                  \
    (TF_ImportGraphDefResults * r, int *n, const char ***names, int **index),  \
    (r, n, names, index))                                                      \
  X(void, TF_DeleteImportGraphDefResults, (TF_ImportGraphDefResults * r), (r)) \
  /* building an operation */                                                  \
  X(TF_OperationDescription *, TF_NewOperation,                                \
    (TF_Graph * g, const char *type, const char *name), (g, type, name))       \
  X(TF_Operation *, TF_FinishOperation,                                        \
    (TF_OperationDescription * d, TF_Status *st), (d, st))                     \
  X(void, TF_SetDevice, (TF_OperationDescription * d, const char *device),     \
    (d, device))                                                               \
  X(void, TF_AddInput, (TF_OperationDescription * d, TF_Output in), (d, in))   \
  X(void, TF_AddInputList,                                                     \
    (TF_OperationDescription * d, const TF_Output *in, int n), (d, in, n))     \
  X(void, TF_AddControlInput, (TF_OperationDescription * d, TF_Operation *op), \
    (d, op))                                                                   \
  X(void, TF_SetAttrString,                                                    \
    (TF_OperationDescription * d, const char *a, const void *p, size_t n),     \
    (d, a, p, n))                                                              \
  X(void, TF_SetAttrStringList,                                                \
    (TF_OperationDescription * d, const char *a, const void *const *p,         \
     const size_t *len, int n),                                                \
    (d, a, p, len, n))                                                         \
  X(void, TF_SetAttrInt,                                                       \
    (TF_OperationDescription * d, const char *a, int64_t v), (d, a, v))        \
  X(void, TF_SetAttrIntList,                                                   \
    (TF_OperationDescription * d, const char *a, const int64_t *v, int n),     \
    (d, a, v, n))                                                              \
  X(void, TF_SetAttrFloat,                                                     \
    (TF_OperationDescription * d, const char *a, float v), (d, a, v))          \
  X(void, TF_SetAttrFloatList,                                                 \
    (TF_OperationDescription * d, const char *a, const float *v, int n),       \
    (d, a, v, n))                                                              \
  X(void, TF_SetAttrBool,                                                      \
    (TF_OperationDescription * d, const char *a, unsigned char v), (d, a, v))  \
  X(void, TF_SetAttrBoolList,                                                  \
    (TF_OperationDescription * d, const char *a, const unsigned char *v,       \
     int n),                                                                   \
    (d, a, v, n))                                                              \
  X(void, TF_SetAttrType,                                                      \
    (TF_OperationDescription * d, const char *a, TF_DataType v), (d, a, v))    \
  X(void, TF_SetAttrTypeList,                                                  \
    (TF_OperationDescription * d, const char *a, const TF_DataType *v, int n), \
    (d, a, v, n))                                                              \
  X(void, TF_SetAttrFuncName,                                                  \
    (TF_OperationDescription * d, const char *a, const char *p, size_t n),     \
    (d, a, p, n))                                                              \
  X(void, TF_SetAttrShape,                                                     \
    (TF_OperationDescription * d, const char *a, const int64_t *v, int rank),  \
    (d, a, v, rank))                                                           \
  X(void, TF_SetAttrShapeList,                                                 \
    (TF_OperationDescription * d, const char *a, const int64_t *const *dims,   \
     const int *ranks, int n),                                                 \
    (d, a, dims, ranks, n))                                                    \
  X(void, TF_SetAttrTensor,                                                    \
    (TF_OperationDescription * d, const char *a, TF_Tensor *v, TF_Status *st), \
    (d, a, v, st))                                                             \
  X(void, TF_SetAttrTensorList,                                                \
    (TF_OperationDescription * d, const char *a, TF_Tensor *const *v, int n,   \
     TF_Status *st),                                                           \
    (d, a, v, n, st))                                                          \
  X(void, TF_SetAttrValueProto,                                                \
    (TF_OperationDescription * d, const char *a, const void *p, size_t n,      \
     TF_Status *st),                                                           \
    (d, a, p, n, st))                                                          \
  /* reading an operation */                                                   \
  X(const char *, TF_OperationName, (TF_Operation * op), (op))                 \
  X(const char *, TF_OperationOpType, (TF_Operation * op), (op))               \
  X(const char *, TF_OperationDevice, (TF_Operation * op), (op))               \
  X(int, TF_OperationNumOutputs, (TF_Operation * op), (op))                    \
  X(TF_DataType, TF_OperationOutputType, (TF_Output o), (o))                   \
  X(int, TF_OperationOutputListLength,                                         \
    (TF_Operation * op, const char *name, TF_Status *st), (op, name, st))      \
  X(int, TF_OperationNumInputs, (TF_Operation * op), (op))                     \
  X(TF_DataType, TF_OperationInputType, (TF_Input in), (in))                   \
  X(int, TF_OperationInputListLength,                                          \
    (TF_Operation * op, const char *name, TF_Status *st), (op, name, st))      \
  X(void, TF_OperationAllInputs,                                               \
    (TF_Operation * op, TF_Output *inputs, int n), (op, inputs, n))            \
  X(int, TF_OperationOutputNumConsumers, (TF_Output o), (o))                   \
  X(int, TF_OperationOutputConsumers, (TF_Output o, TF_Input * in, int n),     \
    (o, in, n))                                                                \
  X(int, TF_OperationNumControlInputs, (TF_Operation * op), (op))              \
  X(int, TF_OperationGetControlInputs,                                         \
    (TF_Operation * op, TF_Operation **ops, int n), (op, ops, n))              \
  X(void, TF_OperationToNodeDef,                                               \
    (TF_Operation * op, TF_Buffer *out, TF_Status *st), (op, out, st))         \
  X(int, TF_OperationGetNumAttrs, (TF_Operation * op), (op))                   \
  X(int, TF_OperationGetAttrNameLength, (TF_Operation * op, int i), (op, i))   \
  X(void, TF_OperationGetAttrName,                                             \
    (TF_Operation * op, int i, char *out, TF_Status *st), (op, i, out, st))    \
  X(TF_AttrMetadata, TF_OperationGetAttrMetadata,                              \
    (TF_Operation * op, const char *a, TF_Status *st), (op, a, st))            \
  X(void, TF_OperationGetAttrString,                                           \
    (TF_Operation * op, const char *a, void *v, size_t n, TF_Status *st),      \
    (op, a, v, n, st))                                                         \
  X(void, TF_OperationGetAttrStringList,                                       \
    (TF_Operation * op, const char *a, void **v, size_t *len, int n,           \
     void *storage, size_t size, TF_Status *st),                               \
    (op, a, v, len, n, storage, size, st))                                     \
  X(void, TF_OperationGetAttrIntList,                                          \
    (TF_Operation * op, const char *a, int64_t *v, int n, TF_Status *st),      \
    (op, a, v, n, st))                                                         \
  X(void, TF_OperationGetAttrInt,                                              \
    (TF_Operation * op, const char *a, int64_t *v, TF_Status *st),             \
    (op, a, v, st))                                                            \
  X(void, TF_OperationGetAttrFloat,                                            \
    (TF_Operation * op, const char *a, float *v, TF_Status *st),               \
    (op, a, v, st))                                                            \
  X(void, TF_OperationGetAttrFloatList,                                        \
    (TF_Operation * op, const char *a, float *v, int n, TF_Status *st),        \
    (op, a, v, n, st))                                                         \
  X(void, TF_OperationGetAttrBool,                                             \
    (TF_Operation * op, const char *a, unsigned char *v, TF_Status *st),       \
    (op, a, v, st))                                                            \
  X(void, TF_OperationGetAttrBoolList,                                         \
    (TF_Operation * op, const char *a, unsigned char *v, int n,                \
     TF_Status *st),                                                           \
    (op, a, v, n, st))                                                         \
  X(void, TF_OperationGetAttrType,                                             \
    (TF_Operation * op, const char *a, TF_DataType *v, TF_Status *st),         \
    (op, a, v, st))                                                            \
  X(void, TF_OperationGetAttrTypeList,                                         \
    (TF_Operation * op, const char *a, TF_DataType *v, int n, TF_Status *st),  \
    (op, a, v, n, st))                                                         \
  X(void, TF_OperationGetAttrShape,                                            \
    (TF_Operation * op, const char *a, int64_t *v, int rank, TF_Status *st),   \
    (op, a, v, rank, st))                                                      \
  X(void, TF_OperationGetAttrShapeList,                                        \
    (TF_Operation * op, const char *a, int64_t **dims, int *ranks, int n,      \
     int64_t *storage, int size, TF_Status *st),                               \
    (op, a, dims, ranks, n, storage, size, st))                                \
  X(void, TF_OperationGetAttrTensor,                                           \
    (TF_Operation * op, const char *a, TF_Tensor **v, TF_Status *st),          \
    (op, a, v, st))                                                            \
  X(void, TF_OperationGetAttrTensorList,                                       \
    (TF_Operation * op, const char *a, TF_Tensor **v, int n, TF_Status *st),   \
    (op, a, v, n, st))                                                         \
  X(void, TF_OperationGetAttrValueProto,                                       \
    (TF_Operation * op, const char *a, TF_Buffer *out, TF_Status *st),         \
    (op, a, out, st))                                                          \
  /* function */                                                               \
  X(TF_Function *, TF_GraphToFunctionWithControlOutputs,                       \
    (const TF_Graph *body, const char *name, unsigned char append_hash,        \
     int nops, const TF_Operation *const *ops, int nin, const TF_Output *in,   \
     int nout, const TF_Output *out, const char *const *out_names, int nctl,   \
     const TF_Operation *const *ctl, const char *const *ctl_names,             \
     const TF_FunctionOptions *opts, const char *description, TF_Status *st),  \
    (body, name, append_hash, nops, ops, nin, in, nout, out, out_names, nctl,  \
     ctl, ctl_names, opts, description, st))                                   \
  X(const char *, TF_FunctionName, (TF_Function * f), (f))                     \
  X(void, TF_FunctionToFunctionDef,                                            \
    (TF_Function * f, TF_Buffer *out, TF_Status *st), (f, out, st))            \
  X(TF_Function *, TF_FunctionImportFunctionDef,                               \
    (const void *p, size_t n, TF_Status *st), (p, n, st))                      \
  X(void, TF_FunctionSetAttrValueProto,                                        \
    (TF_Function * f, const char *a, const void *p, size_t n, TF_Status *st),  \
    (f, a, p, n, st))                                                          \
  X(void, TF_DeleteFunction, (TF_Function * f), (f))                           \
  X(void, TF_GraphCopyFunction,                                                \
    (TF_Graph * g, const TF_Function *f, const TF_Function *grad,              \
     TF_Status *st),                                                           \
    (g, f, grad, st))                                                          \
  X(int, TF_GraphNumFunctions, (TF_Graph * g), (g))                            \
  X(int, TF_GraphGetFunctions,                                                 \
    (TF_Graph * g, TF_Function **f, int n, TF_Status *st), (g, f, n, st))      \
  /* session */                                                                \
  X(TF_SessionOptions *, TF_NewSessionOptions, (void), ())                     \
  X(void, TF_SetTarget, (TF_SessionOptions * o, const char *target),           \
    (o, target))                                                               \
  X(void, TF_SetConfig,                                                        \
    (TF_SessionOptions * o, const void *p, size_t n, TF_Status *st),           \
    (o, p, n, st))                                                             \
  X(void, TF_DeleteSessionOptions, (TF_SessionOptions * o), (o))               \
  X(TF_Session *, TF_NewSession,                                               \
    (TF_Graph * g, const TF_SessionOptions *o, TF_Status *st), (g, o, st))     \
  X(TF_Session *, TF_LoadSessionFromSavedModel,                                \
    (const TF_SessionOptions *o, const TF_Buffer *run_options,                 \
     const char *dir, const char *const *tags, int ntags, TF_Graph *g,         \
     TF_Buffer *meta_graph, TF_Status *st),                                    \
    (o, run_options, dir, tags, ntags, g, meta_graph, st))                     \
  X(void, TF_CloseSession, (TF_Session * s, TF_Status *st), (s, st))           \
  X(void, TF_DeleteSession, (TF_Session * s, TF_Status *st), (s, st))          \
  X(void, TF_SessionRun,                                                       \
    (TF_Session * s, const TF_Buffer *run_options, const TF_Output *in,        \
     TF_Tensor *const *in_values, int nin, const TF_Output *out,               \
     TF_Tensor **out_values, int nout, const TF_Operation *const *targets,     \
     int ntargets, TF_Buffer *metadata, TF_Status *st),                        \
    (s, run_options, in, in_values, nin, out, out_values, nout, targets,       \
     ntargets, metadata, st))                                                  \
  X(TF_DeviceList *, TF_SessionListDevices, (TF_Session * s, TF_Status *st),   \
    (s, st))                                                                   \
  X(void, TF_DeleteDeviceList, (TF_DeviceList * l), (l))                       \
  X(int, TF_DeviceListCount, (const TF_DeviceList *l), (l))                    \
  X(const char *, TF_DeviceListName,                                           \
    (const TF_DeviceList *l, int i, TF_Status *st), (l, i, st))                \
  X(const char *, TF_DeviceListType,                                           \
    (const TF_DeviceList *l, int i, TF_Status *st), (l, i, st))                \
  X(int64_t, TF_DeviceListMemoryBytes,                                         \
    (const TF_DeviceList *l, int i, TF_Status *st), (l, i, st))                \
  /* operations of our own */                                                  \
  X(void, TF_SetStatus,                                                        \
    (TF_Status * s, TF_Code code, const char *msg), (s, code, msg))            \
  X(TF_OpDefinitionBuilder *, TF_NewOpDefinitionBuilder,                       \
    (const char *name), (name))                                                \
  X(void, TF_OpDefinitionBuilderAddAttr,                                       \
    (TF_OpDefinitionBuilder * b, const char *spec), (b, spec))                 \
  X(void, TF_OpDefinitionBuilderAddInput,                                      \
    (TF_OpDefinitionBuilder * b, const char *spec), (b, spec))                 \
  X(void, TF_OpDefinitionBuilderAddOutput,                                     \
    (TF_OpDefinitionBuilder * b, const char *spec), (b, spec))                 \
  X(void, TF_OpDefinitionBuilderSetIsStateful,                                 \
    (TF_OpDefinitionBuilder * b, unsigned char yes), (b, yes))                 \
  X(void, TF_OpDefinitionBuilderSetShapeInferenceFunction,                     \
    (TF_OpDefinitionBuilder * b, mr_infer fn), (b, fn))                        \
  X(void, TF_ShapeInferenceContextSetUnknownShape,                             \
    (TF_ShapeInferenceContext * c, TF_Status *st), (c, st))                    \
  X(void, TF_RegisterOpDefinition,                                             \
    (TF_OpDefinitionBuilder * b, TF_Status *st), (b, st))                      \
  X(TF_KernelBuilder *, TF_NewKernelBuilder,                                   \
    (const char *op, const char *device, mr_create create,                     \
     mr_compute compute, mr_delete del),                                       \
    (op, device, create, compute, del))                                        \
  X(TF_KernelBuilder *, TF_NewAsyncKernelBuilder,                              \
    (const char *op, const char *device, mr_create create,                     \
     mr_compute_async compute, mr_delete del),                                 \
    (op, device, create, compute, del))                                        \
  X(void, TF_RegisterKernelBuilder,                                            \
    (const char *name, TF_KernelBuilder *b, TF_Status *st),                    \
    (name, b, st))                                                             \
  X(void, TF_OpKernelConstruction_GetAttrInt64,                                \
    (TF_OpKernelConstruction * c, const char *a, int64_t *v,                   \
     TF_Status *st),                                                           \
    (c, a, v, st))                                                             \
  X(void, TF_OpKernelConstruction_Failure,                                     \
    (TF_OpKernelConstruction * c, TF_Status *st),                              \
    (c, st))                                                                   \
  X(void, TF_OpKernelContext_Failure,                                          \
    (TF_OpKernelContext * c, TF_Status *st),                                   \
    (c, st))                                                                   \
  X(int, TF_NumInputs, (TF_OpKernelContext * c), (c))                          \
  X(void, TF_GetInput,                                                         \
    (TF_OpKernelContext * c, int i, TF_Tensor **t, TF_Status *st),             \
    (c, i, t, st))                                                             \
  X(void, TF_SetOutput,                                                        \
    (TF_OpKernelContext * c, int i, const TF_Tensor *t, TF_Status *st),        \
    (c, i, t, st))                                                             \
  X(void, TF_RunAsyncOpKernelDoneCallback,                                     \
    (TF_AsyncOpKernelDoneCallback * done),                                     \
    (done))                                                                    \
  /* library */                                                                \
  X(TF_Library *, TF_LoadLibrary, (const char *path, TF_Status *st),           \
    (path, st))                                                                \
  X(TF_Buffer, TF_GetOpList, (TF_Library * l), (l))                            \
  X(void, TF_DeleteLibraryHandle, (TF_Library * l), (l))                       \
  X(TF_Library *, TF_LoadPluggableDeviceLibrary,                               \
    (const char *path, TF_Status *st), (path, st))                             \
  X(void, TF_DeletePluggableDeviceLibraryHandle, (TF_Library * l), (l))        \
  X(TF_Buffer *, TF_GetAllOpList, (void), ())                                  \
  MR_CAPI_EAGER(X)

#define MR_POINTER(ret, name, params, args) ret(*name) params;
struct mr_capi {
  MR_CAPI(MR_POINTER)
};
#undef MR_POINTER

#pragma GCC visibility push(hidden)

extern struct mr_capi mr_tf;

// mr_open opens both libraries and finds every function. It returns NULL, or
// what went wrong in memory for the caller to free. With now, a function that
// one library lacks and the other needs is an error here, not a death later.
char *mr_open(const char *framework, const char *cc, int now);

// mr_info is what Go wants to know of a tensor, fetched in one call.
enum { MR_INFO_DIMS = 8 };
typedef struct mr_info {
  TF_DataType dtype;
  int rank;
  int64_t elements;
  size_t bytes;
  void *data;
  int64_t dims[MR_INFO_DIMS];  // the first ones
} mr_info;

void mr_describe(const TF_Tensor *t, mr_info *info);

// mr_run is TF_SessionRun that returns NULL, or the status of its failure.
// The options are a RunOptions message, or empty; metadata may be NULL.
TF_Status *mr_run(TF_Session *s, const void *options, size_t options_len,
                  const TF_Output *in, TF_Tensor *const *in_values, int nin,
                  const TF_Output *out, TF_Tensor **out_values, int nout,
                  TF_Operation *const *targets, int ntargets,
                  TF_Buffer *metadata);

// mr_run_bare is TF_SessionRun n times in a row, without anything of ours in
// between: what the binding's own benchmark compares with. It returns NULL, or
// the status of the first failure.
TF_Status *mr_run_bare(int64_t n, TF_Session *s, const void *options,
                       size_t options_len, const TF_Output *in,
                       TF_Tensor *const *in_values, int nin,
                       const TF_Output *out, int nout);

// mr_new_tensor makes a tensor of len bytes, and mr_new_strings one of n empty
// strings. They are NULL at once when there is no memory; TF_AllocateTensor
// would try for ten seconds.
TF_Tensor *mr_new_tensor(TF_DataType dt, const int64_t *dims, int rank,
                         size_t len);
TF_Tensor *mr_new_strings(const int64_t *dims, int rank, int64_t n);

// mr_new_pinned makes a tensor over memory that is not copied. It calls
// millrace_unpin with the handle when TensorFlow has let go of the memory.
TF_Tensor *mr_new_pinned(TF_DataType dt, const int64_t *dims, int rank,
                         void *data, size_t len, uintptr_t handle);

// mr_reshape_strings makes a tensor of another shape over the strings of t,
// which it takes over. TF_TensorBitcastFrom is not for strings.
TF_Tensor *mr_reshape_strings(TF_Tensor *t, const int64_t *dims, int rank);

// mr_set_strings copies n strings that lie end to end in packed to the
// tensor's elements from first on; ends[i] is where string i ends.
void mr_set_strings(TF_Tensor *t, int64_t first, int64_t n, const char *packed,
                    const int64_t *ends);

// mr_string_ends writes where each of the tensor's strings would end if they
// lay end to end.
void mr_string_ends(const TF_Tensor *t, int64_t n, int64_t *ends);

// mr_pack_strings writes the tensor's strings end to end to packed.
void mr_pack_strings(const TF_Tensor *t, int64_t n, char *packed);

// mr_string returns the bytes of one string, owned by the tensor.
const char *mr_string(const TF_Tensor *t, int64_t i, size_t *len);

// mr_free_buffer frees what a TF_Buffer returned by value holds.
void mr_free_buffer(TF_Buffer b);

#pragma GCC visibility pop

#define MR_WRAPPER(ret, name, params, args) \
  static inline ret name params { return mr_tf.name args; }
MR_CAPI(MR_WRAPPER)
#undef MR_WRAPPER

#endif  // MILLRACE_CAPI_H_
