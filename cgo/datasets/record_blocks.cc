#include "record_blocks.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "crc32c.h"
#include "record_frame.h"

namespace millrace {
namespace {

constexpr uint64_t kMaxRecord = 256 << 20;  // a larger one is RecordWalk's

// A block of so many bytes keeps a few workers busy for a hundred times as long
// as waking them takes, and still fits the last cache of most processors. Where
// records are larger every thread gets one, up to a limit.
constexpr size_t kBlockBytes = 2 << 20;
constexpr size_t kMaxBlockBytes = 64 << 20;
constexpr size_t kBlockRecords = 256;

}  // namespace

bool RecordSlot::Reserve(size_t bytes) {
  if (capacity_ >= bytes) return true;
  bytes_.reset();
  capacity_ = 0;
  bytes_.reset(new (std::nothrow) char[bytes]);
  if (bytes_ == nullptr) return false;
  capacity_ = bytes;
  return true;
}

// Load reads and decodes the record that was found. Several slots may load at
// once.
void RecordSlot::Load() {
  const size_t stored = length_ + kFooter;
  if (!Reserve(stored)) return;
  struct iovec part = {bytes_.get(), stored};
  if (!file_->ReadParts(&part, 1, at_.offset + kHeader)) return;
  const char* const data = bytes_.get();
  if (MaskCrc(Crc32c(data, length_)) != LoadLittle<uint32_t>(data + length_)) {
    return;
  }
  intact_ = true;
  Decode({data, length_}, &fault_);
}

// Spares are the slots that nobody holds.
struct RecordBlocks::Spares {
  std::vector<std::unique_ptr<RecordSlot>> slots;
};

RecordBlocks::RecordBlocks(const FileList& files, size_t buffer_bytes,
                           int64_t threads,
                           std::function<std::unique_ptr<RecordSlot>()> make)
    : files_(files),
      threads_(static_cast<size_t>(std::max<int64_t>(threads, 1))),
      make_(std::move(make)),
      spares_(std::make_shared<Spares>()),
      walk_(files, buffer_bytes, OpenFile),
      workers_(threads) {}

void RecordBlocks::Seek(const WalkPosition& at) {
  block_.clear();
  taken_ = 0;
  file_ = nullptr;
  open_ = -1;
  position_ = at;
}

// Take returns a slot that comes back to the spares when nobody holds it.
std::shared_ptr<RecordSlot> RecordBlocks::Take() {
  std::unique_ptr<RecordSlot> slot;
  if (spares_->slots.empty()) {
    slot = make_();
  } else {
    slot = std::move(spares_->slots.back());
    spares_->slots.pop_back();
  }
  slot->intact_ = false;
  slot->fault_ = Fault();
  slot->file_ = nullptr;
  const std::weak_ptr<Spares> spares = spares_;
  return std::shared_ptr<RecordSlot>(
      slot.release(), [spares](RecordSlot* used) {
        std::unique_ptr<RecordSlot> owned(used);
        if (const auto kept = spares.lock()) {
          kept->slots.push_back(std::move(owned));
        }
      });
}

// NextFile moves from the end of the open file to the begin of the next one,
// if that is where it should end.
bool RecordBlocks::NextFile(WalkPosition* at) {
  const int64_t count = files_.counts[at->file];
  Fault ignored;  // RecordWalk finds it again
  if (at->file + 1 == static_cast<int64_t>(files_.names.size()) ||
      (count >= 0 && count != at->ordinal) || !file_->CheckEnd(&ignored)) {
    return false;
  }
  *at = {at->epoch, at->file + 1, 0, 0, at->seen + at->ordinal};
  return true;
}

// Find adds the record at a position to the block and moves behind it.
bool RecordBlocks::Find(WalkPosition* at) {
  int64_t left = 0;
  for (;;) {
    if (at->epoch > 0 ||
        at->file >= static_cast<int64_t>(files_.names.size())) {
      return false;
    }
    if (open_ != at->file) {
      Fault ignored;
      file_ = FileSource::Open(files_.names[at->file], &ignored);
      open_ = file_ == nullptr ? -1 : at->file;
      if (file_ == nullptr) return false;
    }
    left = file_->left() - at->offset;
    if (left != 0) break;
    if (!NextFile(at)) return false;
  }
  const int64_t count = files_.counts[at->file];
  char header[kHeader];
  struct iovec part = {header, kHeader};
  constexpr int64_t kFrame = kHeader + kFooter;
  if (left < kFrame || (count >= 0 && at->ordinal >= count) ||
      !file_->ReadParts(&part, 1, at->offset) ||
      MaskCrc(Crc32c(header, 8)) != LoadLittle<uint32_t>(header + 8)) {
    return false;
  }
  const auto length = LoadLittle<uint64_t>(header);
  if (length > kMaxRecord || length > static_cast<uint64_t>(left - kFrame)) {
    return false;
  }
  std::shared_ptr<RecordSlot> slot = Take();
  slot->at_ = *at;
  slot->file_ = file_;
  slot->length_ = length;
  block_.push_back(std::move(slot));
  at->offset += kFrame + static_cast<int64_t>(length);
  ++at->ordinal;
  return true;
}

// ReadBlock reads the next records, as long as they are as they should be.
void RecordBlocks::ReadBlock() {
  block_.clear();
  taken_ = 0;
  WalkPosition at = position_;
  for (size_t bytes = 0; block_.size() < kBlockRecords && Find(&at);) {
    bytes += block_.back()->length_;
    const size_t most = block_.size() < threads_ ? kMaxBlockBytes : kBlockBytes;
    if (bytes >= most) break;
  }
  workers_.Run(block_.size(), [this](size_t i) { block_[i]->Load(); });
}

// Walk reads the next record by itself, and tells what is wrong with it.
bool RecordBlocks::Walk(std::shared_ptr<const RecordSlot>* record, bool* end,
                        Fault* fault) {
  block_.clear();
  taken_ = 0;
  walk_.Seek(position_);
  std::string_view data;
  if (!walk_.Next(&data, end, fault)) return false;
  const WalkPosition behind = walk_.position();
  if (*end) {
    position_ = behind;
    return true;
  }
  std::shared_ptr<RecordSlot> slot = Take();
  if (!slot->Reserve(data.size() + 1)) {
    return fault->Set(Cause::kResourceExhausted, "no memory for a record");
  }
  std::copy(data.begin(), data.end(), slot->bytes_.get());
  slot->length_ = data.size();
  slot->at_ = {behind.epoch, behind.file, walk_.offset(), walk_.ordinal(),
               behind.seen};
  if (!slot->Decode({slot->bytes_.get(), data.size()}, fault)) {
    walk_.Describe(fault);
    return false;
  }
  position_ = behind;
  *record = std::move(slot);
  return true;
}

bool RecordBlocks::Next(std::shared_ptr<const RecordSlot>* record, bool* end,
                        Fault* fault) {
  *end = false;
  if (taken_ == block_.size()) ReadBlock();
  if (taken_ == block_.size() || !block_[taken_]->intact_) {
    return Walk(record, end, fault);
  }
  std::shared_ptr<RecordSlot> slot = std::move(block_[taken_++]);
  const WalkPosition& at = slot->at_;
  if (slot->fault_.cause != Cause::kNone) {
    *fault = slot->fault_;
    block_.clear();  // asked again, it reads the record again
    taken_ = 0;
    return fault->At(files_.names[at.file], at.ordinal, at.offset);
  }
  constexpr int64_t kFrame = kHeader + kFooter;
  position_ = {at.epoch, at.file,
               at.offset + kFrame + static_cast<int64_t>(slot->length_),
               at.ordinal + 1, at.seen};
  *record = std::move(slot);
  return true;
}

}  // namespace millrace
