// DecodeMyReader decodes records: bytes in, tensors out. This file is a
// starting point: change the format (DecodeRecord), the outputs and the
// attributes (REGISTER_OP) to yours.
//
// The format is as small as one can be:
//
//   | label: 8 bytes | value: 4 bytes | value | ...     all little-endian
//
// The number of values is an attribute, so that TensorFlow knows the shape of
// the output while the graph is built.
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/lib/core/coding.h"

namespace myreader {
namespace {

using namespace tensorflow;  // NOLINT

constexpr int64_t kLabelBytes = sizeof(int64_t);
constexpr int64_t kValueBytes = sizeof(float);
constexpr int64_t kMaxValues = int64_t{1} << 24;

// RecordError returns a status about a record. Go gets a *millrace.Error: it
// reads the part in brackets, the query of a URL, and shows the rest.
absl::Status RecordError(const std::string& record, const std::string& what) {
  const std::string text = absl::StrCat(record, ": ", what);
  std::string escaped;
  for (unsigned char c : text) {
    if (absl::ascii_isalnum(c)) {
      escaped += static_cast<char>(c);
    } else {
      absl::StrAppend(&escaped, "%", absl::Hex(c, absl::kZeroPad2));
    }
  }
  return absl::DataLossError(absl::StrCat(
      text, " [millrace.fault class=corrupt%20data&what=", escaped, "]"));
}

// DecodeRecord decodes one record, and returns what is wrong with it, "" if
// nothing is.
std::string DecodeRecord(const tstring& record, int64_t num_values,
                         int64_t* label, float* values) {
  const int64_t want = kLabelBytes + num_values * kValueBytes;
  if (static_cast<int64_t>(record.size()) != want) {
    return absl::StrCat(record.size(), " bytes, want ", want);
  }
  *label = static_cast<int64_t>(core::DecodeFixed64(record.data()));
  const char* at = record.data() + kLabelBytes;
  for (int64_t i = 0; i < num_values; ++i, at += kValueBytes) {
    const uint32_t bits = core::DecodeFixed32(at);
    std::memcpy(values + i, &bits, sizeof(bits));
  }
  return "";
}

// DecodeMyReaderOp decodes records of any shape. An output has that shape and
// then its own, so a batch is decoded at once.
class DecodeMyReaderOp : public OpKernel {
 public:
  explicit DecodeMyReaderOp(OpKernelConstruction* ctx) : OpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("num_values", &num_values_));
    OP_REQUIRES(ctx, num_values_ <= kMaxValues,
                absl::InvalidArgumentError(absl::StrCat(
                    "num_values is ", num_values_, ", at most ", kMaxValues)));
  }

  void Compute(OpKernelContext* ctx) override {
    const Tensor& records = ctx->input(0);
    const Tensor& keys = ctx->input(1);
    OP_REQUIRES(ctx, keys.NumElements() == 0 || keys.shape() == records.shape(),
                absl::InvalidArgumentError(absl::StrCat(
                    "keys has shape ", keys.shape().DebugString(),
                    ", want none or ", records.shape().DebugString())));
    TensorShape shape = records.shape();
    Tensor* labels;
    Tensor* values;
    OP_REQUIRES_OK(ctx, ctx->allocate_output(0, shape, &labels));
    OP_REQUIRES_OK(ctx, shape.AddDimWithStatus(num_values_));
    OP_REQUIRES_OK(ctx, ctx->allocate_output(1, shape, &values));
    for (int64_t i = 0; i < records.NumElements(); ++i) {
      const std::string problem = DecodeRecord(
          records.flat<tstring>()(i), num_values_, &labels->flat<int64_t>()(i),
          values->flat<float>().data() + i * num_values_);
      OP_REQUIRES(ctx, problem.empty(), RecordError(Name(keys, i), problem));
    }
  }

 private:
  // Name says which record an error is about: its key, if there is one.
  static std::string Name(const Tensor& keys, int64_t i) {
    if (keys.NumElements() == 0) return absl::StrCat("record ", i);
    return absl::StrCat("key ", std::string(keys.flat<tstring>()(i)));
  }

  int64_t num_values_;
};

// InferShapes gives the shapes of the outputs while the graph is built.
absl::Status InferShapes(shape_inference::InferenceContext* c) {
  int64_t num_values;
  TF_RETURN_IF_ERROR(c->GetAttr("num_values", &num_values));
  shape_inference::ShapeHandle values;
  TF_RETURN_IF_ERROR(
      c->Concatenate(c->input(0), c->Vector(num_values), &values));
  c->set_output(0, c->input(0));
  c->set_output(1, values);
  return absl::OkStatus();
}

// The op is not stateful: equal inputs give equal outputs. So TensorFlow may
// share it, and iterators that call it can be saved.
REGISTER_OP("DecodeMyReader")
    .Input("records: string")
    .Input("keys: string")
    .Output("label: int64")
    .Output("values: float")
    .Attr("num_values: int >= 0")
    .SetShapeFn(InferShapes)
    .Doc(R"doc(decodes records, each a label and its values.

records: the records, of any shape
keys: names of the records for errors, of the same shape; empty for none
num_values: how many values a record has
label: the labels, of the shape of the records
values: the values, of the shape of the records and num_values
)doc");

REGISTER_KERNEL_BUILDER(Name("DecodeMyReader").Device(DEVICE_CPU),
                        DecodeMyReaderOp);

}  // namespace
}  // namespace myreader
