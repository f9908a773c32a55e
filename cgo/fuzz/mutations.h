// Ways to spoil a record: by the grammar of protobuf, and by bytes.
#ifndef MILLRACE_CGO_FUZZ_MUTATIONS_H_
#define MILLRACE_CGO_FUZZ_MUTATIONS_H_

#include <string>
#include <vector>

#include "message.h"
#include "random.h"
#include "schema.h"

namespace millrace {
namespace fuzz {

// TreeMutation changes a message, and returns false if it found nothing to
// change.
struct TreeMutation {
  const char* name;
  bool (*apply)(const Schema& schema, Message* message, Random* random);
};

// ByteMutation changes a serialized record; `other` is another sound one.
struct ByteMutation {
  const char* name;
  void (*apply)(const std::string& other, std::string* record, Random* random);
};

const std::vector<TreeMutation>& TreeMutations();
const std::vector<ByteMutation>& ByteMutations();

}  // namespace fuzz
}  // namespace millrace

#endif  // MILLRACE_CGO_FUZZ_MUTATIONS_H_
