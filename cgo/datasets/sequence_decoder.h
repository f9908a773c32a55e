// Decoding of tf.train.SequenceExample.
#ifndef MILLRACE_CGO_DATASETS_SEQUENCE_DECODER_H_
#define MILLRACE_CGO_DATASETS_SEQUENCE_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fault.h"
#include "feature_spec.h"
#include "key_map.h"

namespace millrace {

// Joined is the elements of one feature list of several records, end to end.
class Joined {
 public:
  void Clear() {
    size_ = 0;
    texts_.clear();
    splits_.assign(1, 0);
  }

  // splits tells how many elements come before each record, and in all.
  const std::vector<int64_t>& splits() const { return splits_; }

  // data is the numbers, or the bytes of all strings.
  const char* data() const { return data_.get(); }
  size_t size() const { return size_; }  // in bytes

  // texts tells where in data each string ends.
  const std::vector<size_t>& texts() const { return texts_; }

  // Add makes room for n more bytes; nullptr if there is no memory.
  char* Add(size_t n);

  // AddText adds a string.
  bool AddText(std::string_view text);

  // EndRecord ends a record of n elements.
  void EndRecord(int64_t n) { splits_.push_back(splits_.back() + n); }

 private:
  std::unique_ptr<char[]> data_;
  size_t capacity_ = 0;
  size_t size_ = 0;
  std::vector<size_t> texts_;
  std::vector<int64_t> splits_ = {0};
};

// SequenceDecoder decodes SequenceExamples as TensorFlow's parser of batches
// does: what that takes is taken here with the same values, and what it
// refuses is refused. Only what would end its process is an error here. Not for
// several threads.
class SequenceDecoder {
 public:
  explicit SequenceDecoder(std::vector<FeatureSpec> features);
  SequenceDecoder(const SequenceDecoder&) = delete;
  SequenceDecoder& operator=(const SequenceDecoder&) = delete;

  // Clear begins a batch.
  void Clear();

  // Decode decodes one record: context features to row `row` of their
  // destinations, feature lists behind those of the records before. A fault
  // names the feature, not the record; the batch is lost with it.
  bool Decode(std::string_view record, const Destination* destinations,
              int64_t row, Fault* fault);

  // list returns what was decoded of a feature that is a list.
  const Joined& list(size_t feature) const { return lists_[feature]; }

  const std::vector<FeatureSpec>& features() const { return features_; }

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

  const std::vector<FeatureSpec> features_;
  KeyMap context_keys_;
  KeyMap list_keys_;
  std::vector<Found> found_;   // of each feature
  std::vector<Joined> lists_;  // likewise; empty for those of the context
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_SEQUENCE_DECODER_H_
