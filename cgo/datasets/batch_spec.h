// The common parts of dataset ops that make batches of Examples: their
// attributes, and the tensors of a batch.
#ifndef MILLRACE_CGO_DATASETS_BATCH_SPEC_H_
#define MILLRACE_CGO_DATASETS_BATCH_SPEC_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "example_decoder.h"
#include "fault.h"
#include "status.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor_util.h"

namespace millrace {

constexpr char kKeys[] = "keys";
constexpr char kKinds[] = "kinds";
constexpr char kValues[] = "values";
constexpr char kBigEndian[] = "big_endian";
constexpr char kOutputTypes[] = "output_types";
constexpr char kOutputShapes[] = "output_shapes";
constexpr char kLists[] = "lists";
constexpr char kOptional[] = "optional";
constexpr char kFinite[] = "finite";
constexpr char kRecordShapes[] = "record_shapes";
constexpr char kRecordTypes[] = "record_types";

// BatchSpec has the attributes: the features to decode, and their types.
class BatchSpec {
 public:
  // Read reads and checks the attributes. `shapes` names the attribute with the
  // shapes of a batch of records or, for a list, of a batch of its elements.
  absl::Status Read(tensorflow::OpKernelConstruction* ctx,
                    const char* shapes = kOutputShapes,
                    const char* types = kOutputTypes) {
    TF_RETURN_IF_ERROR(ctx->GetAttr(kKeys, &keys_));
    TF_RETURN_IF_ERROR(ctx->GetAttr(kKinds, &kinds_));
    TF_RETURN_IF_ERROR(ctx->GetAttr(kValues, &values_));
    TF_RETURN_IF_ERROR(ctx->GetAttr(kBigEndian, &big_endian_));
    TF_RETURN_IF_ERROR(ctx->GetAttr(types, &types_));
    TF_RETURN_IF_ERROR(ctx->GetAttr(shapes, &shapes_));
    const size_t n = keys_.size();
    if (ctx->HasAttr(kLists)) {
      TF_RETURN_IF_ERROR(ctx->GetAttr(kLists, &lists_));
      TF_RETURN_IF_ERROR(ctx->GetAttr(kOptional, &optional_));
    } else {
      lists_.assign(n, false);
    }
    if (optional_.empty()) optional_.assign(n, false);
    if (ctx->HasAttr(kFinite))
      TF_RETURN_IF_ERROR(ctx->GetAttr(kFinite, &finite_));
    if (finite_.empty()) finite_.assign(n, false);
    if (finite_.size() != n || kinds_.size() != n || values_.size() != n ||
        big_endian_.size() != n || types_.size() != n || shapes_.size() != n ||
        lists_.size() != n || optional_.size() != n) {
      return absl::InvalidArgumentError(
          "the attributes of features differ in length");
    }
    for (size_t i = 0; i < n; ++i) {
      const absl::Status s = Add(i);
      if (!s.ok()) {
        return absl::Status(
            s.code(),
            absl::StrCat("feature ", Quote(keys_[i], 256), ": ", s.message()));
      }
    }
    return absl::OkStatus();
  }

  const std::vector<FeatureSpec>& features() const { return features_; }
  const tensorflow::DataTypeVector& types() const { return types_; }
  const std::vector<tensorflow::PartialTensorShape>& shapes() const {
    return shapes_;
  }

  // dims returns the shape of feature i in one record.
  const std::vector<int64_t>& dims(size_t i) const { return dims_[i]; }

  // Finite reports whether all values of a decoded row that must be finite are
  // finite. A fault names the feature.
  bool Finite(const std::vector<Destination>& row_of, int64_t row,
              Fault* fault) const {
    for (size_t i = 0; some_finite_ && i < features_.size(); ++i) {
      const FeatureSpec& f = features_[i];
      if (f.float_bytes == 0) continue;
      const size_t bytes = ElementBytes(f);
      const auto* values = static_cast<const char*>(row_of[i].base) +
                           static_cast<size_t>(row) * bytes;
      if (AllFinite(f, values, bytes)) continue;
      return fault->SetFeature(f.key, Cause::kInvalidArgument,
                               "a value is NaN or infinite");
    }
    return true;
  }

  // Attrs returns the attributes that AddDataset does not write by itself.
  std::vector<std::pair<absl::string_view, tensorflow::AttrValue>> Attrs()
      const {
    std::vector<std::pair<absl::string_view, tensorflow::AttrValue>> attrs(5);
    attrs[0].first = kKeys;
    tensorflow::SetAttrValue(keys_, &attrs[0].second);
    attrs[1].first = kKinds;
    tensorflow::SetAttrValue(kinds_, &attrs[1].second);
    attrs[2].first = kValues;
    tensorflow::SetAttrValue(values_, &attrs[2].second);
    attrs[3].first = kBigEndian;
    tensorflow::SetAttrValue(big_endian_, &attrs[3].second);
    attrs[4].first = kFinite;
    tensorflow::SetAttrValue(finite_, &attrs[4].second);
    return attrs;
  }

  // Allocate makes the tensors of a batch and sets the destinations of their
  // values. The tensors of lists stay empty.
  absl::Status Allocate(tensorflow::Allocator* allocator, int64_t rows,
                        std::vector<tensorflow::Tensor>* tensors,
                        std::vector<Destination>* to) const {
    tensors->clear();
    to->clear();
    for (size_t i = 0; i < features_.size(); ++i) {
      tensorflow::TensorShape shape;
      TF_RETURN_IF_ERROR(
          shape.AddDimWithStatus(features_[i].is_list ? 0 : rows));
      for (int64_t dim : dims_[i]) {
        TF_RETURN_IF_ERROR(shape.AddDimWithStatus(dim));
      }
      tensors->emplace_back(allocator, types_[i], shape);
      tensorflow::Tensor& t = tensors->back();
      if (!t.IsInitialized()) {
        return absl::ResourceExhaustedError(absl::StrCat(
            "no memory for a batch of shape ", shape.DebugString()));
      }
      Destination d;
      d.base = t.data();
      if (features_[i].kind == Kind::kBytes) d.set = SetString;
      to->push_back(d);
    }
    return absl::OkStatus();
  }

