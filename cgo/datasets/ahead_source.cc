#include "ahead_source.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

namespace millrace {
namespace {

// A block is large enough that passing it on is cheap compared with inflating
// it, and small enough to stay in the processor's cache until it is consumed.
constexpr size_t kBlockBytes = 128 << 10;
constexpr size_t kBlocksAhead = 8;
constexpr size_t kEnough = kBlocksAhead / 2;  // at which a waiting reader wakes
constexpr size_t kOwnBytes = 256 << 10;
constexpr size_t kMostSpares = 8;

constexpr char kNoMemory[] = "no memory to read ahead";

}  // namespace

AheadSource::AheadSource(std::unique_ptr<ByteSource> source)
    : source_(std::move(source)), most_(kBlocksAhead) {}

AheadSource::~AheadSource() {
  {
    const Lock lock(mu_);
    closing_ = true;
  }
  room_.notify_one();
  if (thread_.joinable()) thread_.join();
}

// Start starts the thread. If the system refuses one, the caller continues to
// read by itself.
void AheadSource::Start() {
  if (thread_.joinable()) return;
  try {
    thread_ = std::thread(&AheadSource::Loop, this);
  } catch (const std::system_error&) {
  }
}

void AheadSource::ReadAhead(size_t bytes) {
  {
    const Lock lock(mu_);
    most_ = std::max(bytes / kBlockBytes, kBlocksAhead);
  }
  Start();
}

// Fill reads a whole block, or the bytes before the end or a fault. An empty
// block means the end.
bool AheadSource::Fill(Block* block, Fault* fault) {
  if (block->data == nullptr) {
    block->data.reset(new (std::nothrow) char[kBlockBytes]);
    if (block->data == nullptr) {
      return fault->Set(Cause::kResourceExhausted, kNoMemory);
    }
  }
  block->size = 0;
  while (block->size < kBlockBytes) {
    size_t got;
    if (!source_->Read(block->data.get() + block->size,
                       kBlockBytes - block->size, &got, fault)) {
      return false;
    }
    if (got == 0) break;
    block->size += got;
  }
  return true;
}

// Enough reports whether a caller that waits for blocks should continue.
bool AheadSource::Enough() const { return ended_ || blocks_.size() >= kEnough; }

// Loop reads blocks until the end, a fault or the destructor.
void AheadSource::Loop() {
  Lock lock(mu_);
  while (!ended_) {
    if (blocks_.size() >= most_) {
      full_ = true;
      room_.wait(lock, [&] { return closing_ || blocks_.size() <= most_ / 2; });
      full_ = false;
    }
    if (closing_) return;
    Block block;
    if (!spares_.empty()) {
      block = std::move(spares_.back());
      spares_.pop_back();
    }
    lock.unlock();
    Fault fault;
    bool more = false;
    try {
      more = Fill(&block, &fault) && block.size == kBlockBytes;
    } catch (const std::bad_alloc&) {
      fault.Set(Cause::kResourceExhausted, kNoMemory);
    }
    lock.lock();
    if (block.size > 0) blocks_.push_back(std::move(block));
    ended_ = !more;
    if (ended_) fault_ = std::move(fault);
    if (!waiting_ || !Enough()) continue;
    lock.unlock();  // otherwise the woken thread waits for the lock
    ready_.notify_one();
    lock.lock();
  }
}

// NextBlock makes Read continue with the next block; an empty one means the
// end.
bool AheadSource::NextBlock(Fault* fault) {
  Lock lock(mu_);
  if (block_.data != nullptr && spares_.size() < kMostSpares) {
    spares_.push_back(std::move(block_));
  }
  block_ = Block();
  taken_ = 0;
  if (blocks_.empty()) {
    waiting_ = true;
    ready_.wait(lock, [&] { return Enough(); });
    waiting_ = false;
  }
  if (blocks_.empty()) {
    if (fault_.cause == Cause::kNone) return true;
    *fault = fault_;
    return false;
  }
  block_ = std::move(blocks_.front());
  blocks_.pop_front();
  const bool room = full_ && blocks_.size() <= most_ / 2;
  lock.unlock();
  if (room) room_.notify_one();
  return true;
}

bool AheadSource::Read(char* to, size_t n, size_t* got, Fault* fault) {
  if (own_ >= kOwnBytes) Start();
  if (!thread_.joinable()) {
    if (!source_->Read(to, n, got, fault)) return false;
    own_ += *got;
    return true;
  }
  *got = 0;
  if (taken_ == block_.size && !NextBlock(fault)) return false;
  *got = std::min(n, block_.size - taken_);
  if (*got > 0) std::memcpy(to, block_.data.get() + taken_, *got);
  taken_ += *got;
  return true;
}

bool AheadSource::Skip(int64_t n, Fault* fault) {
  if (!thread_.joinable()) return source_->Skip(n, fault);
  while (n > 0) {
    if (taken_ == block_.size && !NextBlock(fault)) return false;
    if (block_.size == 0) {
      return fault->Set(Cause::kFailedPrecondition,
                        "it ends before where reading was to go on");
    }
    const size_t skipped =
        std::min<int64_t>(n, static_cast<int64_t>(block_.size - taken_));
    taken_ += skipped;
    n -= static_cast<int64_t>(skipped);
  }
  return true;
}

// CheckEnd is called at the end, after the thread has stopped reading.
bool AheadSource::CheckEnd(Fault* fault) {
  const Lock lock(mu_);
  return source_->CheckEnd(fault);
}

}  // namespace millrace
