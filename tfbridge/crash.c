// A crash in a thread of Go is reported by Go: the signal, and the stacks of
// all goroutines. A crash in a thread that TensorFlow made ends the process
// without a word, because Go restores the default action for such a thread. So
// a handler of ours comes before Go's:
//
//   in a thread of Go: Go's handler runs, as if ours were not there.
//
//   in a thread of TensorFlow, a signal sent to the process, by kill, by
//   Ctrl-\ or by Go when it asks for stacks: this thread blocks the signal and
//   sends it again, until a thread of Go gets it.
//
//   in a thread of TensorFlow, any other signal: words, the thread's stack, and
//   then the default action.
//
// A thread of Go is one with an alternate stack for signals. Go gives one to
// each of its threads, and to a thread of TensorFlow as long as that runs a
// callback in Go.
#define _GNU_SOURCE
#include "crash.h"

#include <execinfo.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

static const struct {
  int sig;
  const char* name;
} crashes[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},
               {SIGFPE, "SIGFPE"},   {SIGILL, "SIGILL"},
               {SIGABRT, "SIGABRT"}, {SIGQUIT, "SIGQUIT"}};
enum {
  CRASHES = sizeof crashes / sizeof crashes[0],
  FRAMES = 48,
  REPORT_SECONDS = 5
};

static struct sigaction before[NSIG];
static int err_fd;
static char about[512];
static atomic_flag reported = ATOMIC_FLAG_INIT;

// say writes some texts. It calls nothing that a handler may not call.
static void say(const char* first, const char* second, const char* third) {
  const char* texts[] = {first, second, third};
  for (int i = 0; i < 3; i++) {
    if (write(err_fd, texts[i], strlen(texts[i])) < 0) return;
  }
}

// report writes what is known of a crash. backtrace can wait for a lock that
// the thread holds, so an alarm ends the process then.
static void report(int sig) {
  struct sigaction by_default = {.sa_handler = SIG_DFL};
  sigaction(SIGALRM, &by_default, NULL);
  alarm(REPORT_SECONDS);
  char thread[17] = {0};
  prctl(PR_GET_NAME, thread);
  for (int i = 0; i < CRASHES; i++) {
    if (crashes[i].sig == sig) say("\n", crashes[i].name, " in thread \"");
  }
  say(thread, "\" of TensorFlow: it ends the process.\n", about);
  say("\nThe fault is in TensorFlow, in a library of operations, or in this "
      "program's checks of models and requests. "
      "Please report it, with the lines around this one and the output of "
      "\"millrace runtime doctor\".\n",
      "The thread's stack:\n", "");
  void* frames[FRAMES];
  backtrace_symbols_fd(frames, backtrace(frames, FRAMES), err_fd);
  alarm(0);
}

static void on_crash(int sig, siginfo_t* info, void* context) {
  stack_t alternate;
  if (sigaltstack(NULL, &alternate) == 0 &&
      !(alternate.ss_flags & SS_DISABLE)) {
    before[sig].sa_sigaction(sig, info, context);
    return;
  }
  if (info->si_code == SI_USER || info->si_code == SI_QUEUE) {
    sigaddset(&((ucontext_t*)context)->uc_sigmask, sig);
    kill(getpid(), sig);
    return;
  }
  if (!atomic_flag_test_and_set(&reported)) report(sig);
  struct sigaction by_default = {.sa_handler = SIG_DFL};
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, sig);
  sigaction(sig, &by_default, NULL);
  sigprocmask(SIG_UNBLOCK, &one, NULL);
  raise(sig);
}

void mr_report_crashes(int stderr_fd, const char* running) {
  err_fd = stderr_fd;
  snprintf(about, sizeof about, "%s", running);
  void* frame;
  backtrace(&frame, 1);  // loads libgcc, which a handler must not do
  for (int i = 0; i < CRASHES; i++) {
    int sig = crashes[i].sig;
    if (before[sig].sa_flags || sigaction(sig, NULL, &before[sig]) < 0)
      continue;
    if (!(before[sig].sa_flags & SA_SIGINFO)) continue;  // not Go's
    struct sigaction ours = before[sig];
    ours.sa_sigaction = on_crash;
    sigaction(sig, &ours, NULL);
  }
}
