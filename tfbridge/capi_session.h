// Sessions, partial runs, servers and libraries of the C API; capi.h includes it.
#ifndef MILLRACE_CAPI_SESSION_H_
#define MILLRACE_CAPI_SESSION_H_

#define MR_CAPI_SESSION(X)                                                     \
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
  /* partial runs */                                                           \
  X(void, TF_SessionPRunSetup,                                                 \
    (TF_Session * s, const TF_Output *in, int nin, const TF_Output *out,       \
     int nout, TF_Operation *const *targets, int ntargets,                     \
     const char **handle, TF_Status *st),                                      \
    (s, in, nin, out, nout, targets, ntargets, handle, st))                    \
  X(void, TF_SessionPRun,                                                      \
    (TF_Session * s, const char *handle, const TF_Output *in,                  \
     TF_Tensor *const *in_values, int nin, const TF_Output *out,               \
     TF_Tensor **out_values, int nout, TF_Operation *const *targets,           \
     int ntargets, TF_Status *st),                                             \
    (s, handle, in, in_values, nin, out, out_values, nout, targets, ntargets,  \
     st))                                                                      \
  X(void, TF_DeletePRunHandle, (const char *handle), (handle))                 \
  /* servers */                                                                \
  X(TF_Server *, TF_NewServer, (const void *def, size_t n, TF_Status *st),     \
    (def, n, st))                                                              \
  X(void, TF_ServerStart, (TF_Server * s, TF_Status *st), (s, st))             \
  X(const char *, TF_ServerTarget, (TF_Server * s), (s))                       \
  /* library */                                                                \
  X(TF_Library *, TF_LoadLibrary, (const char *path, TF_Status *st),           \
    (path, st))                                                                \
  X(TF_Buffer, TF_GetOpList, (TF_Library * l), (l))                            \
  X(void, TF_DeleteLibraryHandle, (TF_Library * l), (l))                       \
  X(TF_Library *, TF_LoadPluggableDeviceLibrary,                               \
    (const char *path, TF_Status *st), (path, st))                             \
  X(void, TF_DeletePluggableDeviceLibraryHandle, (TF_Library * l), (l))        \
  X(TF_Buffer *, TF_GetRegisteredKernelsForOp,                                 \
    (const char *name, TF_Status *st), (name, st))                             \
  X(TF_Buffer *, TF_GetAllOpList, (void), ())

#endif  // MILLRACE_CAPI_SESSION_H_
