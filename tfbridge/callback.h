// Millrace's own operations, registered through the C API, whose kernels call
// Go.
#ifndef MILLRACE_CALLBACK_H_
#define MILLRACE_CALLBACK_H_

#include "capi.h"

#pragma GCC visibility push(hidden)

// mr_session_here is the session that this thread last ran. TensorFlow creates
// the kernels of a session's graph in the thread that runs it first, so a
// kernel finds its session here. The C API does not provide it.
extern _Thread_local int64_t mr_session_here;

// mr_call is a call of a Go function in flight. It lives in C memory, and
// mr_call_end frees it.
typedef struct mr_call {
  TF_OpKernelContext *ctx;
  void *done[4];  // see take_done
} mr_call;

// mr_register_ops registers the operations and their kernels. It returns NULL
// or the failure, for the caller to free.
TF_Status *mr_register_ops(void);

// mr_call_end ends a call with nout results, or with a failure if code is not
// 0. The caller keeps its references to the results.
void mr_call_end(mr_call *call, TF_Tensor *const *results, int nout, int code, const char *msg);

// mr_new_token makes a scalar int64 tensor, and calls mrTokenDropped when its
// last reference is gone. It returns NULL if memory is exhausted.
TF_Tensor *mr_new_token(int64_t value);

#pragma GCC visibility pop

#endif  // MILLRACE_CALLBACK_H_
