// The request of a round of the fuzzer: the form of records and their features.
#ifndef MILLRACE_CGO_FUZZ_SCHEMA_H_
#define MILLRACE_CGO_FUZZ_SCHEMA_H_

#include <string>
#include <vector>

#include "../datasets/feature_spec.h"
#include "random.h"

namespace millrace {
namespace fuzz {

struct Schema {
  bool sequence = false;  // SequenceExamples, not Examples
  std::vector<FeatureSpec> features;
};

// DrawSchema draws one to four features of every kind.
Schema DrawSchema(Random* random);

// Describe returns a line for a report.
std::string Describe(const Schema& schema);

// Outcome is the result of a parser for a batch of records. `values` has an
// entry for each feature: the bytes of numbers, each string after its length,
// and for feature lists first the number of elements of each record. Two
// parsers agree if their outcomes differ only in `error`.
struct Outcome {
  bool accepted = false;
  std::string error;
  std::vector<std::string> values;
};

}  // namespace fuzz
}  // namespace millrace

#endif  // MILLRACE_CGO_FUZZ_SCHEMA_H_
