#include "usual_form.h"

#include <cstddef>
#include <cstdint>

#include "wire.h"

namespace millrace {
namespace {

// Part is the rest of a message.
struct Part {
  const uint8_t* p;
  const uint8_t* end;

  bool empty() const { return p == end; }

  // Take takes the next field, which must have this tag and end within the
  // message.
  bool Take(uint8_t tag, Part* field) {
    if (empty() || *p != tag) return false;
    ++p;
    uint64_t n;
    if (!wire::Varint64(&p, end, &n) || n > static_cast<size_t>(end - p)) {
      return false;
    }
    *field = {p, p + n};
    p += n;
    return true;
  }

  // TakeAll takes the field that fills the rest of the message.
  bool TakeAll(uint8_t tag, Part* field) { return Take(tag, field) && empty(); }
};

// Varints reports whether a list consists of whole 64-bit varints.
bool Varints(const Part& list) {
  int bytes = 0;
  for (const uint8_t* p = list.p; p != list.end; ++p) {
    ++bytes;
    if (bytes == 10 && *p > 1) return false;
    if (*p < 0x80) bytes = 0;
  }
  return bytes == 0;
}

bool Floats(Part list) {
  Part packed;
  if (list.empty()) return true;
  if (*list.p == wire::kBytes1) {
    return list.TakeAll(wire::kBytes1, &packed) &&
           (packed.end - packed.p) % 4 == 0;
  }
  for (; !list.empty(); list.p += 5) {
    if (*list.p != wire::kFixed32 || list.end - list.p < 5) return false;
  }
  return true;
}

bool Ints(Part list) {
  Part packed;
  if (list.empty()) return true;
  if (*list.p == wire::kBytes1) {
    return list.TakeAll(wire::kBytes1, &packed) && Varints(packed);
  }
  while (!list.empty()) {
    const uint8_t* const tag = list.p++;
    uint64_t v;
    if (*tag != wire::kVarint1 || !wire::Varint64(&list.p, list.end, &v) ||
        (list.p - tag == 11 && list.p[-1] > 1)) {
      return false;
    }
  }
  return true;
}

// Value reports whether a value is a list of the usual form.
bool Value(Part value) {
  if (value.empty()) return false;
  const uint8_t kind = *value.p;
  Part list, item;
  if (!value.TakeAll(kind, &list)) return false;
  switch (kind) {
    case wire::kBytes1:
      while (!list.empty()) {
        if (!list.Take(wire::kBytes1, &item)) return false;
      }
      return true;
    case wire::kBytes2:
      return Floats(list);
    case wire::kBytes3:
      return Ints(list);
    default:
      return false;
  }
}

// Elements reports whether a feature list consists of elements of the usual
// form.
bool Elements(Part list) {
  Part element;
  while (!list.empty()) {
    if (!list.Take(wire::kBytes1, &element) || !Value(element)) return false;
  }
  return true;
}

// Map reports whether a map has entries of a key and then a value, which `good`
// accepts.
template <typename Good>
bool Map(Part map, Good good) {
  Part entry, key, value;
  while (!map.empty()) {
    if (!map.Take(wire::kBytes1, &entry) || !entry.Take(wire::kBytes1, &key) ||
        !entry.TakeAll(wire::kBytes2, &value) || !good(value)) {
      return false;
    }
  }
  return true;
}

Part All(std::string_view record) {
  const auto* const p = reinterpret_cast<const uint8_t*>(record.data());
  return {p, p + record.size()};
}

}  // namespace

bool UsualForm(std::string_view record) {
  Part example = All(record), features;
  return example.TakeAll(wire::kBytes1, &features) && Map(features, Value);
}

bool UsualSequenceForm(std::string_view record) {
  Part example = All(record), part;
  if (example.empty()) return false;
  if (*example.p == wire::kBytes1 &&
      (!example.Take(wire::kBytes1, &part) || !Map(part, Value))) {
    return false;
  }
  return example.empty() ||
         (example.TakeAll(wire::kBytes2, &part) && Map(part, Elements));
}

}  // namespace millrace
