// Records as trees of fields, with any kind of fault.
#ifndef MILLRACE_CGO_FUZZ_MESSAGE_H_
#define MILLRACE_CGO_FUZZ_MESSAGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "random.h"
#include "schema.h"

namespace millrace {
namespace fuzz {

// Wire types of protobuf.
constexpr uint64_t kVarint = 0;
constexpr uint64_t kFixed64 = 1;
constexpr uint64_t kLength = 2;
constexpr uint64_t kStartGroup = 3;
constexpr uint64_t kEndGroup = 4;
constexpr uint64_t kFixed32 = 5;

// Role is what a field is in a sound record; it guides mutations.
enum class Role {
  kUnknown,
  kFeatures,  // the map of an Example or a context, or of feature lists
  kEntry,     // entry of a map
  kKey,
  kFeature,   // a map's value: a feature
  kElements,  // a map's value: a feature list
  kElement,   // element of a feature list: a feature
  kList,      // list of int64s, floats or strings
  kPacked,
  kNumber,  // packed or not
  kText,
};

// Node is one field. Its encoding may be wrong: a false length can be claimed,
// and any varint can take more bytes than necessary.
struct Node {
  Role role = Role::kUnknown;
  bool bare = false;  // a value without a tag, as in a packed list
  uint64_t number = 1;
  uint64_t type = kLength;
  uint64_t value = 0;  // value of a varint or a fixed number
  std::string text;    // text of a length-delimited field without children
  std::vector<Node> children;
  std::optional<uint64_t> claim;  // length to write instead of the right one
  int tag_bytes = 0;              // minimum, up to eleven
  int value_bytes = 0;            // the same for a length or a varint

  void AppendTo(std::string* out) const;
};

// Message has the fields of a record.
struct Message {
  std::vector<Node> fields;

  std::string Serialize() const;

  // All returns all nodes below the message, parents first.
  std::vector<Node*> All();
};

// DrawMessage draws a sound record with all features of a schema and perhaps
// others.
Message DrawMessage(const Schema& schema, Random* random);

// DrawFeature draws the value of a feature of n values.
Node DrawFeature(const FeatureSpec& f, int64_t n, Random* random);

// AppendVarint appends a varint of at least `bytes` bytes.
void AppendVarint(uint64_t value, int bytes, std::string* out);

}  // namespace fuzz
}  // namespace millrace

#endif  // MILLRACE_CGO_FUZZ_MESSAGE_H_
