// The records that a dataset op skips.
#ifndef MILLRACE_CGO_DATASETS_SKIPPED_RECORDS_H_
#define MILLRACE_CGO_DATASETS_SKIPPED_RECORDS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

namespace millrace {

// SkippedRecords lists records that were found bad before the op runs, so that
// no iterator has to check records: a graph with the list runs in any process.
// Several threads may use it.
class SkippedRecords {
 public:
  struct Entry {
    int64_t file = 0;
    int64_t record = 0;
    int64_t next = 0;  // offset of the record after it; -1: the rest of the
                       // file is skipped, too
  };
  static constexpr size_t kNumbers = 3;  // numbers per entry

  // Set takes the numbers of all entries, one entry after the other. It returns
  // false unless they are sorted, and none is negative but `next`.
  bool Set(const std::vector<int64_t>& numbers) {
    entries_.clear();
    if (numbers.size() % kNumbers != 0) return false;
    for (size_t i = 0; i < numbers.size(); i += kNumbers) {
      const Entry e = {numbers[i], numbers[i + 1], numbers[i + 2]};
      const bool sorted = entries_.empty() || Before(entries_.back(), e);
      if (e.file < 0 || e.record < 0 || e.next < -1 || !sorted) return false;
      entries_.push_back(e);
    }
    return true;
  }

  // Numbers returns what Set takes.
  std::vector<int64_t> Numbers() const {
    std::vector<int64_t> numbers;
    for (const Entry& e : entries_) {
      numbers.insert(numbers.end(), {e.file, e.record, e.next});
    }
    return numbers;
  }

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }

  // Find returns the entry of a record, nullptr for one that is not skipped.
  const Entry* Find(int64_t file, int64_t record) const {
    if (entries_.empty()) return nullptr;
    const Entry at = {file, record};
    const auto found =
        std::lower_bound(entries_.begin(), entries_.end(), at, Before);
    if (found == entries_.end() || Before(at, *found)) return nullptr;
    return &*found;
  }

  // CutFiles returns the files whose rest is skipped.
  std::vector<int64_t> CutFiles() const {
    std::vector<int64_t> files;
    for (const Entry& e : entries_) {
      if (e.next < 0) files.push_back(e.file);
    }
    return files;
  }

  // From returns the entries from a file on, with that file as number 0. A
  // negative number numbers the files from a later number on.
  SkippedRecords From(int64_t first) const {
    SkippedRecords rest;
    for (const Entry& e : entries_) {
      if (e.file < first) continue;
      rest.entries_.push_back({e.file - first, e.record, e.next});
    }
    return rest;
  }

  // InOrder returns the numbers of the records over all files, ascending.
  // Entries after the counted records of their file have none.
  std::vector<int64_t> InOrder(const std::vector<int64_t>& counts) const {
    std::vector<int64_t> numbers;
    int64_t before = 0;
    size_t file = 0;
    for (const Entry& e : entries_) {
      if (e.file >= static_cast<int64_t>(counts.size())) break;
      for (; static_cast<int64_t>(file) < e.file; ++file) {
        before += counts[file];
      }
      if (e.record < counts[file]) numbers.push_back(before + e.record);
    }
    return numbers;
  }

 private:
  static bool Before(const Entry& a, const Entry& b) {
    return std::tie(a.file, a.record) < std::tie(b.file, b.record);
  }

  std::vector<Entry> entries_;  // sorted by file and record
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_SKIPPED_RECORDS_H_
