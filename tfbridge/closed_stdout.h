// Whether the process began with an open standard output.
#ifndef MILLRACE_CLOSED_STDOUT_H_
#define MILLRACE_CLOSED_STDOUT_H_

#pragma GCC visibility push(hidden)

// mr_stdout_was_closed returns 1 if the process began without a standard output,
// otherwise 0.
int mr_stdout_was_closed(void);

#pragma GCC visibility pop

#endif  // MILLRACE_CLOSED_STDOUT_H_
