#include <algorithm>

#include "mutations.h"

namespace millrace {
namespace fuzz {
namespace {

void FlipBit(const std::string&, std::string* record, Random* random) {
  if (record->empty()) return;
  (*record)[random->Below(record->size())] ^=
      static_cast<char>(1 << random->Below(8));
}

void SetByte(const std::string&, std::string* record, Random* random) {
  if (record->empty()) return;
  const uint8_t bytes[] = {0x00, 0x01, 0x08, 0x0a, 0x0b, 0x0c,
                           0x0d, 0x12, 0x1a, 0x7f, 0x80, 0xff};
  const uint8_t byte = random->OneIn(2) ? random->Pick(bytes)
                                        : static_cast<uint8_t>(random->Next());
  (*record)[random->Below(record->size())] = static_cast<char>(byte);
}

void InsertBytes(const std::string&, std::string* record, Random* random) {
  std::string bytes;
  for (size_t n = 1 + random->Below(4); n > 0; --n) {
    bytes += static_cast<char>(random->Next());
  }
  record->insert(random->Below(record->size() + 1), bytes);
}

void EraseBytes(const std::string&, std::string* record, Random* random) {
  if (record->empty()) return;
  record->erase(random->Below(record->size()), 1 + random->Below(4));
}

void Truncate(const std::string&, std::string* record, Random* random) {
  record->resize(random->Below(record->size() + 1));
}

// Splice joins the beginning of a record and the end of another.
void Splice(const std::string& other, std::string* record, Random* random) {
  record->resize(random->Below(record->size() + 1));
  *record += other.substr(random->Below(other.size() + 1));
}

void RepeatBytes(const std::string&, std::string* record, Random* random) {
  if (record->empty()) return;
  const size_t at = random->Below(record->size());
  const std::string part = record->substr(at, 1 + random->Below(16));
  record->insert(random->Below(record->size() + 1), part);
}

void Concatenate(const std::string& other, std::string* record,
                 Random* random) {
  *record = random->OneIn(2) ? *record + other : other + *record;
}

}  // namespace

const std::vector<ByteMutation>& ByteMutations() {
  static const auto* const all = new std::vector<ByteMutation>{
      {"flip a bit", FlipBit},       {"set a byte", SetByte},
      {"insert bytes", InsertBytes}, {"erase bytes", EraseBytes},
      {"truncate", Truncate},        {"splice two records", Splice},
      {"repeat bytes", RepeatBytes}, {"join two records", Concatenate},
  };
  return *all;
}

}  // namespace fuzz
}  // namespace millrace
