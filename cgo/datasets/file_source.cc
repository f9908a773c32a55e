#include "file_source.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>

namespace millrace {
namespace {

// SystemFault makes a fault of the system's last error.
bool SystemFault(Fault* fault, const char* doing) {
  const int code = errno;
  Cause cause = Cause::kUnknown;
  if (code == ENOENT || code == ENOTDIR) cause = Cause::kNotFound;
  if (code == EACCES || code == EPERM) cause = Cause::kPermissionDenied;
  if (code == ENOMEM) cause = Cause::kResourceExhausted;
  return fault->Set(cause, "%s: %s", doing, std::strerror(code));
}

}  // namespace

std::unique_ptr<FileSource> FileSource::Open(const std::string& path,
                                             Fault* fault) {
  // Without O_NONBLOCK opening a pipe would wait for a writer.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    SystemFault(fault, "open");
    return nullptr;
  }
  struct stat info;
  if (fstat(fd, &info) != 0) {
    SystemFault(fault, "stat");
  } else if (!S_ISREG(info.st_mode)) {
    fault->Set(Cause::kFailedPrecondition, "not a regular file");
  } else {
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);  // a hint
    return std::unique_ptr<FileSource>(new FileSource(fd, info.st_size));
  }
  close(fd);
  return nullptr;
}

FileSource::~FileSource() { close(fd_); }

bool FileSource::Read(char* to, size_t n, size_t* got, Fault* fault) {
  *got = 0;
  n = static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(n), left()));
  if (n == 0) return true;
  ssize_t read;
  do {
    read = pread(fd_, to, n, at_);
  } while (read < 0 && errno == EINTR);
  if (read < 0) return SystemFault(fault, "read");
  if (read == 0) {
    return fault->Set(Cause::kFailedPrecondition,
                      "the file shrank while it was read");
  }
  *got = static_cast<size_t>(read);
  at_ += read;
  return true;
}

bool FileSource::Skip(int64_t n, Fault* fault) {
  if (n > left()) {
    return fault->Set(Cause::kFailedPrecondition,
                      "it has %" PRId64
                      " bytes, reading was to go on at %" PRId64,
                      size_, at_ + n);
  }
  at_ += n;
  return true;
}

bool FileSource::CheckEnd(Fault* fault) {
  struct stat info;
  if (fstat(fd_, &info) != 0) return SystemFault(fault, "stat");
  if (info.st_size == size_) return true;
  return fault->Set(Cause::kFailedPrecondition,
                    "the file changed while it was read: it had %" PRId64
                    " bytes and has %" PRId64,
                    size_, static_cast<int64_t>(info.st_size));
}

bool FileSource::ReadParts(struct iovec* parts, size_t n,
                           int64_t offset) const {
  while (n > 0) {
    ssize_t got;
    do {
      got = preadv(fd_, parts, static_cast<int>(n), offset);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) return false;
    offset += got;
    auto left = static_cast<size_t>(got);
    for (; n > 0 && left >= parts->iov_len; --n, ++parts) {
      left -= parts->iov_len;
    }
    if (n > 0) {
      parts->iov_base = static_cast<char*>(parts->iov_base) + left;
      parts->iov_len -= left;
    }
  }
  return true;
}

void FileSource::AdviseRandom() const {
  posix_fadvise(fd_, 0, 0, POSIX_FADV_RANDOM);  // a hint
}

// For one such hint Linux reads at most its window for sequential reads.
void FileSource::AdviseSoon(int64_t offset, int64_t bytes) const {
  constexpr int64_t kWindow = 128 << 10;
  for (; bytes > 0; offset += kWindow, bytes -= kWindow) {
    posix_fadvise(fd_, offset, std::min(bytes, kWindow), POSIX_FADV_WILLNEED);
  }
}

std::unique_ptr<ByteSource> OpenFile(const std::string& path, Fault* fault) {
  return FileSource::Open(path, fault);
}

}  // namespace millrace
