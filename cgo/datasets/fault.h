// Faults of files and records, without TensorFlow's types.
#ifndef MILLRACE_CGO_DATASETS_FAULT_H_
#define MILLRACE_CGO_DATASETS_FAULT_H_

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace millrace {

// Cause is the kind of a fault; the dataset ops turn it into a status code.
enum class Cause {
  kNone,
  kDataLoss,            // the bytes are damaged
  kTruncated,           // the file ends too early
  kInvalidArgument,     // a record does not match the request
  kFailedPrecondition,  // the file has changed since it was counted
  kNotFound,
  kPermissionDenied,
  kUnknown,            // a system error
  kTooLarge,           // a record claims more than the cap
  kResourceExhausted,  // out of memory
  kCancelled,
};

constexpr size_t kMaxPath = 512;  // longest path in a message

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

// Place is the location of a fault, as far as known.
struct Place {
  std::string file;     // "": unknown
  int64_t record = -1;  // the record's ordinal in the file, from 0
  int64_t offset = -1;  // the byte offset of the record's header, inflated
  std::string feature;  // "": none
};

// Fault describes a fault and its location. The location is structured data, so
// it does not have to be parsed from a message.
struct Fault {
  Cause cause = Cause::kNone;
  Place place;
  std::string what;  // description of the fault
  std::string text;  // location and description, for a person

  // Set fills the fault and returns false, so that it ends a function.
  __attribute__((format(printf, 3, 4))) bool Set(Cause c, const char* format,
                                                 ...) {
    va_list args;
    va_start(args, format);
    Format(c, format, args);
    va_end(args);
    return false;
  }

  // SetFeature is Set for a fault of a feature.
  __attribute__((format(printf, 4, 5))) bool SetFeature(const std::string& key,
                                                        Cause c,
                                                        const char* format,
                                                        ...) {
    va_list args;
    va_start(args, format);
    Format(c, format, args);
    va_end(args);
    place.feature = key;
    text = "feature " + Quote(key, kMaxKey) + ": " + what;
    return false;
  }

  // At adds the location of a record. It returns false.
  bool At(const std::string& file, int64_t record, int64_t offset) {
    place.record = record;
    place.offset = offset;
    text = "record " + std::to_string(record) + " (offset " +
           std::to_string(offset) + "): " + text;
    return In(file);
  }

  // In adds the file. It returns false.
  bool In(const std::string& file) {
    place.file = file;
    text = "file " + Quote(file, kMaxPath) + ": " + text;
    return false;
  }

 private:
  static constexpr size_t kMaxKey = 256;  // longest key in a message

  void Format(Cause c, const char* format, va_list args) {
    char buffer[512];
    std::vsnprintf(buffer, sizeof(buffer), format, args);
    cause = c;
    what = text = buffer;
    place = Place();
  }
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_FAULT_H_
