#include "file_source.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <new>
#include <utility>

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

FileSource::OpenRemote open_remote = nullptr;

}  // namespace

void FileSource::SetOpenRemote(OpenRemote open) { open_remote = open; }

std::unique_ptr<FileSource> FileSource::Open(const std::string& path,
                                             Fault* fault) {
  if (open_remote != nullptr && IsRemote(path)) {
    int64_t size = 0;
    std::unique_ptr<Remote> remote = open_remote(path, &size, fault);
    if (remote == nullptr) return nullptr;
    return std::unique_ptr<FileSource>(new FileSource(std::move(remote), size));
  }
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

FileSource::~FileSource() {
  if (fd_ >= 0) close(fd_);
}

bool FileSource::Read(char* to, size_t n, size_t* got, Fault* fault) {
  *got = 0;
  n = static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(n), left()));
  if (n == 0) return true;
  if (remote_ != nullptr) {
    if (!remote_->ReadAt(to, n, at_, fault)) return false;
    *got = n;
    at_ += static_cast<int64_t>(n);
    return true;
  }
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
  if (remote_ != nullptr) return remote_->CheckEnd(size_, fault);
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
  if (remote_ != nullptr) return ReadRemote(parts, n, offset);
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

// ReadRemote reads all parts by one call, so that the reader knows how much to
// request. Large ones are read one by one: a copy would take much memory.
bool FileSource::ReadRemote(const struct iovec* parts, size_t n,
                            int64_t offset) const {
  constexpr size_t kTogether = 8 << 20;
  Fault ignored;  // a RecordReader finds it again
  size_t bytes = 0;
  for (size_t i = 0; i < n; ++i) bytes += parts[i].iov_len;
  std::unique_ptr<char[]> all(
      n > 1 && bytes <= kTogether ? new (std::nothrow) char[bytes] : nullptr);
  if (all != nullptr && !remote_->ReadAt(all.get(), bytes, offset, &ignored)) {
    return false;
  }
  const char* from = all.get();
  for (size_t i = 0; i < n; ++i) {
    auto* const to = static_cast<char*>(parts[i].iov_base);
    const size_t want = parts[i].iov_len;
    if (from != nullptr) {
      std::copy_n(from, want, to);
      from += want;
    } else if (!remote_->ReadAt(to, want, offset, &ignored)) {
      return false;
    }
    offset += static_cast<int64_t>(want);
  }
  return true;
}

void FileSource::AdviseRandom() const {
  if (fd_ < 0) return;
  posix_fadvise(fd_, 0, 0, POSIX_FADV_RANDOM);  // a hint
}

// For one such hint Linux reads at most its window for sequential reads.
void FileSource::AdviseSoon(int64_t offset, int64_t bytes) const {
  constexpr int64_t kWindow = 128 << 10;
  if (fd_ < 0) return;
  for (; bytes > 0; offset += kWindow, bytes -= kWindow) {
    posix_fadvise(fd_, offset, std::min(bytes, kWindow), POSIX_FADV_WILLNEED);
  }
}

std::unique_ptr<ByteSource> OpenFile(const std::string& path, Fault* fault) {
  return FileSource::Open(path, fault);
}

}  // namespace millrace
