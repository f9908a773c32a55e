// Building and reading operations in the C API; capi.h includes it.
#ifndef MILLRACE_CAPI_OPERATION_H_
#define MILLRACE_CAPI_OPERATION_H_

#define MR_CAPI_OPERATION(X)                                                   \
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
  X(TF_Output, TF_OperationInput, (TF_Input in), (in))

#endif  // MILLRACE_CAPI_OPERATION_H_
