// TensorFlow's interface for file systems of plug-ins, with Go behind it.
#ifndef MILLRACE_FILESYSTEM_H_
#define MILLRACE_FILESYSTEM_H_

#include "capi.h"

// mr_stat describes a file or folder of a Go file system.
typedef struct mr_stat {
  int64_t size;
  int64_t mtime_nsec;
  unsigned char is_directory;
} mr_stat;

#pragma GCC visibility push(hidden)

// mr_register_filesystem makes Go responsible for the paths of a scheme. TensorFlow
// keeps it for good. One call at a time.
void mr_register_filesystem(const char *scheme, TF_Status *st);

// mr_init_plugin describes the file system that is being registered to TensorFlow.
void mr_init_plugin(void *plugin_info);

// mr_set_status sets a status that TensorFlow passed to a file system.
void mr_set_status(TF_Status *st, int code, const char *message);

#pragma GCC visibility pop

#endif  // MILLRACE_FILESYSTEM_H_
