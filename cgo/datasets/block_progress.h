// Which blocks of an order were delivered, and which rows of a block come.
#ifndef MILLRACE_CGO_DATASETS_BLOCK_PROGRESS_H_
#define MILLRACE_CGO_DATASETS_BLOCK_PROGRESS_H_

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace millrace {

// A part of an order: positions from first up to but without second.
using RowRange = std::pair<int64_t, int64_t>;

// BlockProgress knows which blocks are still to come. All blocks from
// Frontier() on are, and those before it that were passed over:
//
//	blocks     3   4   5   6   7   8   9 ...
//	                x       x   x       frontier is 8; 3 and 5 were passed
// over
//
// Not thread-safe.
class BlockProgress {
 public:
  // A run begins with the rows of some parts of the order, ascending, and then
  // has those from a start on. The parts end before the start.
  BlockProgress(int64_t rows, int64_t start, std::vector<RowRange> parts)
      : rows_(rows), start_(start), parts_(std::move(parts)) {
    frontier_ = start / rows;
    for (const RowRange& part : parts_) {
      const int64_t end = (part.second + rows - 1) / rows;
      for (int64_t block = part.first / rows; block < end; ++block) {
        if (block < frontier_) passed_.insert(block);
      }
    }
  }

  // Next returns the first block that is to come.
  int64_t Next() const {
    return passed_.empty() ? frontier_ : *passed_.begin();
  }

  // Wanted reports whether a block is to come.
  bool Wanted(int64_t block) const {
    return block >= frontier_ || passed_.count(block) > 0;
  }

  // Ahead returns how many blocks were delivered before Next().
  int64_t Ahead() const {
    return frontier_ - Next() - static_cast<int64_t>(passed_.size());
  }

  // Deliver records that a block was delivered.
  void Deliver(int64_t block) {
    passed_.erase(block);
    for (; frontier_ <= block; ++frontier_) {
      if (frontier_ < block) passed_.insert(frontier_);
    }
  }

  // Rows returns the parts of a block that come, ascending and not empty. The
  // block's own rows count from 0.
  std::vector<RowRange> Rows(int64_t block) const {
    std::vector<RowRange> found;
    const int64_t begin = block * rows_, end = begin + rows_;
    const auto add = [&](int64_t first, int64_t last) {
      first = std::max(first, begin);
      last = std::min(last, end);
      if (first < last) found.emplace_back(first - begin, last - begin);
    };
    if (begin < start_) {
      for (const RowRange& part : parts_) add(part.first, part.second);
    }
    add(start_, end);
    return found;
  }

  int64_t Frontier() const { return frontier_; }
  const std::set<int64_t>& Passed() const { return passed_; }

  // Restore sets what Frontier and Passed returned.
  void Restore(int64_t frontier, std::set<int64_t> passed) {
    frontier_ = frontier;
    passed_ = std::move(passed);
  }

 private:
  int64_t rows_;  // a block's
  int64_t start_;
  std::vector<RowRange> parts_;
  int64_t frontier_;
  std::set<int64_t> passed_;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_BLOCK_PROGRESS_H_
