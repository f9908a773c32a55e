// Random numbers that depend on a seed and a mutant's number.
#ifndef MILLRACE_CGO_FUZZ_RANDOM_H_
#define MILLRACE_CGO_FUZZ_RANDOM_H_

#include <cstddef>
#include <cstdint>

namespace millrace {
namespace fuzz {

// Random is the generator SplitMix64. It is cheap to create, so each mutant has
// its own generator and can be reproduced without the earlier ones.
class Random {
 public:
  Random(uint64_t seed, uint64_t stream)
      : state_(seed * 0x9e3779b97f4a7c15 + stream * 0xd1342543de82ef95) {
    Next();
  }

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // Below returns a number below n, which is at least 1.
  size_t Below(size_t n) { return static_cast<size_t>(Next() % n); }

  bool OneIn(size_t n) { return Below(n) == 0; }

  template <typename T, size_t n>
  const T& Pick(const T (&values)[n]) {
    return values[Below(n)];
  }

 private:
  uint64_t state_;
};

}  // namespace fuzz
}  // namespace millrace

#endif  // MILLRACE_CGO_FUZZ_RANDOM_H_
