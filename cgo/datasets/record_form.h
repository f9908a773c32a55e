// The contents of records: the attributes of the ops that decode one record at
// a time.
#ifndef MILLRACE_CGO_DATASETS_RECORD_FORM_H_
#define MILLRACE_CGO_DATASETS_RECORD_FORM_H_

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "batch_spec.h"
#include "row_decoder.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"

namespace millrace {

constexpr char kExamples[] = "examples";

// CheckLists checks the rules for lists of Examples.
absl::Status CheckLists(bool examples, const BatchSpec& batch);

// RecordForm describes the features of records, including lists.
class RecordForm {
 public:
  // Read reads and checks the attributes.
  absl::Status Read(tensorflow::OpKernelConstruction* ctx);

  const BatchSpec& batch() const { return batch_; }

  // NewDecoder returns a decoder of one record at a time. It may refer to lists
  // in the record instead of copying them.
  std::unique_ptr<RowDecoder> NewDecoder() const;

  // IsUsual reports whether a record has the usual form (usual_form.h).
  bool IsUsual(std::string_view record) const;

  // Attrs returns the attributes that AddDataset does not write by itself.
  std::vector<std::pair<absl::string_view, tensorflow::AttrValue>> Attrs()
      const;

 private:
  bool examples_ = false;  // records are Examples
  BatchSpec batch_;
};

// RecordRow decodes one record after the other to the same memory. Not for
// several threads.
class RecordRow {
 public:
  // The form must outlive it.
  explicit RecordRow(const RecordForm& form)
      : form_(form), decoder_(form.NewDecoder()) {}

  // Decode decodes a record. A fault names the feature, not the record. The
  // lists may refer to the record.
  bool Decode(std::string_view record, Fault* fault);

  // fixed returns the spec of a feature of fixed size, and list the spec of a
  // list.
  const tensorflow::Tensor& fixed(size_t feature) const {
    return fixed_[feature];
  }
  const Joined& list(size_t feature) const { return decoder_->list(feature); }

 private:
  const RecordForm& form_;
  const std::unique_ptr<RowDecoder> decoder_;
  std::vector<tensorflow::Tensor>
      fixed_;  // one tensor per feature; empty for lists
  std::vector<Destination> destinations_;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_RECORD_FORM_H_
