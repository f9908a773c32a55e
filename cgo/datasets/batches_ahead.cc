#include "batches_ahead.h"

#include <new>
#include <utility>

namespace millrace {

using namespace tensorflow;  // NOLINT

namespace {

// A batch that is ready holds its records and its tensors.
constexpr size_t kBatchesAhead = 2;

}  // namespace

// Piece is a batch and its records.
class BatchesAhead::Piece : public ReadAhead::Piece {
 public:
  explicit Piece(BatchesAhead* all)
      : all_(*all), batcher_(all->options_.make_batcher()) {
    batcher_->KeepRecords();
  }

  bool Find() {
    records_ = all_.TakeRecords();
    const auto rows = static_cast<size_t>(all_.options_.rows);
    const bool found = records_->Find(&all_.cursor_, rows);
    bytes_ = records_->bytes();
    behind_ = records_->behind();
    if (!found) all_.GiveBack(std::move(records_));
    return found;
  }

  void Load() override {
    try {
      good_ = Decode();
    } catch (const std::bad_alloc&) {
      good_ = false;
    }
    all_.GiveBack(std::move(records_));
  }

  size_t bytes() const override { return bytes_; }

  // Take returns the batch, false if it is left to the caller.
  bool Take(std::vector<Tensor>* out, WalkPosition* behind) {
    if (!good_) return false;
    *out = std::move(batch_);
    *behind = behind_;
    return true;
  }

 private:
  bool Decode() {
    batch_.clear();
    const auto rows = static_cast<int64_t>(records_->size());
    if (!batcher_->Begin(all_.allocator_, rows).ok()) return false;
    for (int64_t i = 0; i < rows; ++i) {
      const std::string_view record = records_->record(i);
      Fault ignored;
      if (!records_->Intact(i) || !batcher_->Add(record, i, &ignored) ||
          (all_.options_.usual_form && !batcher_->IsUsual(record))) {
        return false;
      }
    }
    return batcher_->Finish(all_.allocator_, rows, &batch_).ok();
  }

  BatchesAhead& all_;
  const std::unique_ptr<Batcher> batcher_;
  std::unique_ptr<RecordRows> records_;  // until they are decoded
  size_t bytes_ = 0;
  WalkPosition behind_;
  std::vector<Tensor> batch_;
  bool good_ = false;
};

BatchesAhead::BatchesAhead(const FileList& files, Options options)
    : options_(std::move(options)),
      cursor_(files),
      ahead_(options_.threads, kBatchesAhead, [this] { return Find(); }) {}

std::shared_ptr<BatchesAhead::Piece> BatchesAhead::Spare() {
  const std::lock_guard<std::mutex> lock(mu_);
  if (spares_.empty()) return std::make_shared<Piece>(this);
  std::shared_ptr<Piece> piece = std::move(spares_.back());
  spares_.pop_back();
  return piece;
}

std::unique_ptr<RecordRows> BatchesAhead::TakeRecords() {
  const std::lock_guard<std::mutex> lock(mu_);
  if (records_.empty()) return std::make_unique<RecordRows>();
  std::unique_ptr<RecordRows> records = std::move(records_.back());
  records_.pop_back();
  return records;
}

void BatchesAhead::GiveBack(std::unique_ptr<RecordRows> records) noexcept {
  const std::lock_guard<std::mutex> lock(mu_);
  try {
    records_.push_back(std::move(records));
  } catch (const std::bad_alloc&) {  // they are not reused
  }
}

std::shared_ptr<BatchesAhead::Piece> BatchesAhead::Find() {
  std::shared_ptr<Piece> piece = Spare();
  if (piece->Find()) return piece;
  const std::lock_guard<std::mutex> lock(mu_);
  spares_.push_back(std::move(piece));
  return nullptr;
}

bool BatchesAhead::Next(Allocator* allocator, std::vector<Tensor>* out,
                        WalkPosition* behind) {
  if (allocator_ == nullptr) allocator_ = allocator;
  const auto piece = std::static_pointer_cast<Piece>(ahead_.Next());
  if (piece == nullptr) return false;
  const bool good = piece->Take(out, behind);
  const std::lock_guard<std::mutex> lock(mu_);
  spares_.push_back(piece);
  return good;
}

void BatchesAhead::Seek(const WalkPosition& at) {
  ahead_.Restart([&] { cursor_.Seek(at); });
}

}  // namespace millrace
