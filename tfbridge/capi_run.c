// Running sessions, with what Go would otherwise do in several calls.
#include "callback.h"
#include "capi.h"

#include <alloca.h>
#include <stdint.h>

// TensorFlow keeps a run's CancellationManager on the stack of the thread that
// calls TF_SessionRun. A queue identifies the runs that wait at it by the
// address of that object, and remembers a cancelled run as long as an earlier
// one still waits. The next run of the same thread would have its
// CancellationManager at the same address. The queue would take it for the
// cancelled run, and nothing could cancel it any more.
//
//   run 1:  | mr_run | alloca  64 | TF_SessionRun: manager A |
//   run 2:  | mr_run | alloca 128       | TF_SessionRun: manager B |
//
// So each run moves the stack by another amount before it calls TensorFlow, and
// the last PLACES runs of a thread have different addresses. STEP is larger
// than 32, to which the address sanitizer rounds.
static size_t stack_offset(void) {
  enum { PLACES = 2048, STEP = 64 };
  static _Thread_local unsigned runs;
  return (size_t)STEP * (1 + runs++ % PLACES);
}

TF_Status *mr_run(TF_Session *s, const void *options, size_t options_len,
                  const TF_Output *in, TF_Tensor *const *in_values, int nin,
                  const TF_Output *out, TF_Tensor **out_values, int nout,
                  TF_Operation *const *targets, int ntargets,
                  TF_Buffer *metadata) {
  const TF_Buffer buffer = {options, options_len, NULL};
  TF_Status *st = TF_NewStatus();
  mr_session_here = (int64_t)(intptr_t)s;
  *(volatile char *)alloca(stack_offset()) = 0;
  TF_SessionRun(s, options_len ? &buffer : NULL, in, in_values, nin, out,
                out_values, nout, (const TF_Operation *const *)targets,
                ntargets, metadata, st);
  if (TF_GetCode(st) != 0) return st;
  TF_DeleteStatus(st);
  return NULL;
}

TF_Status *mr_run_bare(int64_t n, TF_Session *s, const void *options,
                       size_t options_len, const TF_Output *in,
                       TF_Tensor *const *in_values, int nin,
                       const TF_Output *out, int nout) {
  enum { MOST = 16 };
  TF_Tensor *results[MOST];
  if (nout > MOST) nout = MOST;
  const TF_Buffer buffer = {options, options_len, NULL};
  TF_Status *st = TF_NewStatus();
  for (int64_t i = 0; i < n; i++) {
    TF_SessionRun(s, options_len ? &buffer : NULL, in, in_values, nin, out,
                  results, nout, NULL, 0, NULL, st);
    if (TF_GetCode(st) != 0) return st;
    for (int j = 0; j < nout; j++) TF_DeleteTensor(results[j]);
  }
  TF_DeleteStatus(st);
  return NULL;
}
