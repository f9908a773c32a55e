#include "record_blocks.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

namespace millrace {
namespace {

// A piece is read in one call of the system. It is large enough that such a
// call and the work of handing a block over do not matter, and small enough
// that it is still in the processor's own cache when its checksums are
// computed.
constexpr size_t kPieceBytes = 256 << 10;
constexpr size_t kLeastPiece = 4 << 10;

// So many blocks more than there are threads keep the threads busy while the
// caller sleeps or is busy itself, and still fit the last cache of most
// processors. Where records are large, every thread gets one, up to a limit.
constexpr size_t kBlocksAhead = 6;
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

RecordBlocks::RecordBlocks(const FileList& files, size_t buffer_bytes,
                           int64_t threads, std::shared_ptr<BlockPool> pool)
    : files_(files),
      threads_(Threads(threads)),
      pool_(std::move(pool)),
      walk_(files, buffer_bytes, OpenFile),
      piece_(kPieceBytes) {}

RecordBlocks::~RecordBlocks() {
  {
    const Lock lock(mu_);
    closing_ = true;
  }
  room_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void RecordBlocks::Seek(const WalkPosition& at) {
  Restart(at);
  position_ = at;
}

// Restart forgets what was read ahead, and has reading go on at a position.
void RecordBlocks::Restart(const WalkPosition& at) {
  block_ = nullptr;
  taken_ = 0;
  Lock lock(mu_);
  stopped_ = true;
  waiting_ = true;
  progress_.wait(lock, [&] { return !finding_ && loading_ == 0; });
  waiting_ = false;
  queue_.clear();
  bytes_ahead_ = 0;
  found_ = at;
  file_ = nullptr;
  open_ = -1;
  stopped_ = false;
}

// OpenFound opens the file that the next block is in, and moves to the next
// file where one ends as it should.
bool RecordBlocks::OpenFound() {
  for (;;) {
    if (found_.epoch > 0 ||
        found_.file >= static_cast<int64_t>(files_.names.size())) {
      return false;
    }
    Fault ignored;  // RecordWalk finds it again
    if (open_ != found_.file) {
      file_ = FileSource::Open(files_.names[found_.file], &ignored);
      open_ = file_ == nullptr ? -1 : found_.file;
      if (file_ == nullptr) return false;
    }
    if (found_.offset != file_->size()) return found_.offset < file_->size();
    const int64_t count = files_.counts[found_.file];
    if (found_.file + 1 == static_cast<int64_t>(files_.names.size()) ||
        (count >= 0 && count != found_.ordinal) || !file_->CheckEnd(&ignored)) {
      return false;
    }
    found_ = {found_.epoch, found_.file + 1, 0, 0,
              found_.seen + found_.ordinal};
  }
}

// Find finds the next block.
bool RecordBlocks::Find(RecordBlock* block) {
  if (!OpenFound() ||
      !block->Find(file_, found_, files_.counts[found_.file], piece_)) {
    return false;
  }
  // Where records are short, a piece is what a block of them needs.
  if (block->size() == RecordBlock::kMostRecords && block->bytes() < piece_) {
    piece_ = std::max(kLeastPiece, block->bytes() + block->bytes() / 8);
  } else {
    piece_ = std::min(kPieceBytes, 2 * piece_);
  }
  found_ = block->slot(block->size() - 1).behind();
  return true;
}

// MayRead reports whether a thread may read another block ahead.
bool RecordBlocks::MayRead() const {
  if (stopped_ || finding_ || queue_.size() >= threads_ + kBlocksAhead) {
    return false;
  }
  return bytes_ahead_ <
         (queue_.size() < threads_ ? kMostBytesAhead : kBytesAhead);
}

// ReadOne finds the next block and loads it. MayRead is true. It unlocks
// meanwhile.
void RecordBlocks::ReadOne(Lock* lock) {
  finding_ = true;
  lock->unlock();
  std::shared_ptr<RecordBlock> block;
  bool found = false;
  try {
    block = pool_->Take();
    found = Find(block.get());
  } catch (const std::bad_alloc&) {  // RecordWalk needs less
  }
  lock->lock();
  finding_ = false;
  if (waiting_) progress_.notify_one();
  if (!found) {
    stopped_ = true;
    return;
  }
  queue_.push_back({block, false});
  Ahead* const ahead = &queue_.back();  // stays where it is in a deque
  bytes_ahead_ += block->bytes();
  ++loading_;
  if (sleeping_ > 0 && MayRead()) room_.notify_one();
  lock->unlock();
  block->Load();
  lock->lock();
  ahead->loaded = true;
  --loading_;
  if (waiting_) progress_.notify_one();
}

void RecordBlocks::WorkerLoop() {
  Lock lock(mu_);
  for (;;) {
    ++sleeping_;
    room_.wait(lock, [&] { return closing_ || MayRead(); });
    --sleeping_;
    if (closing_) return;
    ReadOne(&lock);
  }
}

// StartWorkers starts the workers that are missing. Where the system refuses a
// thread, there are fewer: the result is the same.
void RecordBlocks::StartWorkers() {
  try {
    while (workers_.size() + 1 < threads_) {
      workers_.emplace_back(&RecordBlocks::WorkerLoop, this);
    }
  } catch (const std::system_error&) {
  }
}

// NextBlock makes the next block of the queue the one whose records are next,
// if there is one.
void RecordBlocks::NextBlock() {
  const bool first = block_ == nullptr;  // it may be the only one
  block_ = nullptr;
  taken_ = 0;
  Lock lock(mu_);
  while (queue_.empty() || !queue_.front().loaded) {
    if (MayRead()) {
      ReadOne(&lock);
      if (!first && !stopped_) StartWorkers();
    } else if (queue_.empty() && !finding_) {
      return;
    } else {
      waiting_ = true;
      progress_.wait(lock);
      waiting_ = false;
    }
  }
  block_ = std::move(queue_.front().block);
  queue_.pop_front();
  bytes_ahead_ -= block_->bytes();
  // A worker that wakes up for each block would sleep again after it.
  if (sleeping_ > 0 && 2 * queue_.size() <= threads_ + kBlocksAhead &&
      MayRead()) {
    room_.notify_one();
  }
}

// Walk reads the next record by itself, and tells what is wrong with it.
bool RecordBlocks::Walk(std::shared_ptr<const RecordSlot>* record, bool* end,
                        Fault* fault) {
  walk_.Seek(position_);
  std::string_view data;
  if (!walk_.Next(&data, end, fault)) return false;
  const WalkPosition behind = walk_.position();
  if (*end) {
    position_ = behind;
    return true;
  }
  const std::shared_ptr<RecordBlock> block = pool_->Take();
  const WalkPosition at = {behind.epoch, behind.file, walk_.offset(),
                           walk_.ordinal(), behind.seen};
  if (!block->Hold(data, at, fault)) {
    walk_.Describe(fault);
    return false;
  }
  Seek(behind);
  *record = {block, &block->slot(0)};
  return true;
}

bool RecordBlocks::Next(std::shared_ptr<const RecordSlot>* record, bool* end,
                        Fault* fault) {
  *end = false;
  if (block_ == nullptr || taken_ == block_->size()) NextBlock();
  if (block_ == nullptr || !block_->slot(taken_).intact()) {
    return Walk(record, end, fault);
  }
  const RecordSlot& slot = block_->slot(taken_);
  if (slot.fault().cause != Cause::kNone) {
    const WalkPosition at = slot.at();
    *fault = slot.fault();
    Restart(position_);  // asked again, it reads the record again
    return fault->At(files_.names[at.file], at.ordinal, at.offset);
  }
  position_ = slot.behind();
  *record = {block_, &slot};
  ++taken_;
  return true;
}

}  // namespace millrace
