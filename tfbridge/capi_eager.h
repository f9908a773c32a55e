// The part of the C API's eager execution that tensors on devices need; capi.h
// includes it.
#ifndef MILLRACE_CAPI_EAGER_H_
#define MILLRACE_CAPI_EAGER_H_

typedef struct TFE_Context TFE_Context;
typedef struct TFE_ContextOptions TFE_ContextOptions;
typedef struct TFE_TensorHandle TFE_TensorHandle;

#define MR_CAPI_EAGER(X)                                                       \
  /* context */                                                                \
  X(TFE_ContextOptions *, TFE_NewContextOptions, (void), ())                   \
  X(void, TFE_ContextOptionsSetConfig,                                         \
    (TFE_ContextOptions * o, const void *p, size_t n, TF_Status *st),          \
    (o, p, n, st))                                                             \
  X(void, TFE_ContextOptionsSetAsync,                                          \
    (TFE_ContextOptions * o, unsigned char yes), (o, yes))                     \
  X(void, TFE_DeleteContextOptions, (TFE_ContextOptions * o), (o))             \
  X(TFE_Context *, TFE_NewContext,                                             \
    (const TFE_ContextOptions *o, TF_Status *st), (o, st))                     \
  X(void, TFE_DeleteContext, (TFE_Context * c), (c))                           \
  X(TF_DeviceList *, TFE_ContextListDevices, (TFE_Context * c, TF_Status *st), \
    (c, st))                                                                   \
  /* tensor handle */                                                          \
  X(TFE_TensorHandle *, TFE_NewTensorHandle,                                   \
    (const TF_Tensor *t, TF_Status *st), (t, st))                              \
  X(void, TFE_DeleteTensorHandle, (TFE_TensorHandle * h), (h))                 \
  X(TF_DataType, TFE_TensorHandleDataType, (TFE_TensorHandle * h), (h))        \
  X(int, TFE_TensorHandleNumDims, (TFE_TensorHandle * h, TF_Status *st),       \
    (h, st))                                                                   \
  X(int64_t, TFE_TensorHandleDim,                                              \
    (TFE_TensorHandle * h, int i, TF_Status *st), (h, i, st))                  \
  X(int64_t, TFE_TensorHandleNumElements,                                      \
    (TFE_TensorHandle * h, TF_Status *st), (h, st))                            \
  X(const char *, TFE_TensorHandleDeviceName,                                  \
    (TFE_TensorHandle * h, TF_Status *st), (h, st))                            \
  X(const char *, TFE_TensorHandleBackingDeviceName,                           \
    (TFE_TensorHandle * h, TF_Status *st), (h, st))                            \
  X(TF_Tensor *, TFE_TensorHandleResolve,                                      \
    (TFE_TensorHandle * h, TF_Status *st), (h, st))                            \
  X(TFE_TensorHandle *, TFE_TensorHandleCopyToDevice,                          \
    (TFE_TensorHandle * h, TFE_Context * c, const char *device,                \
     TF_Status *st),                                                           \
    (h, c, device, st))

#endif  // MILLRACE_CAPI_EAGER_H_
