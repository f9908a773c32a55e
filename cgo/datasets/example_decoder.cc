#include "example_decoder.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <utility>

#include "wire.h"

namespace millrace {
namespace {

// Entry reads an entry of the map of features: two fields, each a name or a
// value. A missing field is empty.
bool Entry(const uint8_t** p, const uint8_t* end, std::string_view* key,
           std::string_view* value) {
  uint32_t length;
  if (!wire::Varint32(p, end, &length)) return false;
  end = wire::Limit(*p, end, length);
  *key = *value = std::string_view();
  for (int field = 0; field < 2; ++field) {
    uint32_t tag;
    if (!wire::Varint32(p, end, &tag)) return false;
    if (tag != wire::kBytes1 && tag != wire::kBytes2) return false;
    if (!wire::Text(p, end, tag == wire::kBytes1 ? key : value)) return false;
  }
  return *p == end;
}

// List is the location of a feature's values in the record.
struct List {
  const uint8_t* p;
  const uint8_t* end;
  bool packed = false;

  // Open reads the length of the list, and the length of the packed list in it
  // if there is one. `one` is the tag of a single value.
  bool Open(std::string_view value, uint8_t one) {
    p = reinterpret_cast<const uint8_t*>(value.data()) + 1;  // after the kind
    end = p + value.size() - 1;
    uint32_t length;
    if (!wire::Varint32(&p, end, &length)) return false;
    end = wire::Limit(p, end, length);
    if (p == end) return true;
    if (*p == wire::kBytes1 && one != wire::kBytes1) {
      packed = true;
      ++p;
      if (!wire::Varint32(&p, end, &packed_length)) return false;
      end = wire::Limit(p, end, packed_length);
      return true;
    }
    return *p == one;
  }

  uint32_t packed_length = 0;
};

// Each reader below writes at most `want` values to `to` and returns the number
// of values in the list, or -1 if it cannot be read.

int64_t Floats(std::string_view value, int64_t want, char* to) {
  List list;
  if (!list.Open(value, wire::kFixed32)) return -1;
  if (list.packed) {
    // The claimed length is used as long as the requested values exist.
    const int64_t count = list.packed_length / 4;
    const size_t n = std::min<size_t>(
        static_cast<size_t>(std::min(count, want)) * 4, list.packed_length);
    if (n > static_cast<size_t>(list.end - list.p)) return -1;
    if (count == want && n > 0) std::memcpy(to, list.p, n);
    return count;
  }
  int64_t count = 0;
  for (; list.p != list.end; ++count) {
    if (*list.p != wire::kFixed32 || list.end - list.p < 5) return -1;
    if (count < want) std::memcpy(to + count * 4, list.p + 1, 4);
    list.p += 5;
  }
  return count;
}

int64_t Ints(std::string_view value, int64_t want, char* to) {
  List list;
  if (!list.Open(value, wire::kVarint1)) return -1;
  int64_t count = 0;
  for (; list.p != list.end; ++count) {
    if (!list.packed) {
      if (*list.p != wire::kVarint1) return -1;
      ++list.p;
    }
    uint64_t v;
    if (!wire::Varint64(&list.p, list.end, &v)) return -1;
    if (count < want) std::memcpy(to + count * 8, &v, 8);
  }
  return count;
}

// Strings passes the strings of a list to `take`, which returns false on
// failure.
template <typename Take>
int64_t Strings(std::string_view value, Take take) {
  List list;
  if (!list.Open(value, wire::kBytes1)) return -1;
  int64_t count = 0;
  for (; list.p != list.end; ++count) {
    std::string_view text;
    if (*list.p != wire::kBytes1) return -1;
    ++list.p;
    if (!wire::Text(&list.p, list.end, &text)) return -1;
    if (!take(count, text)) return -1;
  }
  return count;
}

int64_t Raw(const FeatureSpec& f, std::string_view value, char* to,
            Fault* fault) {
  return Strings(value, [&](int64_t i, std::string_view text) {
    if (i >= f.values) return true;
    if (text.size() != static_cast<size_t>(f.raw_bytes)) {
      return fault->SetFeature(f.key, Cause::kInvalidArgument,
                               "%zu raw bytes, want %" PRId64, text.size(),
                               f.raw_bytes);
    }
    CopyRaw(f, text, to + i * f.raw_bytes);
    return true;
  });
}

// Room returns the maximum number of numbers in the bytes of a list, -1 if it
// cannot be read. A claimed length beyond its bytes is ignored.
int64_t Room(std::string_view value, Kind kind) {
  const bool floats = kind == Kind::kFloat;
  List list;
  if (!list.Open(value, floats ? wire::kFixed32 : wire::kVarint1)) return -1;
  const int64_t n = list.end - list.p;
  if (floats) return list.packed ? n / 4 : n / 5;
  if (!list.packed) return n / 2;
  return std::count_if(list.p, list.end, [](uint8_t b) { return b < 0x80; });
}

bool NoMemory(const FeatureSpec& f, Fault* fault) {
  return fault->SetFeature(f.key, Cause::kResourceExhausted,
                           "no memory for its values");
}

// JoinNumbers appends the numbers of a list to the numbers of earlier records.
int64_t JoinNumbers(const FeatureSpec& f, std::string_view value, Joined* to,
                    Fault* fault) {
  const int64_t room = Room(value, f.kind);
  if (room < 0) return -1;
  const int64_t size = f.kind == Kind::kFloat ? 4 : 8;
  char* const at = to->Add(static_cast<size_t>(room * size));
  if (at == nullptr) {
    NoMemory(f, fault);
    return -1;
  }
  const int64_t count =
      f.kind == Kind::kFloat ? Floats(value, room, at) : Ints(value, room, at);
  if (count < 0 || count > room) return -1;
  to->Drop(static_cast<size_t>((room - count) * size));
  return count;
}

// Stored reports whether a record stores a feature as the requested kind.
bool Stored(const FeatureSpec& f, std::string_view value, Fault* fault) {
  if (value.empty()) {
    return fault->SetFeature(f.key, Cause::kInvalidArgument,
                             "the record has no such feature");
  }
  const auto tag = static_cast<uint8_t>(value[0]);
  return tag == ListTag(f.kind) ||
         fault->SetFeature(f.key, Cause::kInvalidArgument,
                           "stored as a %s list, %s is asked for",
                           ListName(tag), ListName(ListTag(f.kind)));
}

// InPlace returns the number of floats in a list whose bytes equal their form
// in memory, and their location; -1 if the form differs or bytes are missing.
int64_t InPlace(const FeatureSpec& f, std::string_view value,
                std::string_view* bytes) {
  List list;
  if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || f.kind != Kind::kFloat ||
      !list.Open(value, wire::kFixed32) || !list.packed ||
      static_cast<size_t>(list.end - list.p) != list.packed_length) {
    return -1;
  }
  const int64_t count = list.packed_length / 4;
  *bytes = {reinterpret_cast<const char*>(list.p),
            static_cast<size_t>(count) * 4};
  return count;
}

// NoExample is the fault of a record that cannot be parsed from a byte on.
bool NoExample(std::string_view record, const uint8_t* at, Fault* fault) {
  return fault->Set(Cause::kInvalidArgument, "not an Example (byte %zd)",
                    reinterpret_cast<const char*>(at) - record.data());
}

bool Unreadable(const FeatureSpec& f, Fault* fault) {
  if (fault->cause != Cause::kNone) return false;
  return fault->SetFeature(f.key, Cause::kInvalidArgument,
                           "its list cannot be read");
}

}  // namespace

