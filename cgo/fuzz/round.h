// One round of the fuzzer: a schema and the mutants that are parsed with it.
#ifndef MILLRACE_CGO_FUZZ_ROUND_H_
#define MILLRACE_CGO_FUZZ_ROUND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "oracle.h"
#include "our_decoder.h"
#include "schema.h"

namespace millrace {
namespace fuzz {

constexpr uint64_t kRoundSize = 1000;  // mutants

// Mutant is a batch of sound records with a spoiled last record.
struct Mutant {
  std::vector<std::string> batch;
  std::vector<size_t> mutations;  // tree mutations, then byte mutations
};

// Verdict is the result for a mutant.
enum class Verdict {
  kAccepted,  // accepted by both parsers, with the same values
  kRejected,  // rejected by both
  kWithheld,  // rejected by our decoder, and TensorFlow might not survive it
  kDiffers,
};

// Round parses mutants with both parsers. All of it follows from the seed and
// the round's number.
class Round {
 public:
  Round(uint64_t seed, uint64_t number);

  // Draw makes mutant i of the round.
  Mutant Draw(uint64_t i) const;

  // Compare runs our decoder first, and TensorFlow only on records that our
  // decoder
  // accepts or that are harmless. `difference` describes how the results
  // differ.
  Verdict Compare(const std::vector<std::string>& batch,
                  std::string* difference);

  const Schema& schema() const { return schema_; }

 private:
  const uint64_t seed_, number_;
  const Schema schema_;
  OurDecoder our_decoder_;
  const Oracle oracle_;
};

}  // namespace fuzz
}  // namespace millrace

#endif  // MILLRACE_CGO_FUZZ_ROUND_H_
