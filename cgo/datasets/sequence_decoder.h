// Decoding of tf.train.SequenceExample.
#ifndef MILLRACE_CGO_DATASETS_SEQUENCE_DECODER_H_
#define MILLRACE_CGO_DATASETS_SEQUENCE_DECODER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fault.h"
#include "feature_spec.h"
#include "joined.h"
#include "key_map.h"
#include "row_decoder.h"
#include "usual_element.h"

namespace millrace {

// SequenceDecoder decodes SequenceExamples exactly as TensorFlow's batch parser
// does: it accepts the same records with the same values, and refuses the same
// records. Only records that would end TensorFlow's process are errors here.
// Not thread-safe.
class SequenceDecoder final : public RowDecoder {
 public:
  explicit SequenceDecoder(std::vector<FeatureSpec> features);
  SequenceDecoder(const SequenceDecoder&) = delete;
  SequenceDecoder& operator=(const SequenceDecoder&) = delete;

  void Clear() override;
  void KeepRecords() override { keep_records_ = true; }
  bool Decode(std::string_view record, const Destination* destinations,
              int64_t row, Fault* fault) override;
  void Cut(int64_t records) override;
  const Joined& list(size_t feature) const override { return lists_[feature]; }
  const std::vector<FeatureSpec>& features() const override {
    return features_;
  }

 private:
  struct Found {
    bool present = false;
    std::string_view value;
  };

  bool Find(const uint8_t* p, const uint8_t* end, Fault* fault);
  bool Map(const uint8_t** p, const uint8_t* end, KeyMap* keys);
  bool Context(size_t feature, const Destination& to, int64_t row,
               Fault* fault) const;
  bool List(size_t feature, Fault* fault);
  bool UsualList(size_t feature, bool* known, Fault* fault);

  const std::vector<FeatureSpec> features_;
  KeyMap context_keys_;
  KeyMap list_keys_;
  std::vector<Found> found_;   // values of each feature
  std::vector<Joined> lists_;  // list of each feature; empty for the context
  std::vector<UsualElement> elements_;  // usual form of each feature
  bool keep_records_ = false;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_SEQUENCE_DECODER_H_
