// Our own decoders as the parser under test.
#ifndef MILLRACE_CGO_FUZZ_OUR_DECODER_H_
#define MILLRACE_CGO_FUZZ_OUR_DECODER_H_

#include <string>
#include <vector>

#include "../datasets/example_decoder.h"
#include "../datasets/sequence_decoder.h"
#include "schema.h"

namespace millrace {
namespace fuzz {

// OurDecoder decodes batches of records. It keeps its decoders between batches,
// as the dataset operations do: their memory of a record must not affect the
// next.
class OurDecoder {
 public:
  explicit OurDecoder(const Schema& schema);

  Outcome Parse(const std::vector<std::string>& records);

 private:
  bool Decode(const std::vector<std::string>& records, Fault* fault);
  std::string Values(size_t feature, size_t records) const;

  const Schema& schema_;
  ExampleDecoder examples_;
  SequenceDecoder sequences_;
  std::vector<std::vector<char>> numbers_;
  std::vector<std::vector<std::string>> texts_;
};

}  // namespace fuzz
}  // namespace millrace

#endif  // MILLRACE_CGO_FUZZ_OUR_DECODER_H_
