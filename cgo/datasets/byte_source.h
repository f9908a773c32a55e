// Where the bytes of a file of records come from.
#ifndef MILLRACE_CGO_DATASETS_BYTE_SOURCE_H_
#define MILLRACE_CGO_DATASETS_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "fault.h"

namespace millrace {

// ByteSource reads the bytes of one file from the first to the last. A fault of
// its methods has no place. Not for several threads.
class ByteSource {
 public:
  ByteSource() = default;
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Read reads up to n > 0 bytes. None is the end.
  virtual bool Read(char* to, size_t n, size_t* got, Fault* fault) = 0;

  // Skip passes over n bytes; a source that ends before is a fault.
  virtual bool Skip(int64_t n, Fault* fault) = 0;

  // left returns how many bytes are left, -1 if that is not known before they
  // are read.
  virtual int64_t left() const = 0;

  // CheckEnd makes sure, at the end, that this is the end that the file had
  // when it was opened.
  virtual bool CheckEnd(Fault* fault) = 0;

  // ReadAhead has a source that reads ahead begin with it, up to a number of
  // bytes. Others do nothing.
  virtual void ReadAhead(size_t) {}
};

// OpenSource opens the source of a file's records.
using OpenSource = std::function<std::unique_ptr<ByteSource>(
    const std::string& path, Fault* fault)>;

// OpenFile opens an uncompressed local file.
std::unique_ptr<ByteSource> OpenFile(const std::string& path, Fault* fault);

// Format is how a file of records is stored.
enum class Format { kPlain, kGzip, kZlib };

// Inflate returns the bytes that a compressed source holds.
std::unique_ptr<ByteSource> Inflate(std::unique_ptr<ByteSource> compressed,
                                    Format format, Fault* fault);

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_BYTE_SOURCE_H_
