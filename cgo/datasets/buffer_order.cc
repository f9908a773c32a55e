#include "buffer_order.h"

#include <algorithm>

namespace millrace {
namespace {

// The constants of Philox4x32-10.
constexpr int kRounds = 10;
constexpr uint32_t kMultiplierA = 0xd2511f53, kMultiplierB = 0xcd9e8d57;
constexpr uint32_t kWeylA = 0x9e3779b9, kWeylB = 0xbb67ae85;

// The streams of draws of an epoch: loaders/build/source/epochs.go has the same
// ones.
constexpr int64_t kStreams = 4, kFileStream = 1, kRecordStream = 2;

uint32_t Low(uint64_t v) { return static_cast<uint32_t>(v); }
uint32_t High(uint64_t v) { return static_cast<uint32_t>(v >> 32); }

}  // namespace

Philox::Philox(uint64_t key, uint64_t stream) : key_(key), stream_(stream) {}

void Philox::Fill() {
  uint32_t a = Low(key_), b = High(key_);
  uint32_t x[kWords] = {Low(counter_), High(counter_), Low(stream_),
                        High(stream_)};
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t first = uint64_t{kMultiplierA} * x[0];
    const uint64_t second = uint64_t{kMultiplierB} * x[2];
    const uint32_t mixed[kWords] = {High(second) ^ x[1] ^ a, Low(second),
                                    High(first) ^ x[3] ^ b, Low(first)};
    std::copy(mixed, mixed + kWords, x);
    a += kWeylA;
    b += kWeylB;
  }
  std::copy(x, x + kWords, block_);
  ++counter_;
  used_ = 0;
}

ShuffleBuffer::ShuffleBuffer(int64_t size, int64_t most, int64_t seed,
                             int64_t stream)
    : generator_(static_cast<uint64_t>(seed), static_cast<uint64_t>(stream)),
      buffer_(static_cast<size_t>(std::max<int64_t>(std::min(size, most), 1))) {
}

// Tell announces the next piece of a file, or two pieces if the file has just
// been opened.
void FileCycle::Tell(Range* file) const {
  const int64_t begin = file->told;
  while (file->told < file->end && file->told - file->next <= piece_) {
    file->told = std::min(file->told + piece_, file->end);
  }
  coming_(begin, file->told);
}

// DropClosed removes turns without a file when there are no more files.
void FileCycle::DropClosed() {
  const auto closed = [](const Range& file) { return file.closed; };
  open_.erase(std::remove_if(open_.begin(), open_.end(), closed), open_.end());
}

BufferOrder::BufferOrder(const BufferSizes& sizes, int64_t seed,
                         const std::vector<int64_t>& counts)
    : sizes_(sizes), seed_(seed), starts_(1, 0) {
  for (const int64_t n : counts) starts_.push_back(starts_.back() + n);
}

int64_t BufferOrder::At(int64_t epoch, int64_t position) {
  if (epoch != epoch_ || position + 1 < drawn_) {
    const int64_t stream = epoch * kStreams;
    const auto files = static_cast<int64_t>(starts_.size()) - 1;
    left_.emplace(
        Epoch{ShuffleBuffer(sizes_.files, files, seed_, stream + kFileStream),
              FileCycle(sizes_.files_at_once, piece_, &coming_),
              ShuffleBuffer(sizes_.records, starts_.back(), seed_,
                            stream + kRecordStream)});
    epoch_ = epoch;
    drawn_ = 0;
    opened_ = 0;
  }
  for (; drawn_ <= position; ++drawn_) last_ = Next();
  return last_;
}

// Next draws the next number of the epoch.
int64_t BufferOrder::Next() {
  const auto files = [this](int64_t* file) {
    if (opened_ + 1 == starts_.size()) return false;
    *file = static_cast<int64_t>(opened_++);
    return true;
  };
  const auto ranges = [&](int64_t* begin, int64_t* end) {
    int64_t file = 0;
    if (!left_->files.Next(files, &file)) return false;
    *begin = starts_[static_cast<size_t>(file)];
    *end = starts_[static_cast<size_t>(file) + 1];
    return true;
  };
  int64_t number = 0;
  left_->records.Next([&](int64_t* n) { return left_->cycle.Next(ranges, n); },
                      &number);
  return number;
}

}  // namespace millrace
