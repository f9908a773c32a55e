// The location of each record of a list of files.
#ifndef MILLRACE_CGO_DATASETS_RECORD_TABLE_H_
#define MILLRACE_CGO_DATASETS_RECORD_TABLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "byte_source.h"
#include "record_frame.h"

namespace millrace {

// RecordTable has the location of every record of plain files, computed from
// the lengths in an index. Records are numbered over all files. Several threads
// may use it.
class RecordTable {
 public:
  struct Entry {
    int64_t file = 0;
    int64_t ordinal = 0;
    int64_t offset = 0;   // offset of the header
    uint32_t length = 0;  // length of the data
  };

  // `counts` has the number of records of each file, not negative, and
  // `lengths` the length of every record: the sum of the counts is their
  // number. They must outlive the table.
  RecordTable(std::vector<std::string> names,
              const std::vector<int64_t>& counts, const uint32_t* lengths)
      : names_(std::move(names)),
        lengths_(lengths),
        remote_(std::any_of(names_.begin(), names_.end(), IsRemote)) {
    for (int64_t count : counts) {
      int64_t offset = 0;
      const int64_t end = starts_.back() + count;
      for (int64_t i = starts_.back(); i < end; ++i) {
        if (i % kMarkEvery == 0) marks_.push_back(offset);
        offset += Whole(i);
      }
      starts_.push_back(end);
      ends_.push_back(offset);
    }
  }

  // remote reports whether a file is remote. Its reader keeps what it has read,
  // and a few records must not download many.
  bool remote() const { return remote_; }

  int64_t records() const { return starts_.back(); }
  uint32_t length(int64_t number) const { return lengths_[number]; }
  const std::vector<std::string>& names() const { return names_; }

  // bytes returns the total size of all files.
  int64_t bytes() const {
    return std::accumulate(ends_.begin(), ends_.end(), int64_t{0});
  }

  // file_bytes returns the size of a file.
  int64_t file_bytes(int64_t file) const { return ends_[file]; }

  // Cut marks a file that has more bytes than its records: the rest is not
  // read. is_cut reports whether a file is marked.
  void Cut(int64_t file) { cut_.push_back(file); }
  bool is_cut(int64_t file) const {
    return std::find(cut_.begin(), cut_.end(), file) != cut_.end();
  }

  // Find returns the location of a record. `file` is the first file to search:
  // 0, or the file of an earlier record.
  Entry Find(int64_t number, int64_t file = 0) const {
    if (number >= starts_[file + 1]) {
      file =
          std::upper_bound(starts_.begin() + file + 1, starts_.end(), number) -
          starts_.begin() - 1;
    }
    const int64_t marked = number / kMarkEvery * kMarkEvery;
    int64_t i = std::max(marked, starts_[file]);
    int64_t offset = i == starts_[file] ? 0 : marks_[number / kMarkEvery];
    for (; i < number; ++i) offset += Whole(i);
    return {file, number - starts_[file], offset, lengths_[number]};
  }

 private:
  static constexpr int64_t kMarkEvery = 16;

  int64_t Whole(int64_t number) const {
    return int64_t{lengths_[number]} + static_cast<int64_t>(kHeader + kFooter);
  }

  const std::vector<std::string> names_;
  const uint32_t* const lengths_;
  const bool remote_;
  std::vector<int64_t> starts_ = {
      0};                       // records before each file, and the total
  std::vector<int64_t> ends_;   // bytes of each file
  std::vector<int64_t> marks_;  // offset of each 16th record in its file
  std::vector<int64_t> cut_;    // the marked files
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_RECORD_TABLE_H_
