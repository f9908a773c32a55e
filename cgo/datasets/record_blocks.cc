#include "record_blocks.h"

#include <algorithm>
#include <utility>

namespace millrace {
namespace {

// A piece is read in one call of the system. It is large enough that the
// overhead of the call and of passing a block on does not matter, and small
// enough to be still in the processor's own cache when its checksums are
// computed.
constexpr size_t kPieceBytes = 256 << 10;
constexpr size_t kLeastPiece = 4 << 10;

// This number of blocks in addition to the number of threads keeps the threads
// busy while the caller sleeps or is busy itself, and still fits the last-level
// cache of most processors.
constexpr size_t kBlocksAhead = 6;

}  // namespace

RecordBlocks::RecordBlocks(const FileList& files, size_t buffer_bytes,
                           int64_t threads, std::shared_ptr<BlockPool> pool)
    : files_(files),
      pool_(std::move(pool)),
      walk_(files, buffer_bytes, OpenFile),
      found_(files),
      piece_(kPieceBytes),
      ahead_(threads, kBlocksAhead, [this]() -> std::shared_ptr<RecordBlock> {
        std::shared_ptr<RecordBlock> block = pool_->Take();
        return Find(block.get()) ? block : nullptr;
      }) {}

void RecordBlocks::Seek(const WalkPosition& at) {
  Restart(at);
  position_ = at;
}

// Restart drops the prefetched blocks, and continues at a position.
void RecordBlocks::Restart(const WalkPosition& at) {
  block_ = nullptr;
  taken_ = 0;
  ahead_.Restart([&] { found_.Seek(at); });
}

// Find finds the next block.
bool RecordBlocks::Find(RecordBlock* block) {
  if (!found_.Open() ||
      !block->Find(found_.file(), found_.at(), found_.count(), piece_)) {
    return false;
  }
  // If records are short, a piece has the size of a full block.
  if (block->size() == RecordBlock::kMostRecords && block->bytes() < piece_) {
    piece_ = std::max(kLeastPiece, block->bytes() + block->bytes() / 8);
  } else {
    piece_ = std::min(kPieceBytes, 2 * piece_);
  }
  found_.GoTo(block->slot(block->size() - 1).behind());
  return true;
}

// Walk reads the next record alone, and describes its fault.
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
  if (block_ == nullptr || taken_ == block_->size()) {
    block_ = nullptr;  // the pool may want it
    block_ = std::static_pointer_cast<const RecordBlock>(ahead_.Next());
    taken_ = 0;
  }
  if (block_ == nullptr || !block_->slot(taken_).intact()) {
    return Walk(record, end, fault);
  }
  const RecordSlot& slot = block_->slot(taken_);
  if (slot.fault().cause != Cause::kNone) {
    const WalkPosition at = slot.at();
    *fault = slot.fault();
    Restart(position_);  // the next call reads the record again
    return fault->At(files_.names[at.file], at.ordinal, at.offset);
  }
  position_ = slot.behind();
  *record = {block_, &slot};
  ++taken_;
  return true;
}

}  // namespace millrace
