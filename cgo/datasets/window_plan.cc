#include "window_plan.h"

#include <algorithm>

namespace millrace {
namespace {

// Philox with 4 words and 10 rounds: Salmon and others, "Parallel random
// numbers: as easy as 1, 2, 3", 2011.
void Philox(uint32_t counter[4], uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xd2511f53} * counter[0];
    const uint64_t b = uint64_t{0xcd9e8d57} * counter[2];
    const uint32_t next[4] = {
        static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key0,
        static_cast<uint32_t>(b),
        static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key1,
        static_cast<uint32_t>(a)};
    std::copy(next, next + 4, counter);
    key0 += 0x9e3779b9;
    key1 += 0xbb67ae85;
  }
}

}  // namespace

int64_t DrawnSize(const WindowRules& rules, const WindowPosition& at) {
  if (rules.min == rules.max) return rules.min;
  const auto step = static_cast<uint64_t>(at.ordinal) / 2;
  const uint64_t stream =
      (static_cast<uint64_t>(at.epoch + rules.first_epoch) << 32) +
      static_cast<uint64_t>(at.file + rules.first_file);
  uint32_t words[4] = {
      static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32),
      static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
  Philox(words, static_cast<uint32_t>(rules.seed),
         static_cast<uint32_t>(rules.seed >> 32));
  const int lane = at.ordinal % 2 == 0 ? 0 : 2;
  const uint64_t drawn = words[lane] | static_cast<uint64_t>(words[lane + 1])
                                           << 32;
  const auto range = static_cast<uint64_t>(rules.max - rules.min) + 1;
  return rules.min + static_cast<int64_t>(drawn % range);
}

bool NextWindow(const WindowRules& rules, WindowPosition* at, Window* window) {
  if (!HasWindows(rules)) return false;
  const auto files = static_cast<int64_t>(rules.sizes.size());
  while (rules.epochs < 0 || at->epoch < rules.epochs) {
    if (at->file == files) {
      *at = WindowPosition{at->epoch + 1};
      continue;
    }
    const int64_t positions = rules.sizes[at->file];
    const int64_t left = positions - at->begin;
    const int64_t drawn = left < Least(rules) ? 0 : DrawnSize(rules, *at);
    const bool tail = drawn > left && (rules.keep_tail || rules.pad_tail);
    if (drawn == 0 || (drawn > left && !tail)) {
      *at = WindowPosition{at->epoch, at->file + 1};
      continue;
    }
    const int64_t there = std::min(drawn, left);
    const int64_t size = rules.pad_tail ? drawn : there;
    *window = {at->epoch, at->file, at->begin, size, size - there};
    const int64_t step = rules.stride > 0 ? rules.stride : drawn;
    at->begin = tail || step >= left ? positions : at->begin + step;
    ++at->ordinal;
    return true;
  }
  return false;
}

bool HasWindows(const WindowRules& rules) {
  return std::any_of(rules.sizes.begin(), rules.sizes.end(),
                     [&](int64_t size) { return size >= Least(rules); });
}

}  // namespace millrace
