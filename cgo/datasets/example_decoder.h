// Decoding of tf.train.Example straight into the memory of batches.
#ifndef MILLRACE_CGO_DATASETS_EXAMPLE_DECODER_H_
#define MILLRACE_CGO_DATASETS_EXAMPLE_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "example_layout.h"
#include "fault.h"
#include "feature_spec.h"
#include "joined.h"
#include "key_map.h"
#include "row_decoder.h"

namespace millrace {

// ExampleDecoder decodes Examples exactly as TensorFlow's vectorised parser
// does: it accepts the same records with the same values, even with lengths
// that reach too far, and refuses the same records. Only records that would end
// TensorFlow's process are errors here. Not thread-safe: it remembers
// the order of features in the last record.
class ExampleDecoder final : public RowDecoder {
 public:
  explicit ExampleDecoder(std::vector<FeatureSpec> features);
  ExampleDecoder(const ExampleDecoder&) = delete;
  ExampleDecoder& operator=(const ExampleDecoder&) = delete;

  void Clear() override;
  bool Decode(std::string_view record, const Destination* destinations,
              int64_t row, Fault* fault) override;
  void LeaveInPlace() override { in_place_ = true; }
  void KeepRecords() override { keep_records_ = true; }
  void Cut(int64_t records) override;
  const Joined& list(size_t feature) const override { return lists_[feature]; }
  const std::vector<FeatureSpec>& features() const override {
    return features_;
  }

  // Values finds the bytes of the last decoded record that equal the values of
  // its only feature in memory. It returns false if there are none, or if there
  // are more features.
  bool Values(std::string_view record, size_t* at, size_t* n) const;

 private:
  bool Find(std::string_view record, Fault* fault);
  bool Parse(std::string_view record, Fault* fault);
  bool Features(const uint8_t** p, const uint8_t* end, std::string_view record,
                Fault* fault);
  bool Value(size_t feature, const Destination& to, int64_t row,
             Fault* fault) const;
  bool Rows(size_t feature, Fault* fault);

  const std::vector<FeatureSpec> features_;
  KeyMap keys_;
  ExampleLayouts layouts_;
  bool fixed_ = true;                    // all features have fixed size
  std::vector<std::string_view> found_;  // the value of each feature
  bool in_place_ = false;
  bool keep_records_ = false;
  std::vector<Joined> lists_;  // per feature; empty for features of fixed size
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_EXAMPLE_DECODER_H_
