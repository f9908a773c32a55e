// The orders of exact shuffling: the C++ version of loaders/permutation, which
// explains them. Both give the same numbers.
#ifndef MILLRACE_CGO_DATASETS_PERMUTATION_H_
#define MILLRACE_CGO_DATASETS_PERMUTATION_H_

#include <algorithm>
#include <cstdint>

namespace millrace {

// SplitMix returns the next number of SplitMix64, a generator of random numbers
// whose state may have any value.
inline uint64_t SplitMix(uint64_t* state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// PermutationKey selects a permutation.
struct PermutationKey {
  int64_t seed = 0;
  int64_t epoch = 0;
  int64_t stream = 0;
};

// Permutation is an order of the numbers below n. Several threads may use it.
class Permutation {
 public:
  Permutation() : Permutation(1, {}) {}
  Permutation(int64_t n, const PermutationKey& key)
      : n_(static_cast<uint64_t>(n)) {
    int width = kMinBits;
    if (n > 1) width = std::max(width, 64 - __builtin_clzll(n_ - 1));
    low_bits_ = width / 2;
    low_ = (uint64_t{1} << low_bits_) - 1;
    high_ = (uint64_t{1} << (width - low_bits_)) - 1;
    uint64_t state = static_cast<uint64_t>(key.seed);
    state = SplitMix(&state) ^ static_cast<uint64_t>(key.epoch);
    if (key.stream != 0) {
      state = SplitMix(&state) ^ static_cast<uint64_t>(key.stream);
    }
    for (uint64_t& k : keys_) k = SplitMix(&state);
  }

  // At returns the number at a position. Both are below n.
  int64_t At(int64_t position) const {
    auto x = static_cast<uint64_t>(position);
    do {
      uint64_t low = x & low_, high = x >> low_bits_;
      for (int i = 0; i < kRounds; i += 2) {
        high ^= Hash(low + keys_[i]) & high_;
        low ^= Hash(high + keys_[i + 1]) & low_;
      }
      x = high << low_bits_ | low;
    } while (x >= n_);
    return static_cast<int64_t>(x);
  }

  // Find returns the position of a number.
  int64_t Find(int64_t number) const {
    auto x = static_cast<uint64_t>(number);
    do {
      uint64_t low = x & low_, high = x >> low_bits_;
      for (int i = kRounds - 2; i >= 0; i -= 2) {
        low ^= Hash(high + keys_[i + 1]) & low_;
        high ^= Hash(low + keys_[i]) & high_;
      }
      x = high << low_bits_ | low;
    } while (x >= n_);
    return static_cast<int64_t>(x);
  }

 private:
  static constexpr int kRounds = 8;
  static constexpr int kMinBits = 8;

  static uint64_t Hash(uint64_t x) {
    x *= 0x9e3779b97f4a7c15u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x >> 32;
  }

  uint64_t n_;
  int low_bits_;
  uint64_t low_;   // mask of the low half
  uint64_t high_;  // mask of the high half, shifted down
  uint64_t keys_[kRounds];
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_PERMUTATION_H_
