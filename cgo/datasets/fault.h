// What can be wrong with a file or a record, without TensorFlow's types.
#ifndef MILLRACE_CGO_DATASETS_FAULT_H_
#define MILLRACE_CGO_DATASETS_FAULT_H_

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace millrace {

// Cause is the kind of a fault; the dataset ops turn it into a status code.
enum class Cause {
  kNone,
  kDataLoss,            // the bytes are damaged or cut
  kInvalidArgument,     // a record is not what was asked for
  kFailedPrecondition,  // the file is not the one that was counted
  kNotFound,
  kPermissionDenied,
  kUnknown,  // a read failed
  kResourceExhausted,
  kCancelled,
};

// Fault says what is wrong and where.
struct Fault {
  Cause cause = Cause::kNone;
  std::string text;

  // Set fills the fault and returns false, so that it ends a function.
  __attribute__((format(printf, 3, 4))) bool Set(Cause c, const char* format,
                                                 ...) {
    char buffer[512];
    va_list args;
    va_start(args, format);
    std::vsnprintf(buffer, sizeof(buffer), format, args);
    va_end(args);
    cause = c;
    text = buffer;
    return false;
  }
};

// Quote returns data in quotes for a message, escaped and at most `limit`
// bytes of it.
inline std::string Quote(std::string_view data, size_t limit) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : data.substr(0, limit)) {
    const auto b = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (b < 0x20 || b >= 0x7f) {
      out += "\\x";
      out += kDigits[b >> 4];
      out += kDigits[b & 15];
    } else {
      out += c;
    }
  }
  out += '"';
  if (data.size() > limit) out += "...";
  return out;
}

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_FAULT_H_
