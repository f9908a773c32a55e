// Open files for readers that jump between many of them.
#ifndef MILLRACE_CGO_DATASETS_FILE_CACHE_H_
#define MILLRACE_CGO_DATASETS_FILE_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "fault.h"
#include "file_source.h"

namespace millrace {

// FileCache keeps the first files that it opens open, up to a number of them.
// The others stay open only while they are used. So a reader that cycles
// through more files opens each of the others once per cycle; a cache that
// dropped the oldest file would open all of them. Several threads may use it.
class FileCache {
 public:
  explicit FileCache(size_t most) : most_(most) {}

  // Open returns the file with the given index, or nullptr.
  std::shared_ptr<const FileSource> Open(int64_t number,
                                         const std::string& path) {
    {
      const std::lock_guard<std::mutex> lock(mu_);
      const auto it = files_.find(number);
      if (it != files_.end()) return it->second;
    }
    Fault ignored;  // a RecordReader finds it again
    std::shared_ptr<FileSource> file = FileSource::Open(path, &ignored);
    if (file == nullptr) {
      Clear();  // there may be too many open files
      file = FileSource::Open(path, &ignored);
    }
    if (file == nullptr) return nullptr;
    file->AdviseRandom();
    const std::lock_guard<std::mutex> lock(mu_);
    if (files_.size() < most_) files_.emplace(number, file);
    return file;
  }

  // Clear closes the unused files.
  void Clear() {
    const std::lock_guard<std::mutex> lock(mu_);
    files_.clear();
  }

 private:
  const size_t most_;
  std::mutex mu_;
  std::unordered_map<int64_t, std::shared_ptr<const FileSource>> files_;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_FILE_CACHE_H_
