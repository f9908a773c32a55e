#include "round.h"

#include <algorithm>

#include "../datasets/fault.h"
#include "message.h"
#include "mutations.h"

namespace millrace {
namespace fuzz {
namespace {

Schema SchemaOf(uint64_t seed, uint64_t number) {
  Random random(~seed, number);
  return DrawSchema(&random);
}

// Difference describes how two outcomes differ; "" if they do not.
std::string Difference(const Schema& schema, const Outcome& ours,
                       const Outcome& oracle, const std::string& parser) {
  const auto verdict = [](const Outcome& o) {
    return o.accepted ? std::string("accepts") : "rejects (" + o.error + ")";
  };
  if (ours.accepted != oracle.accepted) {
    return "our decoder " + verdict(ours) + ", " + parser + " " +
           verdict(oracle);
  }
  for (size_t i = 0; i < ours.values.size(); ++i) {
    if (ours.values[i] == oracle.values[i]) continue;
    return "feature " + Quote(schema.features[i].key, 400) +
           ": our decoder has " + Quote(ours.values[i], 400) + ", " + parser +
           " " + Quote(oracle.values[i], 400);
  }
  return "";
}

}  // namespace

Round::Round(uint64_t seed, uint64_t number)
    : seed_(seed),
      number_(number),
      schema_(SchemaOf(seed, number)),
      our_decoder_(schema_),
      oracle_(schema_) {}

Mutant Round::Draw(uint64_t i) const {
  Random random(seed_, number_ * kRoundSize + i);
  Mutant mutant;
  for (size_t n = random.OneIn(8) ? 1 + random.Below(2) : 0; n > 0; --n) {
    mutant.batch.push_back(DrawMessage(schema_, &random).Serialize());
  }
  Message message = DrawMessage(schema_, &random);
  const auto& trees = TreeMutations();
  const auto& bytes = ByteMutations();
  // Most mutants have one fault, some none, few more.
  size_t faults = 1;
  if (random.OneIn(3)) faults += random.Below(4);
  if (random.OneIn(20)) faults = 0;
  size_t byte_faults = 0;
  for (; faults > 0; --faults) {
    if (random.OneIn(4)) {
      ++byte_faults;
      continue;
    }
    const size_t m = random.Below(trees.size());
    if (trees[m].apply(schema_, &message, &random)) {
      mutant.mutations.push_back(m);
    }
  }
  std::string record = message.Serialize();
  for (; byte_faults > 0; --byte_faults) {
    const size_t m = random.Below(bytes.size());
    bytes[m].apply(DrawMessage(schema_, &random).Serialize(), &record, &random);
    mutant.mutations.push_back(trees.size() + m);
  }
  mutant.batch.push_back(std::move(record));
  return mutant;
}

Verdict Round::Compare(const std::vector<std::string>& batch,
                       std::string* difference) {
  const Outcome ours = our_decoder_.Parse(batch);
  const auto harmful = [&](const std::string& record) {
    return MayEndProcess(schema_, record);
  };
  if (!ours.accepted && std::any_of(batch.begin(), batch.end(), harmful)) {
    return Verdict::kWithheld;
  }
  *difference = Difference(schema_, ours, oracle_.Parse(batch), "TensorFlow");
  if (difference->empty() && batch.size() == 1 && !schema_.sequence) {
    *difference = Difference(schema_, ours, oracle_.ParseSingle(batch[0]),
                             "TensorFlow's parser of single Examples");
  }
  if (!difference->empty()) return Verdict::kDiffers;
  return ours.accepted ? Verdict::kAccepted : Verdict::kRejected;
}

}  // namespace fuzz
}  // namespace millrace
