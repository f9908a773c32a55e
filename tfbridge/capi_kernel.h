// The part of the C API for custom operations and kernels; capi.h includes it.
#ifndef MILLRACE_CAPI_KERNEL_H_
#define MILLRACE_CAPI_KERNEL_H_

#define MR_CAPI_KERNEL(X)                                                      \
  /* file systems of our own */                                                \
  X(void, TF_RegisterFilesystemPlugin,                                         \
    (const char *path, TF_Status *st), (path, st))                             \
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
  X(TF_ShapeHandle *, TF_NewShapeHandle, (void), ())                           \
  X(void, TF_DeleteShapeHandle, (TF_ShapeHandle * s), (s))                     \
  X(void, TF_ShapeInferenceContextGetInput,                                    \
    (TF_ShapeInferenceContext * c, int i, TF_ShapeHandle *s, TF_Status *st),   \
    (c, i, s, st))                                                             \
  X(void, TF_ShapeInferenceContextSetOutput,                                   \
    (TF_ShapeInferenceContext * c, int i, TF_ShapeHandle *s, TF_Status *st),   \
    (c, i, s, st))                                                             \
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
  X(void, TF_OpKernelConstruction_GetAttrSize,                                 \
    (TF_OpKernelConstruction * c, const char *a, int32_t *items,               \
     int32_t *bytes, TF_Status *st),                                           \
    (c, a, items, bytes, st))                                                  \
  X(void, TF_OpKernelConstruction_GetAttrString,                               \
    (TF_OpKernelConstruction * c, const char *a, char *v, size_t max,          \
     TF_Status *st),                                                           \
    (c, a, v, max, st))                                                        \
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
    (done))

#endif  // MILLRACE_CAPI_KERNEL_H_
