// The common parts of the dataset ops that cut and batch rows.
#ifndef MILLRACE_CGO_DATASETS_CHUNK_FORM_H_
#define MILLRACE_CGO_DATASETS_CHUNK_FORM_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "chunk_rules.h"
#include "chunk_spec.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace millrace {

// ChunkForm has their attributes, and the inputs with the rules for rows and
// batches.
class ChunkForm {
 public:
  // Read reads and checks the attributes.
  absl::Status Read(tensorflow::OpKernelConstruction* ctx);

  // WithInputs returns the form completed by the op's inputs.
  absl::Status WithInputs(tensorflow::OpKernelContext* ctx,
                          ChunkForm* form) const;

  const ChunkSpec& spec() const { return spec_; }
  bool aligned() const { return aligned_; }
  ChunkRules rules() const;
  Budget NewBudget() const;

  // AddNode adds the node of a dataset to the builder of a graph. `inputs` are
  // the inputs of the op without the padding values, which come last; `rules`
  // is the index of the form's input. `attrs` are the dataset's attributes
  // without the form's.
  template <typename Builder, typename Dataset>
  absl::Status AddNode(
      Builder* b, const Dataset* dataset, std::vector<tensorflow::Node*> inputs,
      size_t rules,
      std::vector<std::pair<absl::string_view, tensorflow::AttrValue>> attrs,
      tensorflow::Node** output) const {
    TF_RETURN_IF_ERROR(b->AddVector(rules_, &inputs[rules]));
    std::vector<std::pair<size_t, tensorflow::Node*>> numbered;
    for (tensorflow::Node* node : inputs) {
      numbered.emplace_back(numbered.size(), node);
    }
    std::vector<tensorflow::Node*> fills;
    for (const ChunkSpec::Column& c : spec_.columns()) {
      fills.emplace_back();
      TF_RETURN_IF_ERROR(b->AddTensor(c.fill, &fills.back()));
    }
    for (auto& attr : spec_.Attrs()) attrs.push_back(std::move(attr));
    attrs.emplace_back("aligned", b->BuildAttrValue(aligned_));
    attrs.emplace_back("keep_tail", b->BuildAttrValue(keep_tail_));
    return b->AddDataset(dataset, numbered, {{inputs.size(), fills}}, attrs,
                         output);
  }

 private:
  ChunkSpec spec_;
  bool aligned_ = false;
  bool keep_tail_ = true;
  std::vector<int64_t> rules_;  // size, step, frames of a batch, rows of one
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_CHUNK_FORM_H_
