// What most sources need of TensorFlow and of the standard library. The
// installer compiles this header once. Each source includes what it needs by
// itself, so that it also compiles without this header.
#ifndef MILLRACE_CGO_DATASETS_PRECOMPILED_H_
#define MILLRACE_CGO_DATASETS_PRECOMPILED_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"

#endif  // MILLRACE_CGO_DATASETS_PRECOMPILED_H_
