#include "inner_kernel.h"

#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/public/version.h"

namespace millrace {

using namespace tensorflow;  // NOLINT

absl::Status InnerKernel::Make(OpKernelConstruction* ctx,
                               NodeDefBuilder* node) {
  NodeDef def;
  TF_RETURN_IF_ERROR(node->Finalize(&def));
  absl::Status status;
  kernel_ = CreateOpKernel(DEVICE_CPU, ctx->device(),
                           ctx->device()->GetAllocator(AllocatorAttributes()),
                           def, TF_GRAPH_DEF_VERSION, &status);
  return status;
}

absl::Status InnerKernel::Run(OpKernelContext* ctx,
                              std::initializer_list<Tensor> inputs,
                              std::vector<Tensor>* outputs) const {
  std::vector<Tensor> held(inputs);
  std::vector<TensorValue> values;
  values.reserve(held.size());
  for (Tensor& t : held) values.emplace_back(&t);
  const std::vector<AllocatorAttributes> attributes(kernel_->num_outputs());

  OpKernelContext::Params params;
  params.step_id = ctx->step_id();
  params.op_kernel = kernel_.get();
  params.device = ctx->device();
  params.resource_manager = ctx->resource_manager();
  params.cancellation_manager = ctx->cancellation_manager();
  params.runner = ctx->runner();
  params.inputs = values;
  params.output_attr_array = attributes.data();
  OpKernelContext inner(&params);
  kernel_->Compute(&inner);
  TF_RETURN_IF_ERROR(inner.status());
  outputs->clear();
  for (int i = 0; i < inner.num_outputs(); ++i) {
    outputs->push_back(*inner.mutable_output(i));
  }
  return absl::OkStatus();
}

}  // namespace millrace
