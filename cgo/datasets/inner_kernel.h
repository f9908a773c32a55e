// Kernels of TensorFlow that a kernel of ours calls.
#ifndef MILLRACE_CGO_DATASETS_INNER_KERNEL_H_
#define MILLRACE_CGO_DATASETS_INNER_KERNEL_H_

#include <initializer_list>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/core/framework/node_def_builder.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"

namespace millrace {

// InnerKernel is a kernel of TensorFlow on the CPU. What it computes is what
// the operation computes in a graph, without the executor around it. Run may be
// called concurrently where the kernel's Compute may.
class InnerKernel {
 public:
  // Makes the kernel of a node, whose inputs are only types.
  absl::Status Make(tensorflow::OpKernelConstruction* ctx,
                    tensorflow::NodeDefBuilder* node);

  // Computes the outputs within the run of another kernel.
  absl::Status Run(tensorflow::OpKernelContext* ctx,
                   std::initializer_list<tensorflow::Tensor> inputs,
                   std::vector<tensorflow::Tensor>* outputs) const;

 private:
  std::unique_ptr<tensorflow::OpKernel> kernel_;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_INNER_KERNEL_H_
