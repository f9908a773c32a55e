#include "usual_form.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

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

// Keys collects the keys of a map. Few maps have more than kMost of them. What
// is not used is not set, because there are some for each record.
class Keys {
 public:
  // Add reports whether a key is new, and not one too many.
  bool Add(const Part& part) {
    const Key key = {part.p, static_cast<size_t>(part.end - part.p)};
    if (n_ == kMost) return false;
    if (n_ < kFew) {
      for (size_t i = 0; i < n_; ++i) {
        if (Equal(keys_[i], key)) return false;
      }
    } else {
      if (n_ == kFew) {
        std::memset(slots_, 0, sizeof(slots_));
        for (size_t i = 0; i < n_; ++i) slots_[Slot(keys_[i])] = Number(i);
      }
      const size_t slot = Slot(key);
      if (slots_[slot] != 0) return false;
      slots_[slot] = Number(n_);
    }
    keys_[n_++] = key;
    return true;
  }

 private:
  static constexpr size_t kFew = 8;  // compared with each other
  static constexpr size_t kMost = 120;
  static constexpr size_t kSlots = 256;

  struct Key {
    const uint8_t* p;
    size_t n;
  };

  static bool Equal(const Key& a, const Key& b) {
    return a.n == b.n && std::memcmp(a.p, b.p, a.n) == 0;
  }

  static uint8_t Number(size_t i) { return static_cast<uint8_t>(i + 1); }

  // Slot returns the slot of a key, or the one to put it in.
  size_t Slot(const Key& key) const {
    uint64_t hash = key.n;
    for (size_t i = 0; i < key.n; i += sizeof(hash)) {
      uint64_t part = 0;
      std::memcpy(&part, key.p + i, std::min(sizeof(part), key.n - i));
      hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;
    }
    for (size_t slot = hash % kSlots;; slot = (slot + 1) % kSlots) {
      if (slots_[slot] == 0 || Equal(keys_[slots_[slot] - 1], key)) return slot;
    }
  }

  size_t n_ = 0;
  Key keys_[kMost];
  uint8_t slots_[kSlots];  // number of the key, from 1; set with the key kFew
};

// Map reports whether a map has entries of a key and then a value, which `good`
// accepts, and each key once.
template <typename Good>
bool Map(Part map, Good good) {
  Part entry, key, value;
  Keys keys;
  while (!map.empty()) {
    if (!map.Take(wire::kBytes1, &entry) || !entry.Take(wire::kBytes1, &key) ||
        !keys.Add(key) || !entry.TakeAll(wire::kBytes2, &value) ||
        !good(value)) {
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
