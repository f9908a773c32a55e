#include "sequence_decoder.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <utility>

#include "wire.h"

namespace millrace {
namespace {

// Open reads the tag and the length of a feature's list. If the values in it
// are packed, it reads the head of the packed list, too. `tag` is the list's
// tag and `one` the tag of a value that is not packed. Bytes of a feature after
// its list are ignored.
bool Open(const uint8_t** p, const uint8_t** end, uint8_t tag, uint8_t one,
          bool* packed) {
  uint32_t length;
  *packed = false;
  if (*p == *end || **p != tag) return false;
  ++*p;
  if (!wire::Varint32(p, *end, &length)) return false;
  if (length == 0) {
    *end = *p;
    return true;
  }
  *end = wire::Limit(*p, *end, length);
  if (one == wire::kBytes1) return true;
  if (*p == *end) return false;
  if (**p != wire::kBytes1) return **p == one;
  *packed = true;
  ++*p;
  if (!wire::Varint32(p, *end, &length)) return false;
  *end = wire::Limit(*p, *end, length);
  return true;
}

// Each reader below reads a feature, writes at most `want` values and returns
// the number of values of the feature, or -1 if it cannot be read.

int64_t Floats(const uint8_t** p, const uint8_t* end, int64_t want, char* to) {
  bool packed;
  if (!Open(p, &end, wire::kBytes2, wire::kFixed32, &packed)) return -1;
  if (packed) {
    const int64_t n = end - *p;
    if (n % 4 != 0) return -1;
    if (n > 0 && n / 4 == want) std::memcpy(to, *p, static_cast<size_t>(n));
    *p = end;
    return n / 4;
  }
  int64_t count = 0;
  for (; *p != end; ++count) {
    if (**p != wire::kFixed32 || end - *p < 5) return -1;
    if (count < want) std::memcpy(to + count * 4, *p + 1, 4);
    *p += 5;
  }
  return count;
}

int64_t Ints(const uint8_t** p, const uint8_t* end, int64_t want, char* to) {
  bool packed;
  if (!Open(p, &end, wire::kBytes3, wire::kVarint1, &packed)) return -1;
  int64_t count = 0;
  for (; *p != end; ++count) {
    if (!packed && *(*p)++ != wire::kVarint1) return -1;
    uint64_t v;
    if (!wire::Varint64(p, end, &v)) return -1;
    if (count < want) std::memcpy(to + count * 8, &v, 8);
  }
  return count;
}

// Texts passes the strings to `take`, which returns false on failure.
template <typename Take>
int64_t Texts(const uint8_t** p, const uint8_t* end, int64_t want, Take take) {
  bool packed;
  if (!Open(p, &end, wire::kBytes1, wire::kBytes1, &packed)) return -1;
  int64_t count = 0;
  for (; *p != end; ++count) {
    std::string_view text;
    if (*(*p)++ != wire::kBytes1) return -1;
    if (!wire::Text(p, end, &text)) return -1;
    if (count < want && !take(count, text)) return -1;
  }
  return count;
}

// Entry reads an entry of a map, of a key and a value in this order.
bool Entry(const uint8_t** p, const uint8_t* end, std::string_view* key,
           std::string_view* value) {
  uint32_t length;
  if (*p == end || *(*p)++ != wire::kBytes1) return false;
  if (!wire::Varint32(p, end, &length)) return false;
  end = wire::Limit(*p, end, length);
  if (*p == end || *(*p)++ != wire::kBytes1) return false;
  if (!wire::Text(p, end, key)) return false;
  if (*p == end || *(*p)++ != wire::kBytes2) return false;
  return wire::Text(p, end, value) && *p == end;
}

bool WrongRaw(const FeatureSpec& f, size_t got, Fault* fault) {
  return fault->SetFeature(f.key, Cause::kInvalidArgument,
                           "%zu raw bytes, want %" PRId64, got, f.raw_bytes);
}

bool NoMemory(const FeatureSpec& f, Fault* fault) {
  return fault->SetFeature(f.key, Cause::kResourceExhausted,
                           "no memory for its elements");
}

// Miscounted sets a fault about the values of a feature, or of one element of
// a list.
bool Miscounted(const FeatureSpec& f, int64_t element, int64_t count,
                Fault* fault) {
  char where[40] = "";
  if (f.is_list) {
    std::snprintf(where, sizeof(where), "element %" PRId64 ": ", element);
  }
  if (count < 0) {
    return fault->SetFeature(f.key, Cause::kInvalidArgument,
                             "%sno %s list that can be read", where,
                             ListName(ListTag(f.kind)));
  }
  return fault->SetFeature(f.key, Cause::kInvalidArgument,
                           "%s%" PRId64 " values stored, want %" PRId64, where,
                           count, f.values);
}

// Element decodes one element of a list.
int64_t Element(const FeatureSpec& f, const uint8_t** p, const uint8_t* end,
                Joined* to, Fault* fault) {
  const bool numbers = f.kind == Kind::kInt64 || f.kind == Kind::kFloat;
  if (numbers) {
    // Memory is only allocated for values that the bytes can contain.
    const int64_t size = f.kind == Kind::kInt64 ? 8 : 4;
    const int64_t least = f.kind == Kind::kInt64 ? 1 : 4;
    const int64_t want = f.values <= (end - *p) / least ? f.values : 0;
    char* const at = to->Add(static_cast<size_t>(want * size));
    if (at == nullptr) {
      NoMemory(f, fault);
      return -1;
    }
    return f.kind == Kind::kInt64 ? Ints(p, end, want, at)
                                  : Floats(p, end, want, at);
  }
  return Texts(p, end, f.values, [&](int64_t, std::string_view text) {
    if (f.kind == Kind::kBytes) return to->AddText(text) || NoMemory(f, fault);
    if (text.size() != static_cast<size_t>(f.raw_bytes)) {
      return WrongRaw(f, text.size(), fault);
    }
    char* const at = to->Add(text.size());
    if (at == nullptr) return NoMemory(f, fault);
    CopyRaw(f, text, at);
    return true;
  });
}

}  // namespace

SequenceDecoder::SequenceDecoder(std::vector<FeatureSpec> features)
    : features_(std::move(features)),
      found_(features_.size()),
      lists_(features_.size()) {
  for (size_t i = 0; i < features_.size(); ++i) {
    KeyMap& keys = features_[i].is_list ? list_keys_ : context_keys_;
    keys.Add(features_[i].key, static_cast<int>(i));
    elements_.emplace_back(features_[i]);
  }
}

void SequenceDecoder::Clear() {
  for (Joined& list : lists_) list.Clear();
}

void SequenceDecoder::Cut(int64_t records) {
  for (size_t i = 0; i < features_.size(); ++i) {
    const FeatureSpec& f = features_[i];
    if (!f.is_list) continue;
    lists_[i].Cut(static_cast<size_t>(records), ElementBytes(f),
                  ElementTexts(f));
  }
}

// Map reads a map of features or of feature lists. If a key occurs several
// times the last entry counts, even if it is empty.
bool SequenceDecoder::Map(const uint8_t** p, const uint8_t* end, KeyMap* keys) {
  uint32_t length;
  if (!wire::Varint32(p, end, &length)) return false;
  end = wire::Limit(*p, end, length);
  while (*p != end) {
    std::string_view key, value;
    if (!Entry(p, end, &key, &value)) return false;
    const int feature = keys->Find(key);
    if (feature >= 0) found_[feature] = {true, value};
  }
  return true;
}

bool SequenceDecoder::Find(const uint8_t* p, const uint8_t* end, Fault* fault) {
  const uint8_t* const record = p;
  context_keys_.Restart();
  list_keys_.Restart();
  std::fill(found_.begin(), found_.end(), Found());
  while (p != end) {
    bool ok = false;
    const uint8_t* const at = p;
    if (*p == wire::kBytes1 || *p == wire::kBytes2) {
      ++p;
      ok = Map(&p, end, *at == wire::kBytes1 ? &context_keys_ : &list_keys_);
    } else {
      ok = wire::Skip(&p, end);
    }
    if (!ok) {
      return fault->Set(Cause::kInvalidArgument,
                        "not a SequenceExample (at byte %zd)", at - record);
    }
  }
  return true;
}

bool SequenceDecoder::Context(size_t feature, const Destination& to,
                              int64_t row, Fault* fault) const {
  const FeatureSpec& f = features_[feature];
  const std::string_view value = found_[feature].value;
  if (!found_[feature].present) {
    return fault->SetFeature(f.key, Cause::kInvalidArgument,
                             "the record has no such feature");
  }
  int64_t count = 0;
  if (!value.empty()) {
    const auto* p = reinterpret_cast<const uint8_t*>(value.data());
    const uint8_t* const end = p + value.size();
    char* const base = static_cast<char*>(to.base);
    switch (f.kind) {
      case Kind::kInt64:
        count = Ints(&p, end, f.values, base + row * f.values * 8);
        break;
      case Kind::kFloat:
        count = Floats(&p, end, f.values, base + row * f.values * 4);
        break;
      case Kind::kBytes:
        count = Texts(&p, end, f.values, [&](int64_t i, std::string_view text) {
          to.set(to.base, row * f.values + i, text.data(), text.size());
          return true;
        });
        break;
      case Kind::kRaw:
        count = Texts(&p, end, f.values, [&](int64_t i, std::string_view text) {
          if (text.size() != static_cast<size_t>(f.raw_bytes)) {
            return WrongRaw(f, text.size(), fault);
          }
          CopyRaw(f, text, base + (row * f.values + i) * f.raw_bytes);
          return true;
        });
        break;
    }
  }
  if (fault->cause != Cause::kNone) return false;
  return count == f.values || Miscounted(f, 0, count, fault);
}

// UsualList is List for elements of the usual form, and reports whether they
// have it.
bool SequenceDecoder::UsualList(size_t feature, bool* known, Fault* fault) {
  const UsualElement& usual = elements_[feature];
  const std::string_view value = found_[feature].value;
  const int64_t n = usual.Count(value);
  *known = n >= 0;
  if (!*known) return true;
  const FeatureSpec& f = features_[feature];
  Joined& to = lists_[feature];
  const size_t bytes = ElementBytes(f);
  const char* from = value.data() + usual.head();
  if (!keep_records_ || f.swap_bytes >= 2 ||
      !to.ReferEach(from, n, bytes, usual.size())) {
    char* at = to.Add(n * bytes);
    if (at == nullptr) return NoMemory(f, fault);
    for (int64_t i = 0; i < n; ++i, at += bytes, from += usual.size()) {
      CopyRaw(f, {from, bytes}, at);
    }
  }
  to.EndRecord(n);
  return true;
}

bool SequenceDecoder::List(size_t feature, Fault* fault) {
  const FeatureSpec& f = features_[feature];
  const std::string_view value = found_[feature].value;
  Joined& to = lists_[feature];
  if (!found_[feature].present) {
    return fault->SetFeature(f.key, Cause::kInvalidArgument,
                             "the record has no such feature list");
  }
  bool known = false;
  if (!UsualList(feature, &known, fault)) return false;
  if (known) return true;
  const auto* p = reinterpret_cast<const uint8_t*>(value.data());
  const uint8_t* const end = p + value.size();
  int64_t n = 0;
  for (; p != end; ++n) {
    uint32_t length;
    if (*p++ != wire::kBytes1 || !wire::Varint32(&p, end, &length)) {
      return fault->SetFeature(f.key, Cause::kInvalidArgument,
                               "element %" PRId64 " cannot be read", n);
    }
    int64_t count = 0;
    if (length > 2) {
      count = Element(f, &p, wire::Limit(p, end, length), &to, fault);
      if (fault->cause != Cause::kNone) return false;
    } else {
      p = wire::Limit(p, end, length);
    }
    if (count != f.values) return Miscounted(f, n, count, fault);
  }
  to.EndRecord(n);
  return true;
}

bool SequenceDecoder::Decode(std::string_view record,
                             const Destination* destinations, int64_t row,
                             Fault* fault) {
  const auto* p = reinterpret_cast<const uint8_t*>(record.data());
  if (!Find(p, p + record.size(), fault)) return false;
  for (size_t i = 0; i < features_.size(); ++i) {
    const bool ok = features_[i].is_list
                        ? List(i, fault)
                        : Context(i, destinations[i], row, fault);
    if (!ok) return false;
  }
  return true;
}

}  // namespace millrace
