// Records and files for tests, written field by field, so that a test can also
// write bytes that a protobuf library would not.
#ifndef MILLRACE_CGO_DATASETS_RECORDS_TEST_H_
#define MILLRACE_CGO_DATASETS_RECORDS_TEST_H_

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "crc32c.h"

namespace millrace {

// Tags: a field's number times eight, and its wire type.
constexpr char kFeatures = 1 << 3 | 2;      // Example or context
constexpr char kFeatureLists = 2 << 3 | 2;  // SequenceExample
constexpr char kBytesList = 1 << 3 | 2;
constexpr char kFloatList = 2 << 3 | 2;
constexpr char kInt64List = 3 << 3 | 2;
constexpr char kPacked = 1 << 3 | 2;

inline std::string Varint(uint64_t v) {
  std::string out;
  for (; v >= 128; v >>= 7) out += static_cast<char>((v & 127) | 128);
  return out + static_cast<char>(v);
}

// Field is a length-delimited field.
inline std::string Field(char tag, const std::string& s) {
  return tag + Varint(s.size()) + s;
}

// Entry is an entry of a map of features, or of feature lists.
inline std::string Entry(const std::string& key, const std::string& value) {
  return Field(1 << 3 | 2, Field(1 << 3 | 2, key) + Field(2 << 3 | 2, value));
}

// Ints is a feature of packed int64s.
inline std::string Ints(const std::vector<int64_t>& values) {
  std::string packed;
  for (int64_t v : values) packed += Varint(static_cast<uint64_t>(v));
  return Field(kInt64List, Field(kPacked, packed));
}

// UnpackedInts is a feature of int64s, each with its own tag.
inline std::string UnpackedInts(const std::vector<int64_t>& values) {
  std::string list;
  for (int64_t v : values) list += '\x08' + Varint(static_cast<uint64_t>(v));
  return Field(kInt64List, list);
}

inline std::string Bits(float v) {
  return std::string(reinterpret_cast<const char*>(&v), sizeof(v));
}

// Floats is a feature of packed floats.
inline std::string Floats(const std::vector<float>& values) {
  std::string packed;
  for (float v : values) packed += Bits(v);
  return Field(kFloatList, Field(kPacked, packed));
}

// UnpackedFloats is a feature of floats, each with its own tag.
inline std::string UnpackedFloats(const std::vector<float>& values) {
  std::string list;
  for (float v : values) list += '\x0d' + Bits(v);
  return Field(kFloatList, list);
}

// Texts is a feature of byte strings.
inline std::string Texts(const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& v : values) list += Field(1 << 3 | 2, v);
  return Field(kBytesList, list);
}

// List is a feature list of elements that are features.
inline std::string List(const std::vector<std::string>& elements) {
  std::string list;
  for (const std::string& e : elements) list += Field(1 << 3 | 2, e);
  return list;
}

// Features is an Example, or the context of a SequenceExample.
inline std::string Features(const std::string& entries) {
  return Field(kFeatures, entries);
}

inline std::string FeatureLists(const std::string& entries) {
  return Field(kFeatureLists, entries);
}

// Header is the twelve bytes before the data of a TFRecord.
inline std::string Header(uint64_t length) {
  std::string out(reinterpret_cast<const char*>(&length), 8);
  const uint32_t crc = MaskCrc(Crc32c(out.data(), 8));
  return out.append(reinterpret_cast<const char*>(&crc), 4);
}

// Frame is a TFRecord: header, data and the data's checksum.
inline std::string Frame(const std::string& data) {
  const uint32_t crc = MaskCrc(Crc32c(data.data(), data.size()));
  return Header(data.size()) + data +
         std::string(reinterpret_cast<const char*>(&crc), 4);
}

// TempFile is a file of these bytes, removed by the destructor.
class TempFile {
 public:
  explicit TempFile(const std::string& bytes)
      : path_(::testing::TempDir() + "millrace_XXXXXX") {
    const int fd = mkstemp(path_.data());
    EXPECT_GE(fd, 0) << path_;
    if (fd >= 0) close(fd);
    Write(bytes);
  }
  ~TempFile() { unlink(path_.c_str()); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  // Write replaces the contents of the file; it stays the same file.
  void Write(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }
  // Set changes one byte.
  void Set(int64_t offset, char byte) {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(offset).put(byte);
    EXPECT_TRUE(file.flush().good());
  }
  void Truncate(size_t size) {
    EXPECT_EQ(truncate(path_.c_str(), static_cast<off_t>(size)), 0);
  }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Exact is a copy of bytes on the heap in a block of just their size, so that
// the address sanitizer sees a read of one byte more.
class Exact {
 public:
  explicit Exact(const std::string& bytes)
      : bytes_(bytes.begin(), bytes.end()) {}
  std::string_view view() const { return {bytes_.data(), bytes_.size()}; }

 private:
  const std::vector<char> bytes_;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_RECORDS_TEST_H_
