#include <algorithm>
#include <utility>

#include "mutations.h"

namespace millrace {
namespace fuzz {
namespace {

// Anywhere returns any node; a message always has one.
Node* Anywhere(Message* message, Random* random) {
  const std::vector<Node*> all = message->All();
  return all.empty() ? nullptr : all[random->Below(all.size())];
}

// With returns a node that fits, or nullptr.
template <typename Fits>
Node* With(Message* message, Random* random, Fits fits) {
  std::vector<Node*> all = message->All();
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const Node* n) { return !fits(*n); }),
            all.end());
  return all.empty() ? nullptr : all[random->Below(all.size())];
}

// Siblings returns the fields of a message or of a node in it.
std::vector<Node>* Siblings(Message* message, Random* random) {
  Node* parent =
      With(message, random, [](const Node& n) { return !n.children.empty(); });
  return parent == nullptr || random->OneIn(6) ? &message->fields
                                               : &parent->children;
}

bool FieldNumber(const Schema&, Message* message, Random* random) {
  Node* node = Anywhere(message, random);
  if (node == nullptr) return false;
  const uint64_t numbers[] = {
      0, 1, 2, 3, 4, 15, 16, 31, 32, (1u << 29) - 1, 1u << 29};
  node->number = random->Pick(numbers);
  node->bare = false;
  return true;
}

bool WireType(const Schema&, Message* message, Random* random) {
  Node* node = Anywhere(message, random);
  if (node == nullptr) return false;
  node->type = random->Below(8);
  node->bare = false;
  return true;
}

// TagAbove32 writes a tag with correct low 32 bits and other high bits.
bool TagAbove32(const Schema&, Message* message, Random* random) {
  Node* node = Anywhere(message, random);
  if (node == nullptr) return false;
  node->number += uint64_t{1} << (29 + random->Below(31));
  return true;
}

// LengthClaim claims fewer or more bytes than exist, or a number that overflows
// a signed or unsigned 32-bit integer.
bool LengthClaim(const Schema&, Message* message, Random* random) {
  Node* node =
      With(message, random, [](const Node& n) { return n.type == kLength; });
  if (node == nullptr) return false;
  std::string whole;
  node->AppendTo(&whole);
  const uint64_t size = whole.size();
  const uint64_t claims[] = {0,
                             1,
                             2,
                             3,
                             size / 2,
                             size - 2,
                             size - 1,
                             size,
                             size + 1,
                             size + random->Below(300),
                             127,
                             128,
                             (1u << 28) - 1,
                             INT32_MAX,
                             uint64_t{INT32_MAX} + 1,
                             UINT32_MAX,
                             UINT32_MAX - random->Below(100),
                             (uint64_t{1} << 32) + size - 2,
                             UINT64_MAX,
                             random->Next() >> random->Below(64)};
  node->claim = random->Pick(claims);
  return true;
}

// LongVarint writes a varint in up to eleven bytes; ten are the most that are
// read.
bool LongVarint(const Schema&, Message* message, Random* random) {
  Node* node = Anywhere(message, random);
  if (node == nullptr) return false;
  (random->OneIn(2) ? node->tag_bytes : node->value_bytes) =
      static_cast<int>(2 + random->Below(10));
  return true;
}

bool ExtremeNumber(const Schema&, Message* message, Random* random) {
  Node* node = With(message, random,
                    [](const Node& n) { return n.role == Role::kNumber; });
  if (node == nullptr) return false;
  const uint64_t values[] = {
      0,          127,        128,        INT32_MAX,
      UINT32_MAX, INT64_MAX,  UINT64_MAX, uint64_t{1} << 63,
      0x7fc00000, 0x0d0d0d0d, 0x80808080};
  node->value = random->Pick(values);
  return true;
}

