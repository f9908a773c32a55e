// Sources of the bytes of a file of records.
#ifndef MILLRACE_CGO_DATASETS_BYTE_SOURCE_H_
#define MILLRACE_CGO_DATASETS_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "fault.h"

namespace millrace {

// ByteSource reads the bytes of one file from the first to the last. Faults of
// its methods have no location. Not thread-safe.
class ByteSource {
 public:
  ByteSource() = default;
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Read reads up to n > 0 bytes. No bytes mean the end.
  virtual bool Read(char* to, size_t n, size_t* got, Fault* fault) = 0;

  // Skip skips n bytes; an earlier end of the source is a fault.
  virtual bool Skip(int64_t n, Fault* fault) = 0;

  // left returns the number of remaining bytes, -1 if it is unknown before they
  // are read.
  virtual int64_t left() const = 0;

  // CheckEnd checks, at the end, that the file still has the size that it had
  // when it was opened.
  virtual bool CheckEnd(Fault* fault) = 0;

  // ReadAhead makes a source that can read ahead begin to do so, up to a number
  // of bytes. Other sources ignore it.
  virtual void ReadAhead(size_t) {}
};

// OpenSource opens the source of a file's records.
using OpenSource = std::function<std::unique_ptr<ByteSource>(
    const std::string& path, Fault* fault)>;

// IsRemote reports whether a path has a scheme.
inline bool IsRemote(const std::string& path) {
  return path.find("://") != path.npos;
}

// OpenFile opens an uncompressed local file.
std::unique_ptr<ByteSource> OpenFile(const std::string& path, Fault* fault);

// Format is the compression of a file of records.
enum class Format { kPlain, kGzip, kZlib };

// Inflate returns a source of the inflated bytes of a compressed source.
std::unique_ptr<ByteSource> Inflate(std::unique_ptr<ByteSource> compressed,
                                    Format format, Fault* fault);

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_BYTE_SOURCE_H_
