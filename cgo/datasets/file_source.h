// Local files as sources of bytes.
#ifndef MILLRACE_CGO_DATASETS_FILE_SOURCE_H_
#define MILLRACE_CGO_DATASETS_FILE_SOURCE_H_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "byte_source.h"
#include "fault.h"

namespace millrace {

// FileSource reads a local file with pread, never through a mapping: so a file
// that shrinks is a fault instead of a signal.
//
// It also reads files with a scheme, if the program has a reader for them.
class FileSource : public ByteSource {
 public:
  // Remote reads a file with a scheme. Several threads may call ReadAt.
  class Remote {
   public:
    virtual ~Remote() = default;

    // ReadAt reads n bytes from an offset on.
    virtual bool ReadAt(char* to, size_t n, int64_t offset,
                        Fault* fault) const = 0;

    // CheckEnd checks that the file still has a size.
    virtual bool CheckEnd(int64_t size, Fault* fault) const = 0;
  };

  // OpenRemote opens a file with a scheme, and finds its size.
  using OpenRemote = std::unique_ptr<Remote> (*)(const std::string& path,
                                                 int64_t* size, Fault* fault);

  // SetOpenRemote sets the function that opens files with a scheme. Call it
  // before the first Open.
  static void SetOpenRemote(OpenRemote open);

  // Open opens a regular file. It returns nothing if it cannot.
  static std::unique_ptr<FileSource> Open(const std::string& path,
                                          Fault* fault);
  ~FileSource() override;

  bool Read(char* to, size_t n, size_t* got, Fault* fault) override;
  bool Skip(int64_t n, Fault* fault) override;
  int64_t left() const override { return size_ - at_; }
  bool CheckEnd(Fault* fault) override;

  // ReadParts fills all n parts from an offset on. It does not move the
  // position of Read. Several threads may call it.
  bool ReadParts(struct iovec* parts, size_t n, int64_t offset) const;

  // AdviseRandom advises the system that reads are random.
  void AdviseRandom() const;

  // AdviseSoon makes the system read a part of the file ahead.
  void AdviseSoon(int64_t offset, int64_t bytes) const;

  // SeekTo makes Read continue at an offset within the file.
  void SeekTo(int64_t offset) { at_ = offset; }

  // size returns the size of the file when it was opened.
  int64_t size() const { return size_; }

  // at returns the position of the next Read.
  int64_t at() const { return at_; }

 private:
  bool ReadRemote(const struct iovec* parts, size_t n, int64_t offset) const;

  FileSource(int fd, int64_t size) : fd_(fd), size_(size) {}
  FileSource(std::unique_ptr<Remote> remote, int64_t size)
      : fd_(-1), remote_(std::move(remote)), size_(size) {}

  const int fd_;  // -1 for a file with a scheme
  const std::unique_ptr<const Remote> remote_;
  const int64_t size_;
  int64_t at_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_FILE_SOURCE_H_
