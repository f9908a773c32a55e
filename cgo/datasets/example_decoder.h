// Decoding of tf.train.Example straight into the memory of batches.
#ifndef MILLRACE_CGO_DATASETS_EXAMPLE_DECODER_H_
#define MILLRACE_CGO_DATASETS_EXAMPLE_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fault.h"

namespace millrace {

// Kind is how a feature is stored and what becomes of it.
enum class Kind {
  kInt64,
  kFloat,
  kBytes,  // byte strings as they are
  kRaw,    // byte strings that hold numbers
};

// FeatureSpec is a feature to decode. It is required, of exactly `values`
// values.
struct FeatureSpec {
  std::string key;
  Kind kind = Kind::kInt64;
  int64_t values = 1;     // stored in a record
  int64_t raw_bytes = 0;  // of each byte string of a raw feature
  int swap_bytes = 1;     // of each number of a raw feature to reverse
};

// Destination is where the values of one feature go: the first row's place.
// Byte strings are passed to `set`, numbers written to memory.
struct Destination {
  void* base = nullptr;
  void (*set)(void* base, int64_t index, const char* data,
              size_t n) = nullptr;
};

// ExampleDecoder decodes Examples as TensorFlow's vectorised parser does: what
// it takes is taken here with the same values, and what it refuses is refused,
// down to what it makes of lengths that reach too far. Only what would end its
// process is an error here. Not for several threads: it remembers the order of
// features in the last record.
class ExampleDecoder {
 public:
  explicit ExampleDecoder(std::vector<FeatureSpec> features);
  ExampleDecoder(const ExampleDecoder&) = delete;
  ExampleDecoder& operator=(const ExampleDecoder&) = delete;

  // Decode decodes one record to row `row` of each destination. A fault names
  // the feature, not the record.
  bool Decode(std::string_view record, const Destination* destinations,
              int64_t row, Fault* fault);

  // Values finds the bytes of the record just decoded that are the values of
  // its one feature as they are in memory. It returns false if there are none,
  // or more features.
  bool Values(std::string_view record, size_t* at, size_t* n) const;

  const std::vector<FeatureSpec>& features() const { return features_; }

 private:
  struct Seen {
    std::string key;
    int feature;
  };

  bool Find(const uint8_t* p, const uint8_t* end, Fault* fault);
  bool Features(const uint8_t** p, const uint8_t* end, const uint8_t* record,
                Fault* fault);
  int Lookup(std::string_view key);
  bool Value(size_t feature, const Destination& to, int64_t row,
             Fault* fault) const;

  const std::vector<FeatureSpec> features_;
  std::unordered_map<std::string_view, int> by_key_;
  std::vector<Seen> order_;  // the keys of the last record
  size_t position_ = 0;      // in order_
  std::vector<std::string_view> found_;  // the value of each feature
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_EXAMPLE_DECODER_H_
