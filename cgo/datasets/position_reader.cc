#include "position_reader.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <utility>

namespace millrace {
namespace {

// Minimum size of values that are worth a separate read, and maximum size of
// the bytes around them.
constexpr size_t kMinDirect = 16 << 10;
constexpr size_t kMaxAround = 4 << 10;
constexpr int64_t kMaxRun = 1 << 20;  // records

}  // namespace

PositionReader::PositionReader(std::vector<FeatureSpec> features,
                               std::vector<int64_t> row_bytes,
                               int64_t positions, size_t buffer_bytes,
                               int64_t threads, OpenSource open)
    : decoder_(std::move(features)),
      row_bytes_(std::move(row_bytes)),
      positions_(positions),
      reader_(buffer_bytes, std::move(open)),
      workers_(threads),
      kept_(row_bytes_.size()),
      destinations_(row_bytes_.size()) {}

void PositionReader::Close() {
  reader_.Close();
  offsets_.clear();
  for (auto& values : kept_) values.clear();
}

bool PositionReader::Open(const std::string& path, int64_t count,
                          int64_t offset, int64_t ordinal, Fault* fault) {
  Close();
  path_ = path;
  count_ = count;
  first_ = ordinal;
  return reader_.Open(path, offset, ordinal, fault);
}

// Decode decodes the next record.
bool PositionReader::Decode(char* const* to, bool* end, Fault* fault) {
  std::string_view record;
  switch (reader_.Next(&record, fault)) {
    case RecordReader::Outcome::kFault:
      return false;
    case RecordReader::Outcome::kEnd:
      *end = true;
      if (reader_.ordinal() == count_) return true;
      return Miscounted("only " + std::to_string(reader_.ordinal()), fault);
    case RecordReader::Outcome::kRecord:
      break;
  }
  *end = false;
  if (reader_.ordinal() > count_) return Miscounted("more", fault);
  for (size_t i = 0; i < destinations_.size(); ++i) {
    destinations_[i].base = to[i];
  }
  if (!decoder_.Decode(record, destinations_.data(), 0, fault)) {
    reader_.Describe(fault);
    return false;
  }
  Learn(record);
  return true;
}

bool PositionReader::Miscounted(const std::string& has, Fault* fault) const {
  fault->Set(Cause::kFailedPrecondition,
             "%" PRId64 " records were counted, it has %s", count_,
             has.c_str());
  return fault->In(path_);
}

// Learn remembers the layout of a record. Large records of one feature mostly
// differ only in its values, which are then read directly to their destination.
void PositionReader::Learn(std::string_view record) {
  size_t at = 0, n = 0;
  const bool fits = record.size() >= kMinDirect &&
                    decoder_.Values(record, &at, &n) && n >= kMinDirect &&
                    record.size() - n <= kMaxAround;
  reader_.ReadExactly(fits);
  if (!fits) {
    layout_.values = 0;
    return;
  }
  const std::string_view before = record.substr(0, at);
  const std::string_view after = record.substr(at + n);
  if (n == layout_.values && before == layout_.before &&
      after == layout_.after) {
    run_ = std::max<int64_t>(run_, 1);
    return;
  }
  layout_.values = n;
  layout_.before = before;
  layout_.after = after;
  run_ = 0;
}

// DecodeRun decodes up to n of the next records, as long as they have the
// layout of the last one, and returns their number. It tries few at first, and
// more while they match.
int64_t PositionReader::DecodeRun(int64_t n, char* to) {
  n = std::min({n, run_, count_ - reader_.ordinal()});
  if (n <= 0 ||
      layout_.values != static_cast<size_t>(positions_ * row_bytes_[0])) {
    return 0;
  }
  const int64_t done = reader_.NextRun(layout_, n, to, &workers_);
  run_ = done < n ? 0 : std::min(2 * run_, kMaxRun);
  return done;
}

// Drop removes the records before a position. Memory is only compacted when
// most of it is free, so this is cheap on average.
void PositionReader::Drop(int64_t before) {
  const auto have = static_cast<int64_t>(offsets_.size());
  const int64_t n = std::clamp<int64_t>(before / positions_ - first_, 0, have);
  if (n == 0 || (n < have && n < have / 2 + 1)) return;
  offsets_.erase(offsets_.begin(), offsets_.begin() + n);
  for (size_t i = 0; i < kept_.size(); ++i) {
    const size_t bytes = static_cast<size_t>(n * positions_ * row_bytes_[i]);
    kept_[i].erase(kept_[i].begin(), kept_[i].begin() + bytes);
  }
  first_ += n;
}

// Append adds a record to those kept.
bool PositionReader::Append(int64_t keep, Fault* fault) {
  Drop(keep);
  if (offsets_.empty()) first_ = reader_.ordinal();
  std::vector<char*> to(kept_.size());
  for (size_t i = 0; i < kept_.size(); ++i) {
    const size_t had = kept_[i].size();
    kept_[i].resize(had + static_cast<size_t>(positions_ * row_bytes_[i]));
    to[i] = kept_[i].data() + had;
  }
  const int64_t offset = reader_.offset();
  bool end;
  if (!Decode(to.data(), &end, fault)) return false;
  if (end) {
    return fault->Set(Cause::kFailedPrecondition,
                      "a window reaches past the end of its file");
  }
  offsets_.push_back(offset);
  return true;
}

bool PositionReader::Copy(int64_t begin, int64_t n, int64_t keep,
                          char* const* to, Fault* fault) {
  std::vector<char*> at(to, to + kept_.size());
  while (n > 0) {
    const int64_t low = first_ * positions_;
    const int64_t high =
        low + static_cast<int64_t>(offsets_.size()) * positions_;
    int64_t taken = 0;
    if (!offsets_.empty() && begin >= low && begin < high) {
      taken = std::min(n, high - begin);
      for (size_t i = 0; i < at.size(); ++i) {
        std::memcpy(at[i], kept_[i].data() + (begin - low) * row_bytes_[i],
                    static_cast<size_t>(taken * row_bytes_[i]));
      }
    } else if (reader_.ordinal() * positions_ == begin && n >= positions_ &&
               keep >= begin + positions_) {
      const int64_t most = std::min(n, keep - begin) / positions_;
      const int64_t run = DecodeRun(most, at[0]);
      bool end = false;
      if (run == 0 && !Decode(at.data(), &end, fault)) return false;
      if (end) {
        return fault->Set(Cause::kFailedPrecondition,
                          "a window reaches past the end of its file");
      }
      taken = std::max<int64_t>(run, 1) * positions_;
    } else if (begin < low && !offsets_.empty()) {
      return fault->Set(Cause::kFailedPrecondition,
                        "positions are asked for again");
    } else {
      if (!Append(std::min(keep, begin), fault)) return false;
    }
    for (size_t i = 0; i < at.size(); ++i) at[i] += taken * row_bytes_[i];
    begin += taken;
    n -= taken;
  }
  return true;
}

bool PositionReader::Finish(Fault* fault) {
  std::vector<std::vector<char>> scratch(kept_.size());
  std::vector<char*> to(kept_.size());
  for (size_t i = 0; i < scratch.size(); ++i) {
    scratch[i].resize(static_cast<size_t>(positions_ * row_bytes_[i]));
    to[i] = scratch[i].data();
  }
  for (bool end = false; !end;) {
    if (!Decode(to.data(), &end, fault)) return false;
  }
  Close();
  return true;
}

void PositionReader::Resume(int64_t begin, int64_t* offset,
                            int64_t* ordinal) const {
  *offset = reader_.offset();
  *ordinal = reader_.ordinal();
  const int64_t record = begin / positions_ - first_;
  if (record >= 0 && record < static_cast<int64_t>(offsets_.size())) {
    *offset = offsets_[record];
    *ordinal = first_ + record;
  }
}

}  // namespace millrace
