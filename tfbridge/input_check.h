// The operations that check the bytes that a graph parses; see input_check.go for the
// reasons.
#ifndef MILLRACE_INPUT_CHECK_H_
#define MILLRACE_INPUT_CHECK_H_

#include "capi.h"

#pragma GCC visibility push(hidden)

// mr_view is one element of a tensor of strings. The tensor owns the bytes.
typedef struct mr_view {
  const char *data;
  size_t len;
} mr_view;

// mr_register_checks registers the operations and their kernel. It returns NULL or the
// failure, for the caller to free.
TF_Status *mr_register_checks(void);

enum { MR_MAX_RANK = 254 };

// mr_argument is one argument. The tensor owns the data.
typedef struct mr_argument {
  int dtype, rank;
  int64_t dims[MR_MAX_RANK];
  const void *data;
  size_t len;
  int64_t bytes, longest;  // size of the strings
} mr_argument;

#pragma GCC visibility pop

#endif  // MILLRACE_INPUT_CHECK_H_
