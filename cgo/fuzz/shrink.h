// Making a failing batch small.
#ifndef MILLRACE_CGO_FUZZ_SHRINK_H_
#define MILLRACE_CGO_FUZZ_SHRINK_H_

#include <functional>
#include <string>
#include <vector>

namespace millrace {
namespace fuzz {

// Shrink removes records and bytes and zeroes bytes as long as the batch fails.
// `fails` is called up to `tries` times.
std::vector<std::string> Shrink(
    std::vector<std::string> batch, int tries,
    const std::function<bool(const std::vector<std::string>&)>& fails);

}  // namespace fuzz
}  // namespace millrace

#endif  // MILLRACE_CGO_FUZZ_SHRINK_H_
