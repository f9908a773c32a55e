// The form of the batches of a dataset op: of Examples whose features all have
// one size, or of records with lists.
#ifndef MILLRACE_CGO_DATASETS_BATCH_FORM_H_
#define MILLRACE_CGO_DATASETS_BATCH_FORM_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "batch_spec.h"
#include "batcher.h"
#include "sequence_batch.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace millrace {

// BatchForm describes the batches of a dataset op. An op with the attribute
// "parts" makes them from records with lists.
class BatchForm {
 public:
  // Read reads and checks the attributes.
  absl::Status Read(tensorflow::OpKernelConstruction* ctx) {
    if (!ctx->HasAttr(kParts)) return batch_.Read(ctx);
    TF_RETURN_IF_ERROR(batch_.Read(ctx, kRecordShapes, kRecordTypes));
    return sequence_.emplace().Read(ctx, batch_);
  }

  // WithInputs returns the form completed by the op's inputs.
  absl::Status WithInputs(tensorflow::OpKernelContext* ctx,
                          BatchForm* form) const {
    *form = *this;
    if (!sequence_) return absl::OkStatus();
    return sequence_->WithFills(ctx, &*form->sequence_);
  }

  const tensorflow::DataTypeVector& types() const {
    return sequence_ ? sequence_->types() : batch_.types();
  }
  const std::vector<tensorflow::PartialTensorShape>& shapes() const {
    return sequence_ ? sequence_->shapes() : batch_.shapes();
  }

  // NewBatcher returns a batcher of this form, which refers to the form.
  std::unique_ptr<Batcher> NewBatcher() const {
    if (!sequence_) return std::make_unique<ExampleBatcher>(batch_);
    return std::make_unique<SequenceBatcher>(batch_, *sequence_);
  }

  // IsList reports whether a feature is a list.
  bool IsList(int64_t feature) const {
    return feature >= 0 &&
           static_cast<size_t>(feature) < batch_.features().size() &&
           batch_.features()[feature].is_list;
  }

  // NewDecoderOf returns a decoder of one of the lists alone. It may refer to
  // the values in the record instead of copying them.
  std::unique_ptr<RowDecoder> NewDecoderOf(int64_t list) const {
    auto decoder = sequence_->NewDecoder({batch_.features()[list]});
    decoder->LeaveInPlace();
    return decoder;
  }

  // AddNode adds the node of a dataset to the builder of a graph; `inputs` and
  // `attrs` are the dataset's, without the form's. `captures` are a last list
  // of inputs.
  template <typename Builder, typename Dataset>
  absl::Status AddNode(
      Builder* b, const Dataset* dataset,
      const std::vector<tensorflow::Node*>& inputs,
      std::vector<std::pair<absl::string_view, tensorflow::AttrValue>> attrs,
      tensorflow::Node** output,
      const std::vector<tensorflow::Node*>* captures = nullptr) const {
    for (auto& attr : batch_.Attrs()) attrs.push_back(std::move(attr));
    if (!sequence_ && captures == nullptr) {
      return b->AddDataset(dataset, inputs, attrs, output);
    }
    std::vector<std::pair<size_t, tensorflow::Node*>> numbered;
    for (tensorflow::Node* node : inputs) {
      numbered.emplace_back(numbered.size(), node);
    }
    if (!sequence_) {
      return b->AddDataset(dataset, numbered, {{inputs.size(), *captures}},
                           attrs, output);
    }
    std::vector<tensorflow::Node*> fills;
    for (const auto& c : sequence_->components()) {
      if (c.part != Part::kPadded) continue;
      fills.emplace_back();
      TF_RETURN_IF_ERROR(b->AddTensor(c.fill, &fills.back()));
    }
    for (auto& attr : sequence_->Attrs(batch_)) {
      attrs.push_back(std::move(attr));
    }
    std::vector<std::pair<size_t, absl::Span<tensorflow::Node* const>>> lists =
        {{inputs.size(), fills}};
    if (captures != nullptr) lists.emplace_back(inputs.size() + 1, *captures);
    return b->AddDataset(dataset, numbered, lists, attrs, output);
  }

 private:
  BatchSpec batch_;
  std::optional<SequenceSpec> sequence_;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_BATCH_FORM_H_
