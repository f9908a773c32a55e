#include "ordered_batches.h"

#include <algorithm>
#include <new>
#include <utility>

#include "ordered_horizon.h"

namespace millrace {

using namespace tensorflow;  // NOLINT

namespace {

// In a larger horizon records are closer to each other, but the first batch is
// delayed until it is read. So the first horizon is small, and each is twice as
// large as the one before. Kept files do not need large ones.
constexpr int64_t kFirstBytes = 256 << 10;

constexpr size_t kOpenFiles = 128;       // number of files that stay open
constexpr int64_t kSoonBytes = 1 << 20;  // bytes of a file prefetched at a time
constexpr size_t kAhead = 2;             // number of small horizons

// A horizon looks at so many positions for records that are not skipped.
constexpr int64_t kMostPositions = 1 << 20;

}  // namespace

// Horizon has the batches of a range of positions.
class OrderedBatches::Horizon : public ReadAhead::Piece {
 public:
  explicit Horizon(OrderedBatches* all)
      : all_(*all),
        batcher_(all->options_.make_batcher()),
        records_(all->table_, &all->files_, all->kept_) {
    batcher_->KeepRecords();
  }

  // Find finds the records of whole batches from a position on. It returns
  // the position after them, or the given one if there is no whole batch.
  int64_t Find(int64_t position) {
    records_.Clear();
    ends_.clear();
    RecordOrder& order = all_.order_;
    const int64_t rows = all_.options_.rows;
    const bool skips = !order.spec().skipped.empty();
    const int64_t left = all_.options_.end - position;
    const int64_t end = position + (skips ? left : left / rows * rows);
    int64_t row = 0;
    for (int64_t at = position; at < end; ++at) {
      if (row == 0 && !ends_.empty() && records_.Full(all_.bytes_)) break;
      if (records_.added() > OrderedHorizon::kMostRecords) return position;
      if (skips && at - position > kMostPositions) break;
      const int64_t number = order.At(at);
      if (skips && order.Skips(number)) continue;
      records_.Add(number);
      if (++row < rows) continue;
      ends_.push_back(at + 1);
      row = 0;
    }
    batches_.clear();
    batches_.resize(ends_.size());
    return ends_.empty() ? position : ends_.back();
  }

  void Load() override {
    try {
      if (!records_.Read(nullptr)) return;
      for (size_t i = 0; i < batches_.size(); ++i) {
        if (!Make(i)) batches_[i].clear();
      }
    } catch (const std::bad_alloc&) {
    }
  }

  size_t bytes() const override {
    return static_cast<size_t>(records_.bytes());
  }

  // size returns the number of batches.
  size_t size() const { return batches_.size(); }

  // end returns the position after a batch.
  int64_t end(size_t i) const { return ends_[i]; }

  // Take returns a batch, false if it is left to the caller.
  bool Take(size_t i, std::vector<Tensor>* out) {
    if (batches_[i].empty()) return false;
    *out = std::move(batches_[i]);
    return true;
  }

 private:
  // Make makes a batch.
  bool Make(size_t i) {
    const int64_t rows = all_.options_.rows;
    if (!batcher_->Begin(all_.allocator_, rows).ok()) return false;
    const size_t first = i * static_cast<size_t>(rows);
    for (int64_t row = 0; row < rows; ++row) {
      std::string_view record;
      Fault ignored;
      if (!records_.Record(first + row, &record) ||
          !batcher_->Add(record, row, &ignored) ||
          (all_.options_.usual_form && !batcher_->IsUsual(record))) {
        return false;
      }
    }
    return batcher_->Finish(all_.allocator_, rows, &batches_[i]).ok();
  }

  OrderedBatches& all_;
  const std::unique_ptr<Batcher> batcher_;
  OrderedHorizon records_;
  std::vector<int64_t> ends_;                 // the position after each batch
  std::vector<std::vector<Tensor>> batches_;  // empty: left to the caller
};

OrderedBatches::OrderedBatches(const RecordTable& table, KeptFiles* kept,
                               OrderSpec order, Options options)
    : table_(table),
      kept_(kept),
      options_(std::move(options)),
      files_(kOpenFiles),
      order_(std::move(order)),
      bytes_(kFirstBytes),
      ahead_(options_.threads, kAhead, [this] { return Find(); }) {
  BufferOrder* const buffers = order_.buffers();
  if (kept_ != nullptr || buffers == nullptr) return;
  const int64_t mean = table_.bytes() / std::max<int64_t>(table_.records(), 1);
  buffers->Announce(
      std::max<int64_t>(kSoonBytes / std::max<int64_t>(mean, 1), 1),
      [this](int64_t begin, int64_t end) { ReadSoon(begin, end); });
}

// ReadSoon makes the system read the records of a file ahead.
void OrderedBatches::ReadSoon(int64_t begin, int64_t end) {
  const RecordTable::Entry first = table_.Find(begin);
  const RecordTable::Entry last = table_.Find(end - 1, first.file);
  const auto file = files_.Open(first.file, table_.names()[first.file]);
  if (file == nullptr) return;
  file->AdviseSoon(first.offset, last.offset + last.length - first.offset);
}

std::shared_ptr<OrderedBatches::Horizon> OrderedBatches::Find() {
  std::shared_ptr<Horizon> horizon;
  {
    const std::lock_guard<std::mutex> lock(mu_);
    if (!spares_.empty()) {
      horizon = std::move(spares_.back());
      spares_.pop_back();
    }
  }
  if (horizon == nullptr) horizon = std::make_shared<Horizon>(this);
  const int64_t end = horizon->Find(found_);
  if (end == found_) return nullptr;
  found_ = end;
  if (kept_ == nullptr) {
    bytes_ = std::min(2 * bytes_, OrderedHorizon::MostBytes(table_));
  }
  return horizon;
}

bool OrderedBatches::Next(Allocator* allocator, std::vector<Tensor>* out) {
  if (allocator_ == nullptr) allocator_ = allocator;
  if (current_ != nullptr && taken_ == current_->size()) {
    const std::lock_guard<std::mutex> lock(mu_);
    spares_.push_back(std::move(current_));
  }
  if (current_ == nullptr) {
    current_ = std::static_pointer_cast<Horizon>(ahead_.Next());
    taken_ = 0;
  }
  if (current_ == nullptr) return false;
  position_ = current_->end(taken_);
  return current_->Take(taken_++, out);
}

void OrderedBatches::Seek(int64_t position) {
  if (position == position_) return;
  position_ = position;
  current_ = nullptr;
  ahead_.Restart([&] {
    found_ = position;
    bytes_ = kFirstBytes;
  });
}

}  // namespace millrace
