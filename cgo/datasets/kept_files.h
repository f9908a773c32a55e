// The contents of small plain files, kept in memory.
#ifndef MILLRACE_CGO_DATASETS_KEPT_FILES_H_
#define MILLRACE_CGO_DATASETS_KEPT_FILES_H_

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "fault.h"
#include "file_source.h"
#include "large_memory.h"
#include "record_table.h"

namespace millrace {

// KeptFiles keeps the files of a table if their total size is small. Each is
// read on first use. Several threads may use them.
class KeptFiles {
 public:
  static constexpr int64_t kMostBytes = 64 << 20;
  static constexpr int64_t kMostRemoteBytes = 4 << 20;

  // Fit reports whether the files of a table are small enough.
  static bool Fit(const RecordTable& table) {
    const int64_t most = table.remote() ? kMostRemoteBytes : kMostBytes;
    int64_t bytes = 0;
    for (size_t i = 0; i < table.names().size() && bytes <= most; ++i) {
      bytes += table.file_bytes(static_cast<int64_t>(i));
    }
    return bytes <= most;
  }

  // The files of the table fit; it must outlive them.
  explicit KeptFiles(const RecordTable& table)
      : table_(table), once_(table.names().size()), read_(once_.size()) {
    int64_t bytes = 0;
    for (size_t i = 0; i < once_.size(); ++i) {
      begins_.push_back(bytes);
      bytes += table.file_bytes(static_cast<int64_t>(i));
    }
    memory_ = NewLargeMemory(static_cast<size_t>(bytes));
  }

  // Contents returns the contents of a file, nullptr if it cannot be read or
  // has another size than was indexed.
  const char* Contents(int64_t file) {
    if (memory_ == nullptr) return nullptr;
    std::call_once(once_[file], [&] { read_[file] = Read(file); });
    return read_[file] ? memory_.get() + begins_[file] : nullptr;
  }

 private:
  char Read(int64_t number) {
    Fault ignored;  // a RecordReader finds it again
    const auto file = FileSource::Open(table_.names()[number], &ignored);
    const int64_t bytes = table_.file_bytes(number);
    if (file == nullptr || file->size() < bytes ||
        (file->size() > bytes && !table_.is_cut(number))) {
      return false;
    }
    struct iovec whole = {memory_.get() + begins_[number],
                          static_cast<size_t>(bytes)};
    return bytes == 0 || file->ReadParts(&whole, 1, 0);
  }

  const RecordTable& table_;
  std::vector<std::once_flag> once_;
  std::vector<char>
      read_;  // per file; not a vector<bool>, whose bits share bytes
  std::vector<int64_t> begins_;
  LargeMemory memory_;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_KEPT_FILES_H_
