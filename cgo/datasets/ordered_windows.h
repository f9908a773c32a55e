// The input of ops that read windows in a computed order.
#ifndef MILLRACE_CGO_DATASETS_ORDERED_WINDOWS_H_
#define MILLRACE_CGO_DATASETS_ORDERED_WINDOWS_H_

#include <memory>

#include "absl/status/status.h"
#include "ordered_files.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "window_spans.h"

namespace millrace {

// OrderedWindows has files, and the order of the windows of one size in them.
struct OrderedWindows {
  OrderedFiles files;
  WindowForm form;
  std::shared_ptr<const WindowSpans> spans;
  tensorflow::Tensor window;  // the input with the form

  absl::Status Read(tensorflow::OpKernelContext* ctx, const OrderRules& rules);

 private:
  absl::Status ReadForm();
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_ORDERED_WINDOWS_H_
