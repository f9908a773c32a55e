#include "pipeline.h"

#include <gtest/gtest.h>
#include <tensorflow/c/tf_tstring.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace millrace {
namespace optest {
namespace {

using Status = std::unique_ptr<TF_Status, decltype(&TF_DeleteStatus)>;

Status NewStatus() { return Status(TF_NewStatus(), TF_DeleteStatus); }

// LoadOperations loads the library that MILLRACE_OPS names, once.
void LoadOperations() {
  static const bool loaded = [] {
    const char* const path = std::getenv("MILLRACE_OPS");
    if (path == nullptr) {
      ADD_FAILURE() << "MILLRACE_OPS does not name the library";
      return false;
    }
    const Status status = NewStatus();
    TF_LoadLibrary(path, status.get());
    EXPECT_EQ(TF_GetCode(status.get()), TF_OK) << TF_Message(status.get());
    return true;
  }();
  (void)loaded;
}

template <typename T>
Value Numbers(TF_DataType type, std::vector<int64_t> shape,
              const std::vector<T>& v) {
  Value value;
  value.type = type;
  value.shape = std::move(shape);
  value.bytes.assign(reinterpret_cast<const char*>(v.data()),
                     v.size() * sizeof(T));
  return value;
}

TF_Tensor* NewTensor(const Value& v) {
  const bool text = v.type == TF_STRING;
  const size_t bytes =
      text ? v.strings.size() * sizeof(TF_TString) : v.bytes.size();
  TF_Tensor* const t = TF_AllocateTensor(
      v.type, v.shape.data(), static_cast<int>(v.shape.size()), bytes);
  if (!text) {
    std::memcpy(TF_TensorData(t), v.bytes.data(), bytes);
    return t;
  }
  auto* const to = static_cast<TF_TString*>(TF_TensorData(t));
  for (size_t i = 0; i < v.strings.size(); ++i) {
    TF_StringInit(&to[i]);
    TF_StringCopy(&to[i], v.strings[i].data(), v.strings[i].size());
  }
  return t;
}

Value ToValue(const TF_Tensor* t) {
  Value v;
  v.type = TF_TensorType(t);
  for (int d = 0; d < TF_NumDims(t); ++d) v.shape.push_back(TF_Dim(t, d));
  if (v.type != TF_STRING) {
    v.bytes.assign(static_cast<const char*>(TF_TensorData(t)),
                   TF_TensorByteSize(t));
    return v;
  }
  const auto* const from = static_cast<const TF_TString*>(TF_TensorData(t));
  for (int64_t i = 0; i < TF_TensorElementCount(t); ++i) {
    v.strings.emplace_back(TF_StringGetDataPointer(&from[i]),
                           TF_StringGetSize(&from[i]));
  }
  return v;
}

void SetStrings(TF_OperationDescription* node, const std::string& name,
                const std::vector<std::string>& values) {
  std::vector<const void*> data;
  std::vector<size_t> sizes;
  for (const std::string& s : values) {
    data.push_back(s.data());
    sizes.push_back(s.size());
  }
  TF_SetAttrStringList(node, name.c_str(), data.data(), sizes.data(),
                       static_cast<int>(values.size()));
}

void SetShapes(TF_OperationDescription* node, const std::string& name,
               const std::vector<std::vector<int64_t>>& shapes) {
  std::vector<const int64_t*> dims;
  std::vector<int> ranks;
  for (const auto& shape : shapes) {
    dims.push_back(shape.data());
    ranks.push_back(static_cast<int>(shape.size()));
  }
  TF_SetAttrShapeList(node, name.c_str(), dims.data(), ranks.data(),
                      static_cast<int>(shapes.size()));
}

void SetAttrs(TF_OperationDescription* node, const Attrs& attrs) {
  for (const auto& [name, v] : attrs.strings) SetStrings(node, name, v);
  for (const auto& [name, v] : attrs.shapes) SetShapes(node, name, v);
  for (const auto& [name, v] : attrs.ints) {
    TF_SetAttrIntList(node, name.c_str(), v.data(), static_cast<int>(v.size()));
  }
  for (const auto& [name, v] : attrs.bools) {
    TF_SetAttrBoolList(node, name.c_str(), v.data(),
                       static_cast<int>(v.size()));
  }
  for (const auto& [name, v] : attrs.types) {
    TF_SetAttrTypeList(node, name.c_str(), v.data(),
                       static_cast<int>(v.size()));
  }
  for (const auto& [name, v] : attrs.flag) {
    TF_SetAttrBool(node, name.c_str(), v ? 1 : 0);
  }
  for (const auto& [name, v] : attrs.integer) {
    TF_SetAttrInt(node, name.c_str(), v);
  }
  for (const auto& [name, v] : attrs.text) {
    TF_SetAttrString(node, name.c_str(), v.data(), v.size());
  }
}

}  // namespace

Value Int(int64_t v) { return Numbers<int64_t>(TF_INT64, {}, {v}); }
Value Float(float v) { return Numbers<float>(TF_FLOAT, {}, {v}); }
Value Bool(bool v) {
  return Numbers<unsigned char>(TF_BOOL, {},
                                {static_cast<unsigned char>(v ? 1 : 0)});
}
Value Ints(const std::vector<int64_t>& v) {
  return Numbers(TF_INT64, {static_cast<int64_t>(v.size())}, v);
}
Value Strings(const std::vector<std::string>& v) {
  Value value;
  value.type = TF_STRING;
  value.shape = {static_cast<int64_t>(v.size())};
  value.strings = v;
  return value;
}
Value Text(const std::string& v) {
  Value value = Strings({v});
  value.shape.clear();
  return value;
}

Pipeline::Pipeline() : graph_(TF_NewGraph()) {
  LoadOperations();
  const Status status = NewStatus();
  TF_SessionOptions* const options = TF_NewSessionOptions();
  session_ = TF_NewSession(graph_, options, status.get());
  TF_DeleteSessionOptions(options);
  EXPECT_EQ(TF_GetCode(status.get()), TF_OK) << TF_Message(status.get());
}

Pipeline::~Pipeline() {
  Close();
  const Status status = NewStatus();
  TF_DeleteSession(session_, status.get());
  TF_DeleteGraph(graph_);
}

void Pipeline::Close() {
  const Status status = NewStatus();
  TF_CloseSession(session_, status.get());
}

TF_Output Pipeline::Constant(const Value& v) {
  const std::string name = "n" + std::to_string(nodes_++);
  TF_OperationDescription* const node =
      TF_NewOperation(graph_, "Const", name.c_str());
  const Status status = NewStatus();
  TF_Tensor* const t = NewTensor(v);
  TF_SetAttrTensor(node, "value", t, status.get());
  TF_SetAttrType(node, "dtype", v.type);
  TF_Operation* const made = TF_FinishOperation(node, status.get());
  TF_DeleteTensor(t);
  EXPECT_EQ(TF_GetCode(status.get()), TF_OK) << TF_Message(status.get());
  return {made, 0};
}

TF_Output Pipeline::Add(const std::string& type,
                        const std::vector<TF_Output>& inputs,
                        const Attrs& attrs,
                        const std::vector<TF_Output>* last) {
  const std::string name = "n" + std::to_string(nodes_++);
  TF_OperationDescription* const node =
      TF_NewOperation(graph_, type.c_str(), name.c_str());
  for (const TF_Output& input : inputs) TF_AddInput(node, input);
  if (last != nullptr) {
    TF_AddInputList(node, last->data(), static_cast<int>(last->size()));
  }
  SetAttrs(node, attrs);
  const Status status = NewStatus();
  TF_Operation* const made = TF_FinishOperation(node, status.get());
  EXPECT_EQ(TF_GetCode(status.get()), TF_OK)
      << type << ": " << TF_Message(status.get());
  return {made, 0};
}

Result Pipeline::Run(const std::vector<TF_Output>& fetches,
                     TF_Operation* target) {
  const Status status = NewStatus();
  std::vector<TF_Tensor*> tensors(fetches.size());
  TF_SessionRun(session_, nullptr, nullptr, nullptr, 0, fetches.data(),
                tensors.data(), static_cast<int>(fetches.size()), &target,
                target == nullptr ? 0 : 1, nullptr, status.get());
  Result result;
  result.code = TF_GetCode(status.get());
  result.message = TF_Message(status.get());
  for (TF_Tensor* t : tensors) {
    if (t == nullptr) continue;
    result.values.push_back(ToValue(t));
    TF_DeleteTensor(t);
  }
  return result;
}

Result Pipeline::Iterate(TF_Output dataset,
                         const std::vector<TF_DataType>& types,
                         const std::vector<std::vector<int64_t>>& shapes) {
  Attrs attrs;
  attrs.types["output_types"] = types;
  attrs.shapes["output_shapes"] = shapes;
  Attrs named = attrs;
  named.text["shared_name"] = "";
  named.text["container"] = "";
  const TF_Output iterator = Add("IteratorV2", {}, named);
  const TF_Output make = Add("MakeIterator", {dataset, iterator}, {});
  next_ = Add("IteratorGetNext", {iterator}, attrs);
  components_ = static_cast<int>(types.size());
  return Run({}, make.oper);
}

Result Pipeline::Next() { return Fetch(next_, components_); }

Result Pipeline::Fetch(TF_Output node, int n) {
  std::vector<TF_Output> fetches;
  for (int i = 0; i < n; ++i) fetches.push_back({node.oper, i});
  return Run(fetches, nullptr);
}

}  // namespace optest
}  // namespace millrace
