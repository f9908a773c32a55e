#define _GNU_SOURCE  // RTLD_DEFAULT
#include "callback.h"
#include "denormals.h"

#include <dlfcn.h>
#include <string.h>

#include "_cgo_export.h"

enum { INT64 = 9, INVALID_ARGUMENT = 3, UNIMPLEMENTED = 12 };

_Thread_local int64_t mr_session_here;

static void infer_nothing(TF_ShapeInferenceContext *ctx, TF_Status *st) {
  TF_ShapeInferenceContextSetUnknownShape(ctx, st);
}

// The kernel of MillraceSession holds the session's token. TensorFlow creates
// the kernels of a session's outermost graph in the thread that runs the
// session, and mr_run has stored the session in that thread.

static void *session_create(TF_OpKernelConstruction *ctx) {
  (void)ctx;
  int64_t *session = malloc(sizeof *session);
  if (session) *session = mr_session_here;
  return session;
}

static void free_token(void *data, size_t len, void *arg) {
  (void)len;
  (void)arg;
  free(data);
}

static TF_Tensor *new_scalar(int64_t value, mr_deallocator free_data) {
  enum { ALIGNMENT = 64 };  // otherwise TensorFlow would copy it
  void *data = NULL;
  if (posix_memalign(&data, ALIGNMENT, ALIGNMENT) != 0) return NULL;
  *(int64_t *)data = value;
  return TF_NewTensor(INT64, NULL, 0, data, sizeof value, free_data, NULL);
}

static void session_compute(void *kernel, TF_OpKernelContext *ctx) {
  TF_Status *st = TF_NewStatus();
  TF_Tensor *t = kernel ? new_scalar(*(int64_t *)kernel, free_token) : NULL;
  if (t) {
    TF_SetOutput(ctx, 0, t, st);
    TF_DeleteTensor(t);
  } else {
    TF_SetStatus(st, INVALID_ARGUMENT, "no memory");
  }
  if (TF_GetCode(st) != 0) TF_OpKernelContext_Failure(ctx, st);
  TF_DeleteStatus(st);
}

// The kernel of MillraceGo and MillraceGoPure holds the id of a Go function.

static void *go_create(TF_OpKernelConstruction *ctx) {
  int64_t *id = malloc(sizeof *id);
  TF_Status *st = TF_NewStatus();
  if (id) {
    *id = 0;
    TF_OpKernelConstruction_GetAttrInt64(ctx, "id", id, st);
  }
  if (TF_GetCode(st) != 0) TF_OpKernelConstruction_Failure(ctx, st);
  TF_DeleteStatus(st);
  return id;
}

// take_done moves TensorFlow's completion callback into call. The C API gives
// the kernel a pointer to a std::function<void()> that is a parameter of
// TensorFlow's caller, which destroys it as soon as the kernel returns. An
// asynchronous kernel needs it longer.
//
// libstdc++'s std::function has four words, which may be moved as they are:
//
//   | functor | functor | manager | invoker |
//
// Without a manager it is empty, so clearing the original leaves nothing for
// TensorFlow to destroy.
static void take_done(mr_call *call, TF_AsyncOpKernelDoneCallback *done) {
  memcpy(call->done, done, sizeof call->done);
  memset(done, 0, sizeof call->done);
}

// drop_done destroys the callback that take_done moved.
static void drop_done(mr_call *call) {
  enum { MANAGER = 2, DESTROY = 3 };
  int (*manager)(void *, const void *, int) = (int (*)(void *, const void *, int))call->done[MANAGER];
  if (manager) manager(call->done, call->done, DESTROY);
}

