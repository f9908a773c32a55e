// The records of windows, found without reading them.
#ifndef MILLRACE_CGO_DATASETS_WINDOW_RANGES_H_
#define MILLRACE_CGO_DATASETS_WINDOW_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "file_source.h"
#include "record_run.h"
#include "record_walk.h"
#include "window_plan.h"

namespace millrace {

// ReadPosition is the current file and the first record that is still needed.
struct ReadPosition {
  int64_t epoch = 0;
  int64_t file = 0;
  int64_t offset = 0;
  int64_t ordinal = 0;
};

// WindowsAt is the position of the next window: the state of an iterator.
struct WindowsAt {
  WindowPosition next;
  ReadPosition read;
};

// RecordRange is a range of consecutive records of a file, and the range of
// their joined values to take. The other bytes are only checked.
struct RecordRange {
  std::shared_ptr<const FileSource> file;
  int64_t offset = 0;   // offset of the first record
  int64_t records = 0;  // at least 1
  int64_t skip = 0;     // bytes before the taken ones
  int64_t bytes = 0;
  int64_t padding = 0;  // bytes of zeros after them
};

// WindowRanges finds consecutive windows in plain local files of records of one
// layout. The offset of each record in its file is computed, so that several
// threads can read consecutive windows:
//
//   records   |  0   |  1   |  2   |  3   |  4   |
//   windows   [  ][  ][  ] [  ][  ][  ] [  ][  ][  ] ...
//   ranges    records 0-1     1-3          3-4
//
// A record on the border of two ranges is read for both. Not for several
// threads.
class WindowRanges {
 public:
  // The list and the rules must outlive the ranges. The stride is 0. A record
  // has `positions` positions of `row_bytes` bytes.
  WindowRanges(const FileList& files, const WindowRules& rules,
               int64_t positions, int64_t position_bytes)
      : files_(files),
        rules_(rules),
        positions_(positions),
        position_bytes_(position_bytes) {}

  // Seek makes Find continue at a position, with records of the given layout.
  void Seek(const WindowsAt& at, const Layout& layout);

  // Clear makes Find return false until the next Seek.
  void Clear() { Seek({}, {}); }

  // Find finds the next n windows and their records. It returns false if there
  // are fewer, or at a faulty file: one that cannot be opened, or whose size
  // does not match its records.
  bool Find(size_t n, std::vector<Window>* windows,
            std::vector<RecordRange>* ranges);

  // at returns the position of the next window.
  const WindowsAt& at() const { return at_; }

  const Layout& layout() const { return layout_; }

 private:
  bool Open();
  bool MoveTo(int64_t epoch, int64_t file, std::vector<RecordRange>* ranges);
  RecordRange From(int64_t first, int64_t end) const;

  const FileList& files_;
  const WindowRules& rules_;
  const int64_t positions_;
  const int64_t position_bytes_;
  Layout layout_;
  WindowsAt at_;
  std::shared_ptr<const FileSource> file_;
  int64_t open_ = -1;  // index of file_
};

// ReadRanges reads ranges one after the other to `to`. It returns false if any
// record has another layout, or is not intact. Several threads may call it.
bool ReadRanges(const std::vector<RecordRange>& ranges, const Layout& layout,
                char* to);

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_WINDOW_RANGES_H_
