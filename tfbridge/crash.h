// What a crash in a thread of TensorFlow leaves on standard error.
#ifndef MILLRACE_CRASH_H_
#define MILLRACE_CRASH_H_

#pragma GCC visibility push(hidden)

// mr_report_crashes puts a handler before Go's for the signals of crashes. It
// writes to stderr_fd. running says what the process runs; the handler keeps a
// part of it.
void mr_report_crashes(int stderr_fd, const char* running);

#pragma GCC visibility pop

#endif  // MILLRACE_CRASH_H_
