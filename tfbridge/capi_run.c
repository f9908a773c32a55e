// Running sessions, with what Go would otherwise do in several calls.
#include "callback.h"
#include "capi.h"

#include <alloca.h>
#include <stdint.h>

// A run keeps what cancels it on its stack, and a queue of TensorFlow's tells
// runs that wait at it apart by the address of that. It remembers runs that
// were cancelled for as long as one that came before them still waits, so the
// next run from the same thread would be taken for the cancelled one and never
// be cancelled itself. Hence no two runs of the last PLACES of a thread are at
// the same address.
static size_t elsewhere(void) {
  enum { PLACES = 2048, STEP = 64 }; // the address sanitizer rounds up to 32
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
  *(volatile char *)alloca(elsewhere()) = 0;
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
