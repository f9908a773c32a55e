// TensorFlow's own parsers as the reference.
#ifndef MILLRACE_CGO_FUZZ_ORACLE_H_
#define MILLRACE_CGO_FUZZ_ORACLE_H_

#include <memory>
#include <string>
#include <vector>

#include "schema.h"

namespace tensorflow {
class Tensor;
}  // namespace tensorflow

namespace millrace {
namespace fuzz {

// Oracle parses batches with the parsers of ParseExampleV2 and
// ParseSequenceExampleV2, and single Examples with ParseSingleExample's.
class Oracle {
 public:
  explicit Oracle(const Schema& schema);
  ~Oracle();

  Outcome Parse(const std::vector<std::string>& records) const;
  Outcome ParseSingle(const std::string& example) const;

 private:
  struct Config;
  Outcome ParseEach(const std::vector<std::string>& records) const;
  bool AppendAll(size_t feature, const tensorflow::Tensor& t,
                 std::string* counts, std::string* out) const;

  const Schema& schema_;
  std::unique_ptr<Config> config_;
  bool variable_ = false;  // a list of Examples is requested
};

// MayEndProcess reports whether TensorFlow's parsers might corrupt memory or
// end the process over a record. It checks bytes instead of structure, so it is
// independent of the decoders under test. It has false positives, but finds
// every dangerous record:
//
// A string whose length is 2^31 or more becomes a negative count of bytes. Such
// a length takes a varint of five bytes, four of them with the high bit and a
// fifth with one of the low four bits. Lengths that count as harmless are below
// 2^28, which can be allocated.
//
// Unpacked floats of an Example are written without a bounds check. Each takes
// five bytes, the first of them the tag 0x0d, so a list that is too long
// appears as a run of such bytes at intervals of five.
//
// A packed list of floats, where a feature of Examples may have any number of
// values, takes the memory that it claims: as for a string's length. Go parses
// all records of such a plan.
//
// tfrecord/example/checker.go has the same rule, for machines without our
// library: change both together.
bool MayEndProcess(const Schema& schema, const std::string& record);

}  // namespace fuzz
}  // namespace millrace

#endif  // MILLRACE_CGO_FUZZ_ORACLE_H_
