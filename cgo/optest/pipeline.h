// Runs the dataset operations through TensorFlow's C API.
#ifndef MILLRACE_CGO_OPTEST_PIPELINE_H_
#define MILLRACE_CGO_OPTEST_PIPELINE_H_

#include <tensorflow/c/c_api.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace millrace {
namespace optest {

// Value is a tensor: its numbers as bytes, or its strings.
struct Value {
  TF_DataType type = TF_FLOAT;
  std::vector<int64_t> shape;
  std::string bytes;
  std::vector<std::string> strings;

  template <typename T>
  std::vector<T> As() const {
    const T* const begin = reinterpret_cast<const T*>(bytes.data());
    return std::vector<T>(begin, begin + bytes.size() / sizeof(T));
  }
};

// Values of the types that inputs have. A vector's shape is its length.
Value Int(int64_t v);
Value Ints(const std::vector<int64_t>& v);
Value Bool(bool v);
Value Float(float v);
Value Strings(const std::vector<std::string>& v);
Value Text(const std::string& v);

// Attrs are the attributes of a node, by type.
struct Attrs {
  std::map<std::string, std::vector<std::string>> strings;
  std::map<std::string, std::vector<int64_t>> ints;
  std::map<std::string, std::vector<unsigned char>> bools;
  std::map<std::string, std::vector<TF_DataType>> types;
  std::map<std::string, std::vector<std::vector<int64_t>>> shapes;
  std::map<std::string, bool> flag;
  std::map<std::string, int64_t> integer;
  std::map<std::string, std::string> text;
};

// Result is the result of a run, or the reason why it failed.
struct Result {
  TF_Code code = TF_OK;
  std::string message;
  std::vector<Value> values;
};

// Pipeline is a graph and a session with our operations loaded.
class Pipeline {
 public:
  Pipeline();
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  TF_Output Constant(const Value& v);

  // Add adds a node. If a list of inputs is expected, `last` is that list. A
  // node that TensorFlow refuses is a failure of the test.
  TF_Output Add(const std::string& type, const std::vector<TF_Output>& inputs,
                const Attrs& attrs,
                const std::vector<TF_Output>* last = nullptr);

  // Iterate makes an iterator over a dataset of these components.
  Result Iterate(TF_Output dataset, const std::vector<TF_DataType>& types,
                 const std::vector<std::vector<int64_t>>& shapes);

  // Next returns the next element. At the end the code is TF_OUT_OF_RANGE.
  Result Next();

  // Fetch runs the graph for n outputs of one node.
  Result Fetch(TF_Output node, int n);

  // Close ends the session and its runs.
  void Close();

 private:
  Result Run(const std::vector<TF_Output>& fetches, TF_Operation* target);

  TF_Graph* const graph_;
  TF_Session* session_ = nullptr;
  TF_Output next_{nullptr, 0};
  int components_ = 0;
  int nodes_ = 0;
};

}  // namespace optest
}  // namespace millrace

#endif  // MILLRACE_CGO_OPTEST_PIPELINE_H_