static void go_compute(void *kernel, TF_OpKernelContext *ctx, TF_AsyncOpKernelDoneCallback *done) {
  int n = TF_NumInputs(ctx);
  mr_call *call = malloc(sizeof *call);
  TF_Tensor **in = calloc((size_t)n + 1, sizeof *in);
  TF_Status *st = TF_NewStatus();
  if (!call || !in || !kernel) TF_SetStatus(st, INVALID_ARGUMENT, "no memory");
  for (int i = 0; i < n && TF_GetCode(st) == 0; i++) TF_GetInput(ctx, i, &in[i], st);
  if (TF_GetCode(st) != 0) {
    for (int i = 0; in && i < n; i++) {
      if (in[i]) TF_DeleteTensor(in[i]);
    }
    free(call);
    TF_OpKernelContext_Failure(ctx, st);
    TF_RunAsyncOpKernelDoneCallback(done);
  } else {
    call->ctx = ctx;
    take_done(call, done);
    uint64_t mode = mr_keep_denormals();
    mrGoCall(*(int64_t *)kernel, call, in, n);  // takes over call and the tensors
    mr_set_float_mode(mode);
  }
  free(in);
  TF_DeleteStatus(st);
}

void mr_call_end(mr_call *call, TF_Tensor *const *results, int nout, int code, const char *msg) {
  TF_Status *st = TF_NewStatus();
  if (code != 0) TF_SetStatus(st, code, msg);
  for (int i = 0; i < nout && TF_GetCode(st) == 0; i++) TF_SetOutput(call->ctx, i, results[i], st);
  if (TF_GetCode(st) != 0) TF_OpKernelContext_Failure(call->ctx, st);
  TF_DeleteStatus(st);
  TF_RunAsyncOpKernelDoneCallback((TF_AsyncOpKernelDoneCallback *)call->done);
  drop_done(call);
  free(call);
}

static void drop_token(void *data, size_t len, void *arg) {
  (void)len;
  (void)arg;
  uint64_t mode = mr_keep_denormals();
  mrTokenDropped(*(int64_t *)data);
  mr_set_float_mode(mode);
  free(data);
}

TF_Tensor *mr_new_token(int64_t value) { return new_scalar(value, drop_token); }

static void register_go(const char *name, int stateful, TF_Status *st) {
  TF_OpDefinitionBuilder *b = TF_NewOpDefinitionBuilder(name);
  TF_OpDefinitionBuilderAddAttr(b, "id: int");
  TF_OpDefinitionBuilderAddAttr(b, "Tin: list(type) >= 0");
  TF_OpDefinitionBuilderAddAttr(b, "Tout: list(type) >= 0");
  TF_OpDefinitionBuilderAddInput(b, "session: int64");
  TF_OpDefinitionBuilderAddInput(b, "args: Tin");
  TF_OpDefinitionBuilderAddOutput(b, "results: Tout");
  if (stateful) TF_OpDefinitionBuilderSetIsStateful(b, 1);  // whatever the argument is
  TF_OpDefinitionBuilderSetShapeInferenceFunction(b, infer_nothing);
  TF_RegisterOpDefinition(b, st);
  if (TF_GetCode(st) != 0) return;
  TF_RegisterKernelBuilder(name, TF_NewAsyncKernelBuilder(name, "CPU", go_create, go_compute, free), st);
}

static void register_session(TF_Status *st) {
  const char *name = "MillraceSession";
  TF_OpDefinitionBuilder *b = TF_NewOpDefinitionBuilder(name);
  TF_OpDefinitionBuilderAddOutput(b, "session: int64");
  TF_OpDefinitionBuilderSetIsStateful(b, 1);  // otherwise TensorFlow would fold it to a constant
  TF_OpDefinitionBuilderSetShapeInferenceFunction(b, infer_nothing);
  TF_RegisterOpDefinition(b, st);
  if (TF_GetCode(st) != 0) return;
  TF_RegisterKernelBuilder(name, TF_NewKernelBuilder(name, "CPU", session_create, session_compute, free), st);
}

TF_Status *mr_register_ops(void) {
  TF_Status *st = TF_NewStatus();
  // take_done relies on libstdc++.
  if (!dlsym(RTLD_DEFAULT, "_ZSt25__throw_bad_function_callv")) {
    TF_SetStatus(st, UNIMPLEMENTED, "libtensorflow was not built with libstdc++");
  }
  if (TF_GetCode(st) == 0) register_session(st);
  if (TF_GetCode(st) == 0) register_go("MillraceGo", 1, st);
  if (TF_GetCode(st) == 0) register_go("MillraceGoPure", 0, st);
  if (TF_GetCode(st) != 0) return st;
  TF_DeleteStatus(st);
  return NULL;
}
