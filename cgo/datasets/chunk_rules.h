// How sequences become rows, and when a batch of rows is full. Go's package
// loaders/chunks has the same rules.
#ifndef MILLRACE_CGO_DATASETS_CHUNK_RULES_H_
#define MILLRACE_CGO_DATASETS_CHUNK_RULES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace millrace {

// ChunkRules are the rules for cutting a sequence into rows.
struct ChunkRules {
  int64_t size = 0;  // frames of a chunk; 0: a row is a whole sequence
  int64_t step =
      0;  // frames from the start of one chunk to the start of the next
  bool keep_tail = true;  // chunks shorter than `size` are rows

  bool whole() const { return size == 0; }

  // HasRow reports whether row k of a sequence of `length` frames exists. The
  // existing rows are consecutive and start at 0.
  bool HasRow(int64_t k, int64_t length) const {
    if (whole()) return k == 0;
    const int64_t least = keep_tail ? 1 : size;
    return length >= least && k <= (length - least) / step;
  }

  // Begin and End return the frames of a row that exists.
  int64_t Begin(int64_t k) const { return whole() ? 0 : k * step; }
  int64_t End(int64_t k, int64_t length) const {
    if (whole()) return length;
    return Begin(k) + std::min(size, length - Begin(k));
  }
};

// Budget limits a batch: for every sequence, the longest row times the number
// of rows is at most `frames`. The first row always fits.
class Budget {
 public:
  // `fixed` has for each sequence the size that its rows are padded to, -1 for
  // the longest of the batch. `max_rows` is 0 for no limit.
  Budget(int64_t frames, int64_t max_rows, std::vector<int64_t> fixed)
      : frames_(frames),
        max_rows_(max_rows),
        fixed_(std::move(fixed)),
        longest_(fixed_.size(), 0) {}

  // Clear begins a new batch.
  void Clear() {
    rows_ = 0;
    std::fill(longest_.begin(), longest_.end(), 0);
  }

  // Add adds a row to the batch, given its frames of each sequence, unless it
  // does not fit.
  bool Add(const std::vector<int64_t>& lengths) {
    if (rows_ > 0 && !Fits(lengths)) return false;
    ++rows_;
    for (size_t i = 0; i < longest_.size(); ++i) {
      longest_[i] = std::max(longest_[i], lengths[i]);
    }
    return true;
  }

 private:
  bool Fits(const std::vector<int64_t>& lengths) const {
    const int64_t rows = rows_ + 1;
    if (max_rows_ > 0 && rows > max_rows_) return false;
    for (size_t i = 0; i < longest_.size(); ++i) {
      const int64_t most = std::max({longest_[i], lengths[i], fixed_[i]});
      if (most > frames_ / rows) return false;
    }
    return true;
  }

  const int64_t frames_;
  const int64_t max_rows_;
  const std::vector<int64_t> fixed_;
  std::vector<int64_t> longest_;
  int64_t rows_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_CHUNK_RULES_H_