bool Duplicate(const Schema&, Message* message, Random* random) {
  std::vector<Node>* siblings = Siblings(message, random);
  if (siblings->empty()) return false;
  const Node copy = (*siblings)[random->Below(siblings->size())];
  const size_t at = random->Below(siblings->size() + 1);
  siblings->insert(siblings->begin() + static_cast<int64_t>(at), copy);
  return true;
}

// DuplicateKey repeats an entry of a map with another value, or with none.
bool DuplicateKey(const Schema& schema, Message* message, Random* random) {
  Node* map = With(message, random, [](const Node& n) {
    return n.role == Role::kFeatures && !n.children.empty();
  });
  if (map == nullptr) return false;
  Node copy = map->children[random->Below(map->children.size())];
  if (copy.children.size() == 2) {
    Node& value = copy.children[1];
    const FeatureSpec& f =
        schema.features[random->Below(schema.features.size())];
    if (value.role == Role::kFeature && random->OneIn(2)) {
      value = DrawFeature(f, f.values, random);
    } else if (random->OneIn(2)) {
      value.children.clear();
    }
  }
  const size_t at = random->Below(map->children.size() + 1);
  map->children.insert(map->children.begin() + static_cast<int64_t>(at),
                       std::move(copy));
  return true;
}

bool Remove(const Schema&, Message* message, Random* random) {
  std::vector<Node>* siblings = Siblings(message, random);
  if (siblings->empty()) return false;
  const size_t at = random->Below(siblings->size());
  siblings->erase(siblings->begin() + static_cast<int64_t>(at));
  return true;
}

bool Swap(const Schema&, Message* message, Random* random) {
  std::vector<Node>* siblings = Siblings(message, random);
  if (siblings->size() < 2) return false;
  const size_t at = random->Below(siblings->size() - 1);
  std::swap((*siblings)[at], (*siblings)[at + 1]);
  return true;
}

bool Empty(const Schema&, Message* message, Random* random) {
  Node* node = Anywhere(message, random);
  if (node == nullptr) return false;
  node->children.clear();
  node->text.clear();
  return true;
}

// UnknownField adds a field that is not requested, of any wire type; some
// overshoot the end.
bool UnknownField(const Schema&, Message* message, Random* random) {
  std::vector<Node>* siblings = Siblings(message, random);
  Node node;
  const uint64_t numbers[] = {0, 2, 3, 4, 15, 16, 1000, (1u << 29) - 1};
  node.number = random->Pick(numbers);
  node.type = random->Below(6);
  node.value = random->Next() >> random->Below(64);
  node.text = std::string(random->Below(5), 'u');
  if (random->OneIn(2)) {
    const uint64_t claims[] = {node.text.size() + 1 + random->Below(20),
                               INT32_MAX, uint64_t{INT32_MAX} + 1, UINT32_MAX,
                               uint64_t{1} << 32};
    node.claim = random->Pick(claims);
  }
  const size_t at =
      random->OneIn(2) ? siblings->size() : random->Below(siblings->size() + 1);
  siblings->insert(siblings->begin() + static_cast<int64_t>(at),
                   std::move(node));
  return true;
}

bool Group(const Schema&, Message* message, Random* random) {
  std::vector<Node>* siblings = Siblings(message, random);
  Node node;
  node.number = random->Below(5);
  node.type = random->OneIn(2) ? kStartGroup : kEndGroup;
  const size_t at = random->Below(siblings->size() + 1);
  siblings->insert(siblings->begin() + static_cast<int64_t>(at),
                   std::move(node));
  return true;
}

// Packing writes a packed list unpacked, the other way round, or half of it
// each.
bool Packing(const Schema&, Message* message, Random* random) {
  Node* list = With(message, random, [](const Node& n) {
    return n.role == Role::kList && !n.children.empty();
  });
  if (list == nullptr) return false;
  Node& first = list->children[0];
  if (first.role == Role::kPacked) {
    std::vector<Node> values = std::move(first.children);
    for (Node& value : values) value.bare = false;
    list->children.erase(list->children.begin());
    list->children.insert(list->children.end(), values.begin(), values.end());
    return true;
  }
  Node packed;
  packed.role = Role::kPacked;
  const size_t n = random->OneIn(2) ? list->children.size()
                                    : random->Below(list->children.size());
  const auto middle = list->children.begin() + static_cast<int64_t>(n);
  packed.children.assign(list->children.begin(), middle);
  for (Node& value : packed.children) value.bare = true;
  list->children.erase(list->children.begin(), middle);
  list->children.insert(list->children.begin(), std::move(packed));
  return true;
}

