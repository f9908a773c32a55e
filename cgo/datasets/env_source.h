// The files that TensorFlow's file systems read: gs:// and others.
#ifndef MILLRACE_CGO_DATASETS_ENV_SOURCE_H_
#define MILLRACE_CGO_DATASETS_ENV_SOURCE_H_

#include "byte_source.h"

namespace millrace {

// Opener returns what opens files of a format: local ones by ourselves, those
// of another scheme than file:// through TensorFlow's file systems. Compressed
// ones are inflated ahead.
OpenSource Opener(Format format);

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_ENV_SOURCE_H_