ExampleDecoder::ExampleDecoder(std::vector<FeatureSpec> features)
    : features_(std::move(features)),
      found_(features_.size()),
      lists_(features_.size()) {
  for (size_t i = 0; i < features_.size(); ++i) {
    keys_.Add(features_[i].key, static_cast<int>(i));
    if (features_[i].is_list) fixed_ = false;
  }
}

void ExampleDecoder::Clear() {
  for (Joined& list : lists_) list.Clear();
}

void ExampleDecoder::Cut(int64_t records) {
  for (size_t i = 0; i < features_.size(); ++i) {
    const FeatureSpec& f = features_[i];
    if (!f.is_list) continue;
    lists_[i].Cut(static_cast<size_t>(records), ElementBytes(f),
                  ElementTexts(f));
  }
}

// Features reads a map of features. If a key occurs several times, the last
// entry with a value counts.
bool ExampleDecoder::Features(const uint8_t** p, const uint8_t* end,
                              std::string_view record, Fault* fault) {
  const auto malformed = [&](const uint8_t* at) {
    return NoExample(record, at, fault);
  };
  uint32_t length;
  if (!wire::Varint32(p, end, &length)) return malformed(*p);
  end = wire::Limit(*p, end, length);
  while (*p != end) {
    const uint8_t* start = *p;
    if (**p != wire::kBytes1) return malformed(start);
    ++*p;
    std::string_view key, value;
    if (!Entry(p, end, &key, &value)) return malformed(start);
    const int feature = keys_.Find(key);
    if (value.empty()) continue;
    if (fixed_) layouts_.Value(record, value);
    if (feature < 0) continue;
    const auto tag = static_cast<uint8_t>(value[0]);
    if (tag != wire::kBytes1 && tag != wire::kBytes2 && tag != wire::kBytes3) {
      return fault->SetFeature(std::string(key), Cause::kInvalidArgument,
                               "no list of bytes, floats or int64s");
    }
    found_[feature] = value;
  }
  return true;
}

