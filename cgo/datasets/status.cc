#include "status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace {
namespace {

constexpr char kMark[] = " [millrace.fault ";

// Meaning has TensorFlow's and Go's names of a cause.
struct Meaning {
  absl::StatusCode code;
  const char* name;  // name of a class of package millrace
};

Meaning Of(Cause cause) {
  switch (cause) {
    case Cause::kDataLoss:
      return {absl::StatusCode::kDataLoss, "corrupt data"};
    case Cause::kTruncated:
      return {absl::StatusCode::kDataLoss, "truncated"};
    case Cause::kInvalidArgument:
      return {absl::StatusCode::kInvalidArgument, "schema"};
    case Cause::kFailedPrecondition:
      return {absl::StatusCode::kFailedPrecondition, "i/o"};
    case Cause::kNotFound:
      return {absl::StatusCode::kNotFound, "i/o"};
    case Cause::kPermissionDenied:
      return {absl::StatusCode::kPermissionDenied, "i/o"};
    case Cause::kTooLarge:
    case Cause::kResourceExhausted:
      return {absl::StatusCode::kResourceExhausted, "limit"};
    case Cause::kCancelled:
      return {absl::StatusCode::kCancelled, "canceled"};
    case Cause::kNone:
    case Cause::kUnknown:
      break;
  }
  return {absl::StatusCode::kUnknown, "i/o"};
}

// Append adds a part to a query, its value escaped.
void Append(std::string_view key, std::string_view value, std::string* query) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  if (!query->empty()) *query += '&';
  *query += key;
  *query += '=';
  for (char c : value) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
        (c >= '0' && c <= '9')) {
      *query += c;
      continue;
    }
    const auto b = static_cast<unsigned char>(c);
    *query += '%';
    *query += kDigits[b >> 4];
    *query += kDigits[b & 15];
  }
}

}  // namespace

absl::Status ToStatus(const Fault& fault) {
  if (fault.cause == Cause::kNone) return absl::OkStatus();
  const Meaning meaning = Of(fault.cause);
  const Place& place = fault.place;
  std::string query;
  Append("class", meaning.name, &query);
  if (!place.file.empty()) Append("file", place.file, &query);
  if (place.record >= 0) {
    Append("record", std::to_string(place.record), &query);
  }
  if (place.offset >= 0) {
    Append("offset", std::to_string(place.offset), &query);
  }
  if (!place.feature.empty()) Append("feature", place.feature, &query);
  Append("what", fault.what, &query);
  return absl::Status(meaning.code, fault.text + kMark + query + "]");
}

Fault ToFault(const absl::Status& status) {
  Cause cause = Cause::kUnknown;
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return Fault();
    case absl::StatusCode::kNotFound:
      cause = Cause::kNotFound;
      break;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      cause = Cause::kPermissionDenied;
      break;
    case absl::StatusCode::kCancelled:
      cause = Cause::kCancelled;
      break;
    default:
      break;
  }
  std::string what(status.message());
  if (what.empty()) what = absl::StatusCodeToString(status.code());
  Fault fault;
  fault.Set(cause, "%s", what.c_str());
  return fault;
}

}  // namespace millrace
