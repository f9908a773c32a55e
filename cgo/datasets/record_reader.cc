#include "record_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <new>
#include <vector>

#include "crc32c.h"

namespace millrace {
namespace {

constexpr size_t kHeader = 12;  // length and its checksum
constexpr size_t kFooter = 4;   // the data's checksum
constexpr uint64_t kMaxRecord = 256 << 20;
constexpr size_t kMinBuffer = 64 << 10;
constexpr size_t kMaxPath = 512;  // of a path in a message
// What a thread reads at a time of a run of records. It stays in the second
// cache until its checksums are computed.
constexpr size_t kSliceBytes = 128 << 10;
constexpr size_t kSlice = 8;  // records

template <typename T>
T LoadLittle(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  std::reverse(reinterpret_cast<char*>(&v),
               reinterpret_cast<char*>(&v) + sizeof(v));
#endif
  return v;
}

bool SystemFault(Fault* fault, const std::string& path, const char* what) {
  const int code = errno;
  Cause cause = Cause::kUnknown;
  if (code == ENOENT || code == ENOTDIR) cause = Cause::kNotFound;
  if (code == EACCES || code == EPERM) cause = Cause::kPermissionDenied;
  if (code == EMFILE || code == ENFILE || code == ENOMEM) {
    cause = Cause::kResourceExhausted;
  }
  fault->cause = cause;
  fault->text = "file " + Quote(path, kMaxPath) + ": " + what + ": " +
                std::strerror(code);
  return false;
}

// ReadParts fills all parts from an offset on.
bool ReadParts(int fd, struct iovec* parts, size_t n, int64_t offset) {
  while (n > 0) {
    ssize_t got;
    do {
      got = preadv(fd, parts, static_cast<int>(n), offset);
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

// Matches reports whether a record, given by its header, its values and what is
// behind them, is of a layout and its checksums are right.
bool Matches(const Layout& layout, const char* header, const char* values,
             const char* after) {
  const char* const before = header + kHeader;
  if (LoadLittle<uint64_t>(header) != layout.size() ||
      MaskCrc(Crc32c(header, 8)) != LoadLittle<uint32_t>(header + 8) ||
      std::memcmp(before, layout.before.data(), layout.before.size()) != 0 ||
      std::memcmp(after, layout.after.data(), layout.after.size()) != 0) {
    return false;
  }
  uint32_t crc = Crc32c(before, layout.before.size());
  crc = ExtendCrc32c(crc, values, layout.values);
  crc = ExtendCrc32c(crc, after, layout.after.size());
  return MaskCrc(crc) == LoadLittle<uint32_t>(after + layout.after.size());
}

}  // namespace

RecordReader::RecordReader(size_t buffer_bytes)
    : minimum_(std::max(buffer_bytes, kMinBuffer)) {}

RecordReader::~RecordReader() { Close(); }

void RecordReader::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  begin_ = end_ = 0;
}

bool RecordReader::Open(const std::string& path, int64_t offset,
                        int64_t ordinal, Fault* fault) {
  Close();
  path_ = path;
  // Without O_NONBLOCK the opening of a pipe would wait for a writer.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return SystemFault(fault, path, "open");
  fd_ = fd;
  struct stat info;
  if (fstat(fd, &info) != 0) return SystemFault(fault, path, "stat");
  if (!S_ISREG(info.st_mode)) {
    fault->cause = Cause::kFailedPrecondition;
    fault->text = "file " + Quote(path, kMaxPath) + ": not a regular file";
    return false;
  }
  size_ = info.st_size;
  if (offset < 0 || offset > size_) {
    fault->cause = Cause::kFailedPrecondition;
    fault->text = "file " + Quote(path, kMaxPath) + ": it has " +
                  std::to_string(size_) + " bytes, reading was to go on at " +
                  std::to_string(offset);
    return false;
  }
  next_ = current_ = offset;
  ordinal_ = ordinal;
  posix_fadvise(fd, offset, 0, POSIX_FADV_SEQUENTIAL);  // a hint
  return Reserve(minimum_, fault);
}

// Reserve makes the buffer at least `want` bytes large.
bool RecordReader::Reserve(size_t want, Fault* fault) {
  if (capacity_ >= want) return true;
  const size_t capacity = std::max(want, minimum_);
  std::unique_ptr<char[]> larger(new (std::nothrow) char[capacity]);
  if (larger == nullptr) {
    return fault->Set(Cause::kResourceExhausted,
                      "no memory for a buffer of %zu bytes", capacity);
  }
  if (end_ > begin_) {
    std::memcpy(larger.get(), buffer_.get() + begin_, end_ - begin_);
  }
  end_ -= begin_;
  begin_ = 0;
  buffer_ = std::move(larger);
  capacity_ = capacity;
  return true;
}

// Load reads once, as much as the buffer takes, or `want` bytes in all.
bool RecordReader::Load(size_t want, Fault* fault) {
  const int64_t at = next_ + static_cast<int64_t>(end_ - begin_);
  const int64_t left = std::max<int64_t>(size_ - at, 0);
  const size_t most = exactly_ ? want - (end_ - begin_) : capacity_ - end_;
  const size_t room = static_cast<size_t>(std::min<int64_t>(most, left));
  ssize_t n;
  do {
    n = pread(fd_, buffer_.get() + end_, room, at);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return SystemFault(fault, path_, "read");
  if (n == 0) {
    Fail(fault, Cause::kFailedPrecondition,
         "the file shrank while it was read");
    return false;
  }
  end_ += static_cast<size_t>(n);
  return true;
}

// Fill buffers `want` bytes, or what is left of the file.
bool RecordReader::Fill(size_t want, size_t* got, Fault* fault) {
  *got = end_ - begin_;
  if (*got >= want) return true;
  const uint64_t left = static_cast<uint64_t>(size_ - next_);
  want = static_cast<size_t>(std::min<uint64_t>(want, left));
  if (!Reserve(want, fault)) return false;
  if (begin_ + want > capacity_ || begin_ == end_) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  while (end_ - begin_ < want) {
    if (!Load(want, fault)) return false;
  }
  *got = end_ - begin_;
  return true;
}

// ReadSlice reads n records at an offset and returns how many are whole and of
// a layout before the first that is not. Several threads may call it.
size_t RecordReader::ReadSlice(const Layout& layout, int64_t offset, size_t n,
                               char* to) const {
  const size_t lead = kHeader + layout.before.size();
  const size_t past = layout.after.size() + kFooter;
  struct iovec parts[2 * kSlice + 1];
  std::unique_ptr<char[]> around(new (std::nothrow) char[n * (lead + past)]);
  if (around == nullptr) return 0;
  for (size_t i = 0; i < n; ++i) {
    // What follows the values of one record and precedes those of the next is
    // one part.
    char* const gap = around.get() + i * (lead + past);
    parts[2 * i] = i == 0 ? iovec{gap, lead} : iovec{gap - past, past + lead};
    parts[2 * i + 1] = {to + i * layout.values, layout.values};
  }
  parts[2 * n] = {around.get() + n * (lead + past) - past, past};
  if (!ReadParts(fd_, parts, 2 * n + 1, offset)) return 0;
  for (size_t i = 0; i < n; ++i) {
    const char* const header = around.get() + i * (lead + past);
    const char* const after = header + lead;
    if (!Matches(layout, header, to + i * layout.values, after)) return i;
  }
  return n;
}

int64_t RecordReader::NextRun(const Layout& layout, int64_t n, char* to,
                              WorkerPool* workers) {
  const size_t whole = kHeader + layout.size() + kFooter;
  n = std::min(n, (size_ - next_) / static_cast<int64_t>(whole));
  if (n <= 0) return 0;
  const size_t per = std::clamp<size_t>(kSliceBytes / whole, 1, kSlice);
  const size_t slices = (static_cast<size_t>(n) + per - 1) / per;
  std::vector<size_t> good(slices);
  const auto count = [&](size_t i) {
    return std::min(per, static_cast<size_t>(n) - i * per);
  };
  workers->Run(slices, [&](size_t i) {
    good[i] = ReadSlice(layout, next_ + static_cast<int64_t>(i * per * whole),
                        count(i), to + i * per * layout.values);
  });
  int64_t run = 0;
  for (size_t i = 0; i < slices; ++i) {
    run += static_cast<int64_t>(good[i]);
    if (good[i] < count(i)) break;
  }
  if (run == 0) return 0;
  begin_ = end_ = 0;
  next_ += run * static_cast<int64_t>(whole);
  current_ = next_ - static_cast<int64_t>(whole);
  ordinal_ += run;
  return run;
}

void RecordReader::Describe(Fault* fault) const {
  const int64_t record = current_ == next_ ? ordinal_ : ordinal_ - 1;
  fault->text = "file " + Quote(path_, kMaxPath) + ": record " +
                std::to_string(record) + " (offset " +
                std::to_string(current_) + "): " + fault->text;
}

RecordReader::Outcome RecordReader::Fail(Fault* fault, Cause cause,
                                         const std::string& text) const {
  fault->cause = cause;
  fault->text = text;
  Describe(fault);
  return Outcome::kFault;
}

RecordReader::Outcome RecordReader::Truncated(Fault* fault, size_t got,
                                              uint64_t want,
                                              const char* what) const {
  return Fail(fault, Cause::kDataLoss,
              "the file is truncated: " + std::to_string(got) + " of " +
                  std::to_string(want) + " " + what);
}

// CheckEnd makes sure that the file ends where it did when it was opened.
bool RecordReader::CheckEnd(Fault* fault) const {
  struct stat info;
  if (fstat(fd_, &info) != 0) return SystemFault(fault, path_, "stat");
  if (info.st_size == size_) return true;
  Fail(fault, Cause::kFailedPrecondition,
       "the file changed while it was read: it had " + std::to_string(size_) +
           " bytes and has " + std::to_string(info.st_size));
  return false;
}

RecordReader::Outcome RecordReader::Next(std::string_view* record,
                                         Fault* fault) {
  current_ = next_;
  size_t got;
  if (!Fill(kHeader, &got, fault)) return Outcome::kFault;
  if (got == 0) return CheckEnd(fault) ? Outcome::kEnd : Outcome::kFault;
  if (got < kHeader) return Truncated(fault, got, kHeader, "header bytes");
  const char* header = buffer_.get() + begin_;
  if (MaskCrc(Crc32c(header, 8)) != LoadLittle<uint32_t>(header + 8)) {
    return Fail(fault, Cause::kDataLoss,
                "the length checksum does not match: the header is damaged, "
                "or this is no TFRecord file");
  }
  const uint64_t length = LoadLittle<uint64_t>(header);
  const uint64_t left = static_cast<uint64_t>(size_ - next_) - kHeader;
  if (length > kMaxRecord) {
    return Fail(fault, Cause::kResourceExhausted,
                "it claims " + std::to_string(length) + " bytes, " +
                    std::to_string(left) + " remain, cap 256 MiB");
  }
  if (length > left) return Truncated(fault, left, length, "data bytes");
  if (left - length < kFooter) {
    return Truncated(fault, left - length, kFooter, "data checksum bytes");
  }
  const size_t whole = kHeader + static_cast<size_t>(length) + kFooter;
  if (!Fill(whole, &got, fault)) return Outcome::kFault;
  const char* data = buffer_.get() + begin_ + kHeader;
  if (MaskCrc(Crc32c(data, length)) != LoadLittle<uint32_t>(data + length)) {
    return Fail(fault, Cause::kDataLoss, "the data checksum does not match");
  }
  *record = std::string_view(data, length);
  begin_ += whole;
  next_ += static_cast<int64_t>(whole);
  ++ordinal_;
  return Outcome::kRecord;
}

}  // namespace millrace
