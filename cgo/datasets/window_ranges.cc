#include "window_ranges.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace millrace {
namespace {

// The maximum number of files that one Find opens.
constexpr size_t kMostRanges = 64;

// ReadRange reads one range. `scratch` has space for the values of a record.
bool ReadRange(const RecordRange& range, const Layout& layout, char* scratch,
               char* to) {
  const auto values = static_cast<int64_t>(layout.values);
  for (int64_t i = 0; i < range.records;) {
    const int64_t offset = range.offset + i * RunBytes(layout);
    const int64_t begin = i * values - range.skip;  // offset in the taken bytes
    const int64_t whole =
        begin < 0 ? 0
                  : std::max<int64_t>(std::min((range.bytes - begin) / values,
                                               range.records - i),
                                      0);
    if (whole > 0) {
      if (ReadAlike(*range.file, layout, offset, whole, to + begin) < whole) {
        return false;
      }
      i += whole;
      continue;
    }
    if (ReadAlike(*range.file, layout, offset, 1, scratch) < 1) return false;
    const int64_t low = std::max<int64_t>(begin, 0);
    const int64_t high = std::min(begin + values, range.bytes);
    if (low < high) {
      std::memcpy(to + low, scratch + (low - begin),
                  static_cast<size_t>(high - low));
    }
    ++i;
  }
  return true;
}

}  // namespace

bool ReadRanges(const std::vector<RecordRange>& ranges, const Layout& layout,
                char* to) {
  std::vector<char> scratch(layout.values);
  for (const RecordRange& range : ranges) {
    if (!ReadRange(range, layout, scratch.data(), to)) return false;
    to += range.bytes;
    std::memset(to, 0, static_cast<size_t>(range.padding));
    to += range.padding;
  }
  return true;
}

void WindowRanges::Seek(const WindowsAt& at, const Layout& layout) {
  at_ = at;
  layout_ = layout;
  file_ = nullptr;
  open_ = -1;
}

// Open opens the file of the position, which must have the size of its records.
bool WindowRanges::Open() {
  const ReadPosition& read = at_.read;
  if (open_ != read.file) {
    Fault ignored;  // reading the records one by one finds it again
    file_ = FileSource::Open(files_.names[read.file], &ignored);
    open_ = file_ == nullptr ? -1 : read.file;
    if (file_ == nullptr) return false;
  }
  const int64_t left = files_.counts[read.file] - read.ordinal;
  return left >= 0 &&
         left <= (file_->size() - read.offset) / RunBytes(layout_) &&
         read.offset + left * RunBytes(layout_) == file_->size();
}

// From returns the records from one up to but excluding another of the open
// file.
RecordRange WindowRanges::From(int64_t first, int64_t end) const {
  RecordRange range;
  range.file = file_;
  range.offset =
      at_.read.offset + (first - at_.read.ordinal) * RunBytes(layout_);
  range.records = end - first;
  return range;
}

// MoveTo moves to a file. Records outside of all windows are checked.
bool WindowRanges::MoveTo(int64_t epoch, int64_t file,
                          std::vector<RecordRange>* ranges) {
  const auto files = static_cast<int64_t>(files_.names.size());
  ReadPosition& read = at_.read;
  for (;;) {
    if (read.file == files) read = ReadPosition{read.epoch + 1};
    if (ranges->size() > kMostRanges || read.epoch > epoch || !Open()) {
      return false;
    }
    if (read.epoch == epoch && read.file == file) return true;
    const int64_t count = files_.counts[read.file];
    if (read.ordinal < count) ranges->push_back(From(read.ordinal, count));
    read = ReadPosition{read.epoch, read.file + 1};
  }
}

bool WindowRanges::Find(size_t n, std::vector<Window>* windows,
                        std::vector<RecordRange>* ranges) {
  windows->clear();
  ranges->clear();
  if (layout_.values == 0) return false;
  Window window;
  while (windows->size() < n && NextWindow(rules_, &at_.next, &window)) {
    windows->push_back(window);
  }
  if (windows->size() < n) return false;
  for (size_t i = 0; i < n;) {
    Window joined = (*windows)[i++];
    while (i < n && (*windows)[i].epoch == joined.epoch &&
           (*windows)[i].file == joined.file) {
      joined.padding = (*windows)[i].padding;  // only the last one has any
      joined.size += (*windows)[i++].size;
    }
    if (!MoveTo(joined.epoch, joined.file, ranges)) return false;
    const int64_t end = joined.begin + joined.size - joined.padding;
    const int64_t first = joined.begin / positions_;
    if (first < at_.read.ordinal || end <= joined.begin) return false;
    RecordRange range = From(first, (end + positions_ - 1) / positions_);
    range.skip = (joined.begin - first * positions_) * position_bytes_;
    range.bytes = (end - joined.begin) * position_bytes_;
    range.padding = joined.padding * position_bytes_;
    const int64_t behind = end / positions_;
    at_.read.offset = From(behind, behind).offset;
    at_.read.ordinal = behind;
    ranges->push_back(std::move(range));
  }
  return true;
}

}  // namespace millrace
