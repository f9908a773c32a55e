#include "read_ahead.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

namespace millrace {
namespace {

// If pieces are large, every thread gets one, up to a limit.
constexpr size_t kBytesAhead = 4 << 20;
constexpr size_t kMostBytesAhead = 64 << 20;

// Threads returns how many threads to use, never more than there are
// processors.
size_t Threads(int64_t threads) {
  const int64_t most = std::thread::hardware_concurrency();
  return static_cast<size_t>(
      std::clamp<int64_t>(threads, 1, std::max<int64_t>(most, 1)));
}

}  // namespace

ReadAhead::ReadAhead(int64_t threads, size_t ahead, Find find)
    : threads_(Threads(threads)), ahead_(ahead), find_(std::move(find)) {}

ReadAhead::~ReadAhead() {
  {
    const Lock lock(mu_);
    closing_ = true;
  }
  room_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ReadAhead::Restart(const std::function<void()>& change) {
  Lock lock(mu_);
  stopped_ = true;
  waiting_ = true;
  progress_.wait(lock, [&] { return !finding_ && loading_ == 0; });
  waiting_ = false;
  queue_.clear();
  bytes_ahead_ = 0;
  first_ = true;
  change();
  stopped_ = false;
}

// MayRead reports whether a thread may read another piece ahead.
bool ReadAhead::MayRead() const {
  if (stopped_ || finding_ || queue_.size() >= threads_ + ahead_) return false;
  return bytes_ahead_ <
         (queue_.size() < threads_ ? kMostBytesAhead : kBytesAhead);
}

// ReadOne finds the next piece and loads it. MayRead is true. It unlocks
// meanwhile.
void ReadAhead::ReadOne(Lock* lock) {
  finding_ = true;
  lock->unlock();
  std::shared_ptr<Piece> piece;
  try {
    piece = find_();
  } catch (const std::bad_alloc&) {  // reading without threads needs less
  }
  lock->lock();
  finding_ = false;
  if (waiting_) progress_.notify_one();
  if (piece == nullptr) {
    stopped_ = true;
    return;
  }
  queue_.push_back({piece, false});
  Ahead* const ahead = &queue_.back();  // stays where it is in a deque
  bytes_ahead_ += piece->bytes();
  ++loading_;
  if (sleeping_ > 0 && MayRead()) room_.notify_one();
  lock->unlock();
  piece->Load();
  lock->lock();
  ahead->loaded = true;
  --loading_;
  if (waiting_) progress_.notify_one();
}

void ReadAhead::WorkerLoop() {
  Lock lock(mu_);
  for (;;) {
    ++sleeping_;
    room_.wait(lock, [&] { return closing_ || MayRead(); });
    --sleeping_;
    if (closing_) return;
    ReadOne(&lock);
  }
}

// StartWorkers starts the workers that are missing. If the system refuses a
// thread, there are fewer: the result is the same.
void ReadAhead::StartWorkers() {
  try {
    while (workers_.size() + 1 < threads_) {
      workers_.emplace_back(&ReadAhead::WorkerLoop, this);
    }
  } catch (const std::system_error&) {
  }
}

std::shared_ptr<ReadAhead::Piece> ReadAhead::Next() {
  Lock lock(mu_);
  while (queue_.empty() || !queue_.front().loaded) {
    if (MayRead()) {
      ReadOne(&lock);
      if (!first_ && !stopped_) StartWorkers();
    } else if (queue_.empty() && !finding_) {
      return nullptr;
    } else {
      waiting_ = true;
      progress_.wait(lock);
      waiting_ = false;
    }
  }
  first_ = false;
  std::shared_ptr<Piece> piece = std::move(queue_.front().piece);
  queue_.pop_front();
  bytes_ahead_ -= piece->bytes();
  // If a worker were woken for each piece it would sleep again after it.
  if (sleeping_ > 0 && 2 * queue_.size() <= threads_ + ahead_ && MayRead()) {
    room_.notify_one();
  }
  return piece;
}

}  // namespace millrace
