// Batches of records with lists, SequenceExamples or Examples: the components
// for their features.
#ifndef MILLRACE_CGO_DATASETS_SEQUENCE_BATCH_H_
#define MILLRACE_CGO_DATASETS_SEQUENCE_BATCH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "batch_spec.h"
#include "batcher.h"
#include "record_form.h"
#include "row_decoder.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"

namespace millrace {

constexpr char kParts[] = "parts";
constexpr char kOf[] = "of";
constexpr char kSizes[] = "sizes";
constexpr char kMost[] = "most";
constexpr char kFills[] = "fills";
constexpr char kFillTypes[] = "Tfills";
constexpr char kPositions[] = "positions";

// Part is the part of a feature that a component of a batch contains.
enum class Part {
  kValues,    // fixed size: one row per record; list: its elements, joined
  kSplits,    // list: elements before each record, and the total
  kPadded,    // list: a row per record, padded to a size or the longest
  kLengths,   // list: the number of elements of each record
  kMask,      // list: true for elements and padded with false
  kElements,  // the number of values of each record
};

// SequenceSpec has the attributes and inputs in addition to BatchSpec's: the
// components of a batch, and the form of the records.
class SequenceSpec {
 public:
  struct Component {
    Part part;
    size_t feature;
    int64_t size;             // size to pad to, -1 for the longest
    int64_t most;             // elements of a record that are used
    tensorflow::Tensor fill;  // a scalar; for padded components only
  };

  // Read reads and checks the attributes.
  absl::Status Read(tensorflow::OpKernelConstruction* ctx,
                    const BatchSpec& batch);

  // WithFills returns the spec with the padding values.
  absl::Status WithFills(tensorflow::OpKernelContext* ctx,
                         SequenceSpec* spec) const;

  const std::vector<Component>& components() const { return components_; }
  const tensorflow::DataTypeVector& types() const { return types_; }
  const std::vector<tensorflow::PartialTensorShape>& shapes() const {
    return shapes_;
  }

  // examples reports whether records are Examples, not SequenceExamples.
  bool examples() const { return examples_; }

  // NewDecoder returns a decoder of some features of the records.
  std::unique_ptr<RowDecoder> NewDecoder(
      std::vector<FeatureSpec> features) const;

  // limit returns the maximum number of elements of a list, -1 for any number.
  int64_t limit(size_t feature) const { return limits_[feature]; }

  // Attrs returns the attributes that BatchSpec and AddDataset do not write by
  // themselves.
  std::vector<std::pair<absl::string_view, tensorflow::AttrValue>> Attrs(
      const BatchSpec& batch) const;

 private:
  absl::Status Add(const BatchSpec& batch, size_t i);

  bool examples_ = false;  // records are Examples
  std::vector<std::string> parts_;
  std::vector<int64_t> of_;
  std::vector<int64_t> sizes_;
  std::vector<int64_t> most_;  // -1 for all; empty: all of each component
  tensorflow::DataTypeVector fill_types_;
  tensorflow::DataTypeVector types_;
  std::vector<tensorflow::PartialTensorShape> shapes_;
  std::vector<Component> components_;
  std::vector<int64_t> limits_;  // limit of each feature
};

// SequenceBatcher makes batches of records with lists.
class SequenceBatcher : public Batcher {
 public:
  SequenceBatcher(const BatchSpec& batch, const SequenceSpec& spec)
      : batch_(batch),
        spec_(spec),
        decoder_(spec.NewDecoder(batch.features())) {}

  void KeepRecords() override { decoder_->KeepRecords(); }
  absl::Status Begin(tensorflow::Allocator* allocator, int64_t rows) override;
  bool Decode(std::string_view record, int64_t row, Fault* fault) override;
  bool WithinPadding(Fault* fault) const override;
  bool IsUsual(std::string_view record) const override {
    return spec_.examples() ? UsualForm(record) : UsualSequenceForm(record);
  }
  void DropRow(int64_t row) override { decoder_->Cut(row); }
  absl::Status Finish(tensorflow::Allocator* allocator, int64_t rows,
                      std::vector<tensorflow::Tensor>* out) override;

 private:
  absl::Status Make(tensorflow::Allocator* allocator, size_t component,
                    tensorflow::Tensor* out) const;
  void Elements(const SequenceSpec::Component& c,
                tensorflow::Tensor* out) const;
  void Pad(const SequenceSpec::Component& c, tensorflow::Tensor* out) const;
  void PadTexts(const SequenceSpec::Component& c,
                tensorflow::Tensor* out) const;

  const BatchSpec& batch_;
  const SequenceSpec& spec_;
  const std::unique_ptr<RowDecoder> decoder_;
  std::vector<tensorflow::Tensor> fixed_;  // empty for lists
  std::vector<Destination> destinations_;
  int64_t rows_ = 0;  // capacity of fixed_
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_SEQUENCE_BATCH_H_
