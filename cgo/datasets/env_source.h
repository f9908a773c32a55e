// Files that TensorFlow's file systems read: gs:// and others.
#ifndef MILLRACE_CGO_DATASETS_ENV_SOURCE_H_
#define MILLRACE_CGO_DATASETS_ENV_SOURCE_H_

#include "byte_source.h"

namespace millrace {

// Opener returns a function that opens files of a format: local files directly,
// and files of any scheme but file:// through TensorFlow's file systems.
// Compressed files are inflated on a separate thread.
OpenSource Opener(Format format);

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_ENV_SOURCE_H_
