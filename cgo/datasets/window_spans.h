// The records that windows of one size consist of.
#ifndef MILLRACE_CGO_DATASETS_WINDOW_SPANS_H_
#define MILLRACE_CGO_DATASETS_WINDOW_SPANS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace {

// WindowForm says how windows are cut from files. A unit is a position or a
// record.
struct WindowForm {
  int64_t size = 1;         // units of a window
  int64_t step = 1;         // from the begin of a window to the next one
  int64_t each = 1;         // units of a record
  bool pad = false;         // a shorter last window counts, too
  int64_t first = 0;        // first record that is read, over all files
  int64_t end = INT64_MAX;  // the record after the last one that is read
};

// WindowSpan is a window: records that follow each other, and where in them it
// begins and ends, in units from the first record's begin.
struct WindowSpan {
  int64_t first = 0;  // index of the first record over all files
  int64_t records = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

// WindowSpans finds windows by their numbers, which count the windows of all
// files. loaders/stage/order has the same rules in Go. Several threads may use
// it.
class WindowSpans {
 public:
  // `counts` are the records of each file, none negative. The units of all
  // records together must fit an int64.
  WindowSpans(const WindowForm& form, const std::vector<int64_t>& counts)
      : form_(form) {
    int64_t before = 0;
    for (const int64_t count : counts) {
      Part part;
      part.first = std::min(std::max(form.first, before), before + count);
      part.end = std::max(std::min(form.end, before + count), part.first);
      files_.push_back(part);
      starts_.push_back(starts_.back() + WindowsOf(part));
      before += count;
    }
  }

  // each returns how many units a record has.
  int64_t each() const { return form_.each; }

  // size returns how many windows there are.
  int64_t size() const { return starts_.back(); }

  // InFiles returns how many windows each file has.
  std::vector<int64_t> InFiles() const {
    std::vector<int64_t> windows;
    for (size_t i = 0; i < files_.size(); ++i) {
      windows.push_back(starts_[i + 1] - starts_[i]);
    }
    return windows;
  }

  // At returns a window below size().
  WindowSpan At(int64_t window) const {
    const auto file = std::upper_bound(starts_.begin(), starts_.end(), window) -
                      starts_.begin() - 1;
    const Part& part = files_[file];
    const int64_t begin = (window - starts_[file]) * form_.step;
    const int64_t end = std::min(begin + form_.size, Units(part));
    const int64_t from = begin / form_.each;
    const int64_t to = (end + form_.each - 1) / form_.each;
    return {part.first + from, to - from, begin - from * form_.each,
            end - from * form_.each};
  }

 private:
  struct Part {
    int64_t first = 0;  // record of the file that is read first
    int64_t end = 0;
  };

  int64_t Units(const Part& part) const {
    return (part.end - part.first) * form_.each;
  }

  int64_t WindowsOf(const Part& part) const {
    const int64_t units = Units(part);
    int64_t windows =
        units < form_.size ? 0 : (units - form_.size) / form_.step + 1;
    if (form_.pad && windows * form_.step < units) ++windows;
    return windows;
  }

  const WindowForm form_;
  std::vector<Part> files_;
  std::vector<int64_t> starts_ = {
      0};  // windows of the files before, and of all
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_WINDOW_SPANS_H_
