// The inflated size of deflated bytes.
#ifndef MILLRACE_CGO_DATASETS_INFLATED_SIZE_H_
#define MILLRACE_CGO_DATASETS_INFLATED_SIZE_H_

#include <cstdint>
#include <string_view>

namespace millrace {

// InflatedSize returns the inflated size of a deflated stream, or a number
// above a limit. Bytes that zlib cannot inflate count with its maximum ratio.
int64_t InflatedSize(std::string_view deflated, int64_t limit);

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_INFLATED_SIZE_H_
