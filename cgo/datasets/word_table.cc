#include "word_table.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

namespace millrace {
namespace {

template <typename T>
uint64_t Load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio

constexpr uint64_t kEach = 0x0101010101010101;  // a number for each of 8 bytes

// Makes the letters A to Z of 8 bytes small. The highest bit of a byte says
// whether it is one: adding to the 7 lower bits carries into it.
uint64_t Lower8(uint64_t bytes) {
  const uint64_t low = bytes & 0x7f * kEach;
  const uint64_t from_a = low + (0x80 - 'A') * kEach;
  const uint64_t after_z = low + (0x7f - 'Z') * kEach;
  const uint64_t capital = (from_a ^ after_z) & ~bytes & 0x80 * kEach;
  return bytes + (capital >> 2);
}

}  // namespace

WordTable::WordTable(std::vector<std::string_view> words)
    : words_(std::move(words)), shift_(60) {
  while ((size_t{1} << (64 - shift_)) < 2 * words_.size()) --shift_;
  slots_.resize(size_t{1} << (64 - shift_), Slot{0, 0, 0, kFree});
  for (size_t i = 0; i < words_.size(); ++i) {
    const Key key = KeyOf(words_[i]);
    size_t at = First(key);
    if (FindFrom(at, key, words_[i]) >= 0) continue;
    while (slots_[at].index != kFree) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {key.low, key.high, key.size, static_cast<uint32_t>(i)};
  }
}

void WordTable::Find(const std::string_view* words, size_t count,
                     int64_t* indexes) const {
  constexpr size_t kTogether = 16;
  Key keys[kTogether];
  size_t first[kTogether];
  while (count > 0) {
    const size_t n = std::min(count, kTogether);
    for (size_t i = 0; i < n; ++i) {
      keys[i] = KeyOf(words[i]);
      first[i] = First(keys[i]);
      __builtin_prefetch(&slots_[first[i]]);
    }
    for (size_t i = 0; i < n; ++i) {
      indexes[i] = FindFrom(first[i], keys[i], words[i]);
    }
    words += n;
    indexes += n;
    count -= n;
  }
}

int64_t WordTable::FindFrom(size_t at, const Key& key,
                            std::string_view word) const {
  for (;; at = (at + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[at];
    if (slot.index == kFree) return -1;
    if (key == Key{slot.low, slot.high, slot.size} &&
        (word.size() <= 16 || words_[slot.index] == word)) {
      return slot.index;
    }
  }
}

// Up to 16 bytes, the first and the last bytes of a word are the word, with its
// size.
WordTable::Key WordTable::KeyOf(std::string_view word) {
  const char* const begin = word.data();
  const auto size = static_cast<uint32_t>(word.size());
  const char* const end = begin + word.size();
  if (word.size() > 16) {
    return {std::hash<std::string_view>()(word), Load<uint64_t>(end - 8), size};
  }
  if (size >= 8) {
    return {Load<uint64_t>(begin), Load<uint64_t>(end - 8), size};
  }
  if (size >= 4) {
    return {Load<uint32_t>(begin), Load<uint32_t>(end - 4), size};
  }
  if (size == 0) return {0, 0, 0};
  return {Load<uint8_t>(begin) | Load<uint8_t>(begin + size / 2) << 8,
          Load<uint8_t>(end - 1), size};
}

size_t WordTable::First(const Key& key) const {
  uint64_t h = (key.low ^ key.size) * kOdd;
  h = (h ^ h >> 32 ^ key.high) * kOdd;
  h = (h ^ h >> 29) * kOdd;
  return static_cast<size_t>(h >> shift_);
}

std::string_view WordSplitter::Lower(std::string_view text) {
  small_.resize(text.size());
  const char* from = text.data();
  char* to = small_.data();
  size_t left = text.size();
  for (; left >= 8; left -= 8, from += 8, to += 8) {
    const uint64_t small = Lower8(Load<uint64_t>(from));
    std::memcpy(to, &small, 8);
  }
  uint64_t rest = 0;
  if (left > 0) std::memcpy(&rest, from, left);
  rest = Lower8(rest);
  if (left > 0) std::memcpy(to, &rest, left);
  return small_;
}

}  // namespace millrace