// Parse finds the values of a record.
bool ExampleDecoder::Parse(std::string_view record, Fault* fault) {
  const auto* p = reinterpret_cast<const uint8_t*>(record.data());
  const uint8_t* const end = p + record.size();
  keys_.Restart();
  for (std::string_view& value : found_) value = std::string_view();
  while (p != end) {
    if (*p == wire::kBytes1) {
      ++p;
      if (!Features(&p, end, record, fault)) return false;
      continue;
    }
    const uint8_t* at = p;
    if (!wire::Skip(&p, end)) return NoExample(record, at, fault);
  }
  return true;
}

// Find finds the values of a record without remembering layouts: records with
// lists differ in size and hardly ever match an earlier one.
bool ExampleDecoder::Find(std::string_view record, Fault* fault) {
  if (!fixed_) return Parse(record, fault);
  if (layouts_.Find(record, &found_)) return true;
  layouts_.Begin();
  if (!Parse(record, fault)) return false;
  layouts_.Remember(record, found_);
  return true;
}

// Value writes the values of a feature of fixed size.
bool ExampleDecoder::Value(size_t feature, const Destination& to, int64_t row,
                           Fault* fault) const {
  const FeatureSpec& f = features_[feature];
  const std::string_view value = found_[feature];
  if (!Stored(f, value, fault)) return false;
  int64_t count = -1;
  char* const base = static_cast<char*>(to.base);
  switch (f.kind) {
    case Kind::kInt64:
      count = Ints(value, f.values, base + row * f.values * 8);
      break;
    case Kind::kFloat:
      count = Floats(value, f.values, base + row * f.values * 4);
      break;
    case Kind::kBytes:
      count = Strings(value, [&](int64_t i, std::string_view text) {
        if (i >= f.values) return true;
        to.set(to.base, row * f.values + i, text.data(), text.size());
        return true;
      });
      break;
    case Kind::kRaw:
      count = Raw(f, value, base + row * f.values * f.raw_bytes, fault);
      break;
  }
  if (count < 0) return Unreadable(f, fault);
  if (count == f.values) return true;
  return fault->SetFeature(f.key, Cause::kInvalidArgument,
                           "%" PRId64 " values stored, want %" PRId64, count,
                           f.values);
}

// Rows appends the elements of a list to the elements of earlier records.
bool ExampleDecoder::Rows(size_t feature, Fault* fault) {
  const FeatureSpec& f = features_[feature];
  const std::string_view value = found_[feature];
  Joined* const to = &lists_[feature];
  if (value.empty() && f.is_optional) {
    to->EndRecord(0);
    return true;
  }
  if (!Stored(f, value, fault)) return false;
  std::string_view bytes;
  const bool in_place = in_place_ || keep_records_;
  int64_t count = in_place ? InPlace(f, value, &bytes) : -1;
  if (count >= 0 && in_place_) {
    to->Refer(bytes.data(), bytes.size());
  } else if (count >= 0 && to->ReferEach(bytes.data(), count / f.values,
                                         ElementBytes(f), ElementBytes(f))) {
    // The values are not copied.
  } else if (f.kind == Kind::kBytes) {
    count = Strings(value, [&](int64_t, std::string_view text) {
      return to->AddText(text) || NoMemory(f, fault);
    });
  } else {
    count = JoinNumbers(f, value, to, fault);
  }
  if (count < 0) return Unreadable(f, fault);
  if (count % f.values != 0) {
    return fault->SetFeature(f.key, Cause::kInvalidArgument,
                             "%" PRId64
                             " values stored, want a multiple of %" PRId64,
                             count, f.values);
  }
  to->EndRecord(count / f.values);
  return true;
}

bool ExampleDecoder::Values(std::string_view record, size_t* at,
                            size_t* n) const {
  if (features_.size() != 1) return false;
  const FeatureSpec& f = features_[0];
  List list;
  if (f.kind == Kind::kFloat) {
    if (!list.Open(found_[0], wire::kFixed32) || !list.packed) return false;
    *n = static_cast<size_t>(f.values) * 4;
  } else if (f.kind == Kind::kRaw && f.values == 1 && f.swap_bytes == 1) {
    std::string_view text;
    if (!list.Open(found_[0], wire::kBytes1)) return false;
    ++list.p;
    if (!wire::Text(&list.p, list.end, &text)) return false;
    list.p -= text.size();
    *n = text.size();
  } else {
    return false;
  }
  *at = static_cast<size_t>(reinterpret_cast<const char*>(list.p) -
                            record.data());
  return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

bool ExampleDecoder::Decode(std::string_view record,
                            const Destination* destinations, int64_t row,
                            Fault* fault) {
  if (!Find(record, fault)) return false;
  for (size_t i = 0; i < features_.size(); ++i) {
    const bool ok = features_[i].is_list
                        ? Rows(i, fault)
                        : Value(i, destinations[i], row, fault);
    if (!ok) return false;
  }
  return true;
}

}  // namespace millrace