// ListLength makes a list longer or shorter than in the schema.
bool ListLength(const Schema&, Message* message, Random* random) {
  Node* list = With(message, random, [](const Node& n) {
    return (n.role == Role::kList || n.role == Role::kPacked) &&
           !n.children.empty();
  });
  if (list == nullptr) return false;
  if (random->OneIn(3)) {
    list->children.pop_back();
    return true;
  }
  const Node last = list->children.back();
  const size_t counts[] = {1, 1, 2, 10, 100};
  list->children.insert(list->children.end(), random->Pick(counts), last);
  return true;
}

bool ListKind(const Schema&, Message* message, Random* random) {
  Node* list = With(message, random,
                    [](const Node& n) { return n.role == Role::kList; });
  if (list == nullptr) return false;
  list->number = random->Below(5);
  return true;
}

bool Key(const Schema& schema, Message* message, Random* random) {
  Node* key =
      With(message, random, [](const Node& n) { return n.role == Role::kKey; });
  if (key == nullptr) return false;
  switch (random->Below(4)) {
    case 0:
      key->text.clear();
      break;
    case 1:
      key->text = key->text.substr(0, random->Below(key->text.size() + 1));
      break;
    case 2:
      key->text += static_cast<char>('a' + random->Below(3));
      break;
    default:
      key->text = schema.features[random->Below(schema.features.size())].key;
  }
  return true;
}

bool TextLength(const Schema&, Message* message, Random* random) {
  Node* text = With(message, random,
                    [](const Node& n) { return n.role == Role::kText; });
  if (text == nullptr) return false;
  if (random->OneIn(2) && !text->text.empty()) {
    text->text.pop_back();
  } else {
    text->text += 'z';
  }
  return true;
}

// Graft replaces one part of the message by another.
bool Graft(const Schema&, Message* message, Random* random) {
  Node* from = Anywhere(message, random);
  if (from == nullptr) return false;
  const Node copy = *from;
  *Anywhere(message, random) = copy;
  return true;
}

// Nest puts a field into a field of the same kind, or takes it out of one.
bool Nest(const Schema&, Message* message, Random* random) {
  Node* node =
      With(message, random, [](const Node& n) { return n.type == kLength; });
  if (node == nullptr) return false;
  if (random->OneIn(2) && node->children.size() == 1) {
    const Node child = node->children[0];
    *node = child;
    return true;
  }
  Node outer = *node;
  outer.text.clear();
  outer.claim.reset();
  outer.children = {*node};
  *node = std::move(outer);
  return true;
}

}  // namespace

const std::vector<TreeMutation>& TreeMutations() {
  static const auto* const all = new std::vector<TreeMutation>{
      {"field number", FieldNumber},
      {"wire type", WireType},
      {"tag above 32 bits", TagAbove32},
      {"length claim", LengthClaim},
      {"long varint", LongVarint},
      {"extreme number", ExtremeNumber},
      {"duplicate field", Duplicate},
      {"duplicate key", DuplicateKey},
      {"remove field", Remove},
      {"swap fields", Swap},
      {"empty field", Empty},
      {"unknown field", UnknownField},
      {"group tag", Group},
      {"packing", Packing},
      {"list length", ListLength},
      {"list kind", ListKind},
      {"key", Key},
      {"string length", TextLength},
      {"graft", Graft},
      {"nest", Nest},
  };
  return *all;
}

}  // namespace fuzz
}  // namespace millrace