 private:
  static void SetString(void* base, int64_t index, const char* data, size_t n) {
    static_cast<tensorflow::tstring*>(base)[index].assign(data, n);
  }

  // Add derives the spec of feature i.
  absl::Status Add(size_t i) {
    FeatureSpec f;
    f.key = keys_[i];
    f.values = values_[i];
    f.is_list = lists_[i];
    f.is_optional = optional_[i];
    std::vector<int64_t> dims;
    const int64_t elements = TailElements(shapes_[i], &dims);
    if (elements < 0 || f.values < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "shape ", shapes_[i].DebugString(), " is not that of a batch"));
    }
    tensorflow::DataType want = tensorflow::DT_INVALID;
    if (kinds_[i] == "int") {
      f.kind = Kind::kInt64;
      want = tensorflow::DT_INT64;
    } else if (kinds_[i] == "float") {
      f.kind = Kind::kFloat;
      want = tensorflow::DT_FLOAT;
    } else if (kinds_[i] == "bytes") {
      f.kind = Kind::kBytes;
      want = tensorflow::DT_STRING;
    } else if (kinds_[i] == "raw") {
      TF_RETURN_IF_ERROR(AddRaw(i, elements, &f));
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown kind ", Quote(kinds_[i], 64)));
    }
    if (f.kind != Kind::kRaw && (types_[i] != want || f.values != elements)) {
      return absl::InvalidArgumentError(absl::StrCat(
          f.values, " values of kind ", kinds_[i], " cannot be ",
          tensorflow::DataTypeString(types_[i]), shapes_[i].DebugString()));
    }
    TF_RETURN_IF_ERROR(AddFinite(i, &f));
    features_.push_back(std::move(f));
    dims_.push_back(std::move(dims));
    return absl::OkStatus();
  }

  absl::Status AddRaw(size_t i, int64_t elements, FeatureSpec* f) const {
    const int size = tensorflow::DataTypeSize(types_[i]);
    if (size == 0 || f->values < 1 || elements % f->values != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          f->values, " raw values cannot be ",
          tensorflow::DataTypeString(types_[i]), shapes_[i].DebugString()));
    }
    f->kind = Kind::kRaw;
    f->raw_bytes = elements / f->values * size;
    const bool is_complex = types_[i] == tensorflow::DT_COMPLEX64 ||
                            types_[i] == tensorflow::DT_COMPLEX128;
    const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    if (big_endian_[i] == little) f->swap_bytes = is_complex ? size / 2 : size;
    return absl::OkStatus();
  }

  // AddFinite derives how to check that values are finite.
  absl::Status AddFinite(size_t i, FeatureSpec* f) {
    if (!finite_[i]) return absl::OkStatus();
    switch (types_[i]) {
      case tensorflow::DT_HALF:
        f->infinite_bits = 0x7c00;
        break;
      case tensorflow::DT_BFLOAT16:
        f->infinite_bits = 0x7f80;
        break;
      case tensorflow::DT_FLOAT:
      case tensorflow::DT_COMPLEX64:
        f->infinite_bits = 0x7f800000;
        break;
      case tensorflow::DT_DOUBLE:
      case tensorflow::DT_COMPLEX128:
        f->infinite_bits = 0x7ff0000000000000;
        break;
      default:
        return absl::InvalidArgumentError("its values are no floats");
    }
    if (f->is_list) return absl::InvalidArgumentError("it is a list");
    f->float_bytes = tensorflow::DataTypeSize(types_[i]);
    if (tensorflow::DataTypeIsComplex(types_[i])) f->float_bytes /= 2;
    some_finite_ = true;
    return absl::OkStatus();
  }

  // TailElements returns the elements of one row, -1 if they are unknown.
  static int64_t TailElements(const tensorflow::PartialTensorShape& shape,
                              std::vector<int64_t>* dims) {
    if (shape.dims() < 1) return -1;
    int64_t n = 1;
    for (int d = 1; d < shape.dims(); ++d) {
      const int64_t size = shape.dim_size(d);
      if (size < 0 || (size > 0 && n > (int64_t{1} << 40) / size)) return -1;
      n *= size;
      dims->push_back(size);
    }
    return n;
  }

  std::vector<std::string> keys_;
  std::vector<std::string> kinds_;
  std::vector<int64_t> values_;
  std::vector<bool> big_endian_;
  std::vector<bool> lists_;
  std::vector<bool> optional_;
  std::vector<bool> finite_;
  bool some_finite_ = false;
  tensorflow::DataTypeVector types_;
  std::vector<tensorflow::PartialTensorShape> shapes_;
  std::vector<FeatureSpec> features_;
  std::vector<std::vector<int64_t>>
      dims_;  // dimensions of one row, per feature
};

// FirstRows returns the first rows of a batch that did not become full.
inline void FirstRows(int64_t rows, std::vector<tensorflow::Tensor>* batch) {
  for (tensorflow::Tensor& t : *batch) {
    t = tensorflow::tensor::DeepCopy(t.Slice(0, rows));
  }
}

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_BATCH_SPEC_H_
