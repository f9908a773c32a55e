#include "message.h"

#include <utility>

namespace millrace {
namespace fuzz {
namespace {

void AppendFixed(uint64_t value, int bytes, std::string* out) {
  for (int i = 0; i < bytes; ++i) *out += static_cast<char>(value >> (8 * i));
}

Node Field(Role role, uint64_t number, std::vector<Node> children) {
  Node node;
  node.role = role;
  node.number = number;
  node.children = std::move(children);
  return node;
}

Node Text(Role role, uint64_t number, std::string text) {
  Node node;
  node.role = role;
  node.number = number;
  node.text = std::move(text);
  return node;
}

Node Number(const FeatureSpec& f, bool bare, Random* random) {
  // Most numbers are small; few have the bytes of tags.
  uint64_t value = random->Below(200);
  if (random->OneIn(8)) value = random->Next() >> random->Below(64);
  Node node;
  node.role = Role::kNumber;
  node.bare = bare;
  node.type = f.kind == Kind::kFloat ? kFixed32 : kVarint;
  node.value = value;
  return node;
}

std::string DrawText(const FeatureSpec& f, Random* random) {
  size_t n = f.kind == Kind::kRaw ? static_cast<size_t>(f.raw_bytes)
                                  : random->Below(6);
  if (f.kind == Kind::kBytes && random->OneIn(16)) n = random->Below(300);
  std::string text(n, 0);
  const bool letters = !random->OneIn(4);
  for (char& c : text) {
    c = static_cast<char>(letters ? 'a' + random->Below(26) : random->Next());
  }
  return text;
}

Node Entry(const std::string& key, Node value) {
  value.number = 2;
  return Field(Role::kEntry, 1, {Text(Role::kKey, 1, key), std::move(value)});
}

Node Elements(const FeatureSpec& f, Random* random) {
  Node list = Field(Role::kElements, 2, {});
  for (size_t n = random->Below(5); n > 0; --n) {
    Node element = DrawFeature(f, f.values, random);
    element.role = Role::kElement;
    element.number = 1;
    list.children.push_back(std::move(element));
  }
  return list;
}

}  // namespace

void AppendVarint(uint64_t value, int bytes, std::string* out) {
  for (int n = 1; value >= 128 || n < bytes; ++n, value >>= 7) {
    *out += static_cast<char>((value & 127) | 128);
  }
  *out += static_cast<char>(value);
}

void Node::AppendTo(std::string* out) const {
  if (!bare) AppendVarint(number << 3 | type, tag_bytes, out);
  switch (type) {
    case kVarint:
      AppendVarint(value, value_bytes, out);
      break;
    case kFixed64:
      AppendFixed(value, 8, out);
      break;
    case kFixed32:
      AppendFixed(value, 4, out);
      break;
    case kLength: {
      std::string body = text;
      for (const Node& child : children) child.AppendTo(&body);
      AppendVarint(claim.value_or(body.size()), value_bytes, out);
      *out += body;
      break;
    }
    default:  // groups and invalid wire types only have a tag
      break;
  }
}

std::string Message::Serialize() const {
  std::string out;
  for (const Node& field : fields) field.AppendTo(&out);
  return out;
}

std::vector<Node*> Message::All() {
  std::vector<Node*> all;
  for (Node& field : fields) all.push_back(&field);
  for (size_t i = 0; i < all.size(); ++i) {
    for (Node& child : all[i]->children) all.push_back(&child);
  }
  return all;
}

Node DrawFeature(const FeatureSpec& f, int64_t n, Random* random) {
  const uint64_t number = ListTag(f.kind) >> 3;
  const bool texts = f.kind == Kind::kBytes || f.kind == Kind::kRaw;
  const bool packed = !texts && !random->OneIn(3);
  std::vector<Node> values;
  for (int64_t i = 0; i < n; ++i) {
    values.push_back(texts ? Text(Role::kText, 1, DrawText(f, random))
                           : Number(f, packed, random));
  }
  if (packed) {
    Node whole = Field(Role::kPacked, 1, std::move(values));
    values.clear();
    values.push_back(std::move(whole));
  }
  Node list = Field(Role::kList, number, std::move(values));
  return Field(Role::kFeature, 2, {std::move(list)});
}

Message DrawMessage(const Schema& schema, Random* random) {
  Node context = Field(Role::kFeatures, 1, {});
  Node lists = Field(Role::kFeatures, 2, {});
  for (const FeatureSpec& f : schema.features) {
    if (f.is_list && schema.sequence) {
      lists.children.push_back(Entry(f.key, Elements(f, random)));
      continue;
    }
    const int64_t rows = f.is_list ? random->Below(4) : 1;
    context.children.push_back(
        Entry(f.key, DrawFeature(f, rows * f.values, random)));
  }
  if (random->OneIn(4)) {
    FeatureSpec other;
    other.key = "other";
    const size_t at = random->Below(context.children.size() + 1);
    context.children.insert(context.children.begin() + at,
                            Entry(other.key, DrawFeature(other, 1, random)));
  }
  Message message;
  message.fields.push_back(std::move(context));
  if (schema.sequence) message.fields.push_back(std::move(lists));
  return message;
}

}  // namespace fuzz
}  // namespace millrace
