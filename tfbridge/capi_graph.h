// Graphs, imports, functions and gradients of the C API; capi.h includes it.
#ifndef MILLRACE_CAPI_GRAPH_H_
#define MILLRACE_CAPI_GRAPH_H_

#define MR_CAPI_GRAPH(X)                                                       \
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
  /* gradients */                                                              \
  X(void, TF_AddGradientsWithPrefix,                                           \
    (TF_Graph * g, const char *prefix, TF_Output *y, int ny, TF_Output *x,     \
     int nx, TF_Output *dx, TF_Status *st, TF_Output *dy),                     \
    (g, prefix, y, ny, x, nx, dx, st, dy))

#endif  // MILLRACE_CAPI_GRAPH_H_
