// The orders of sequences: loaders/chunks in C++. Both give the same orders.
#ifndef MILLRACE_CGO_DATASETS_SEQUENCE_ORDER_H_
#define MILLRACE_CGO_DATASETS_SEQUENCE_ORDER_H_

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "record_order.h"

namespace millrace {

// Pcg is the generator PCG-DXSM with 128 bits of state, as Go's math/rand/v2
// has it.
class Pcg {
 public:
  Pcg(uint64_t seed, uint64_t draw)
      : state_(static_cast<Wide>(seed) << 64 | draw) {}

  uint64_t Next() {
    state_ = state_ * Make(2549297995355413924u, 4865540595714422341u) +
             Make(6364136223846793005u, 1442695040888963407u);
    auto high = static_cast<uint64_t>(state_ >> 64);
    high ^= high >> 32;
    high *= 0xda942042e4dd58b5u;
    high ^= high >> 48;
    return high * (static_cast<uint64_t>(state_) | 1);
  }

  // Below returns a number below n, each as likely.
  uint64_t Below(uint64_t n) {
    for (;;) {
      const Wide product = static_cast<Wide>(Next()) * n;
      if (static_cast<uint64_t>(product) >= -n % n) {
        return static_cast<uint64_t>(product >> 64);
      }
    }
  }

 private:
  __extension__ using Wide = unsigned __int128;

  static Wide Make(uint64_t high, uint64_t low) {
    return static_cast<Wide>(high) << 64 | low;
  }

  Wide state_;
};

enum class Ordering {
  kDefault,
  kReverse,
  kSorted,
  kSortedReverse,
  kRandom,
  kLaplace
};

// ArrangeRules say in which order the sequences of an epoch come.
struct ArrangeRules {
  Ordering ordering = Ordering::kDefault;
  int64_t bins = 0;  // number of bins; only kLaplace has some
  int64_t seed = 0;
};

// BeginOf returns where part k begins when n numbers are divided into `parts`
// parts. All have the same size, but the first ones may have one more. See
// loaders/chunks.Part.
inline int64_t BeginOf(int64_t n, int64_t parts, int64_t k) {
  return k * (n / parts) + std::min(k, n % parts);
}

// Arrange returns the order of n sequences: their numbers in the data. `frames`
// are their lengths, or nullptr where the order does not ask.
inline std::vector<int64_t> Arrange(const ArrangeRules& rules, int64_t n,
                                    const int32_t* frames, int64_t draw) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  const auto shorter = [&](int64_t a, int64_t b) {
    return frames[a] < frames[b];
  };
  const auto longer = [&](int64_t a, int64_t b) {
    return frames[b] < frames[a];
  };
  if (rules.ordering == Ordering::kReverse) {
    std::reverse(order.begin(), order.end());
  } else if (rules.ordering == Ordering::kSorted) {
    std::stable_sort(order.begin(), order.end(), shorter);
  } else if (rules.ordering == Ordering::kSortedReverse) {
    std::stable_sort(order.begin(), order.end(), longer);
  } else if (rules.ordering != Ordering::kDefault) {
    Pcg draws(static_cast<uint64_t>(rules.seed), static_cast<uint64_t>(draw));
    for (auto i = static_cast<uint64_t>(n); i > 1; --i) {
      std::swap(order[i - 1], order[draws.Below(i)]);
    }
  }
  if (rules.ordering != Ordering::kLaplace || rules.bins >= n) return order;
  for (int64_t b = 0; b < rules.bins; ++b) {
    const auto share = [&](int64_t k) {
      return n / rules.bins * k + n % rules.bins * k / rules.bins;
    };
    const auto from = order.begin() + share(b),
               to = order.begin() + share(b + 1);
    if (b % 2 == 0) {
      std::stable_sort(from, to, shorter);
    } else {
      std::stable_sort(from, to, longer);
    }
  }
  return order;
}

// MixedPart is one of the datasets of a mixture of sequences.
struct MixedPart {
  OrderPart sequences;
  int64_t bins = 0;  // as in ArrangeRules
};

// Mix returns the order of n sequences that are drawn from several datasets:
// their numbers in the data. Those of each dataset come in the order of the
// rules, and in another draw of it when they begin again. `frames` has the
// lengths of all sequences, or is nullptr where the order does not ask.
inline std::vector<int64_t> Mix(const ArrangeRules& rules,
                                const std::vector<MixedPart>& mixed, int64_t n,
                                const int32_t* frames, int64_t epoch) {
  std::vector<OrderPart> parts;
  for (const MixedPart& m : mixed) parts.push_back(m.sequences);
  std::vector<std::vector<int64_t>> orders(parts.size());
  std::vector<int64_t> taken(parts.size());
  std::vector<int64_t> numbers;
  for (int64_t at = 0; at < n; ++at) {
    const size_t i = DrawPart(rules.seed, parts, at);
    const OrderPart& part = parts[i];
    const int64_t pass = taken[i] / part.records;
    const int64_t place = taken[i]++ % part.records;
    if (place == 0) {
      ArrangeRules own = rules;
      own.seed = PartSeed(rules.seed, i);
      own.bins = mixed[i].bins;
      orders[i] = Arrange(own, part.records,
                          frames == nullptr ? nullptr : frames + part.first,
                          PassOf(epoch, pass));
    }
    numbers.push_back(part.first + orders[i][place]);
  }
  return numbers;
}

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_SEQUENCE_ORDER_H_
