#include "files_ahead.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace millrace {
namespace {

// The inflated bytes of files ahead take memory. The larger the share of a file
// is, the longer its thread stays busy.
constexpr size_t kMostAhead = 64 << 20;  // bytes prefetched over all files
constexpr size_t kMostOfAFile = 16 << 20;

size_t AheadFiles(int64_t files) {
  const int64_t most = std::thread::hardware_concurrency();
  return static_cast<size_t>(
             std::clamp<int64_t>(files, 1, std::max<int64_t>(most, 1))) -
         1;
}

}  // namespace

FilesAhead::FilesAhead(const std::vector<std::string>& names, OpenSource open,
                       int64_t files)
    : names_(names), open_(std::move(open)), ahead_files_(AheadFiles(files)) {}

std::unique_ptr<ByteSource> FilesAhead::Open(int64_t file, bool more,
                                             Fault* fault) {
  while (!ahead_.empty() && ahead_.front().file != file) ahead_.pop_front();
  std::unique_ptr<ByteSource> source;
  if (ahead_.empty()) {
    source = open_(names_[file], fault);
  } else {
    source = std::move(ahead_.front().source);
    ahead_.pop_front();
  }
  if (source != nullptr) OpenNext(file, more);
  return source;
}

// OpenNext opens the files after one. A failure to open a file is reported when
// it is that file's turn.
void FilesAhead::OpenNext(int64_t file, bool more) {
  const auto files = static_cast<int64_t>(names_.size());
  if (!ahead_.empty()) {
    more = more && ahead_.back().file > file;
    file = ahead_.back().file;
  }
  while (ahead_.size() < ahead_files_) {
    if (++file == files) {
      if (!more) return;
      file = 0;
      more = false;
    }
    Fault ignored;
    auto source = open_(names_[file], &ignored);
    if (source == nullptr) return;
    source->ReadAhead(std::min(kMostOfAFile, kMostAhead / ahead_files_));
    ahead_.push_back({file, std::move(source)});
  }
}

}  // namespace millrace
