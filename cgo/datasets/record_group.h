// Groups of one record, read directly from files.
#ifndef MILLRACE_CGO_DATASETS_RECORD_GROUP_H_
#define MILLRACE_CGO_DATASETS_RECORD_GROUP_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "batch_spec.h"
#include "chunk_batch.h"
#include "chunk_spec.h"
#include "record_blocks.h"
#include "record_form.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"

namespace millrace {

// RecordSpec has the attributes for the columns' form in records.
class RecordSpec {
 public:
  // Read reads and checks the attributes.
  absl::Status Read(tensorflow::OpKernelConstruction* ctx,
                    const ChunkSpec& chunks);

  const RecordForm& form() const { return form_; }

  // feature returns the feature of a column.
  size_t feature(size_t column) const {
    return static_cast<size_t>(features_[column]);
  }

  // Attrs returns the attributes that AddDataset does not write by itself.
  std::vector<std::pair<absl::string_view, tensorflow::AttrValue>> Attrs()
      const;

 private:
  RecordForm form_;
  std::vector<int64_t> features_;  // the feature of each column
};

// RecordGroup is a group of one record. Floats of an Example stay in the buffer
// of the file. Only values whose stored form differs from their form in memory
// are decoded to separate memory.
class RecordGroup : public ChunkGroup, public RecordSlot {
 public:
  // The specs must outlive the group.
  RecordGroup(const RecordSpec& spec, const ChunkSpec& chunks);

  RecordPlace place(int64_t) const override {
    return {at().file, at().ordinal, at().offset};
  }

 protected:
  bool Decode(std::string_view record, Fault* fault) override;

 private:
  void Refer(size_t column);

  const RecordSpec& spec_;
  const ChunkSpec& chunks_;
  RecordRow row_;
  std::vector<std::vector<tensorflow::tstring>> texts_;  // each column
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_RECORD_GROUP_H_
