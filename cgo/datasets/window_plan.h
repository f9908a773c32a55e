// The windows of a sequence of files.
#ifndef MILLRACE_CGO_DATASETS_WINDOW_PLAN_H_
#define MILLRACE_CGO_DATASETS_WINDOW_PLAN_H_

#include <cstdint>
#include <vector>

namespace millrace {

// WindowRules define the windows.
struct WindowRules {
  int64_t min = 1;
  int64_t max = 1;
  int64_t stride = 0;      // 0: each begins at the end of the last
  bool keep_tail = false;  // a shorter last window of at least min
  bool pad_tail = false;   // a padded last window of at least 1
  uint64_t seed = 0;
  int64_t epochs = 1;  // -1: endless
  // Numbers of the first epoch and file in the draws.
  int64_t first_epoch = 0;
  int64_t first_file = 0;
  std::vector<int64_t> sizes;  // the positions of each file
};

// WindowPosition is the start of the next window, if there is one.
struct WindowPosition {
  int64_t epoch = 0;
  int64_t file = 0;
  int64_t begin = 0;
  int64_t ordinal = 0;  // index in the file
};

// Window is an existing window.
struct Window {
  int64_t epoch;
  int64_t file;
  int64_t begin;
  int64_t size;
  int64_t padding;  // part of size beyond the end of the file
};

// DrawnSize returns the size of a window: a number of the counter-based
// generator Philox, whose counter is the window's ordinal and its epoch and
// file. TensorFlow's StatelessRandomUniformIntV2 gives the same number.
int64_t DrawnSize(const WindowRules& rules, const WindowPosition& at);

// NextWindow finds the next window and moves the position past it. It returns
// false at the end of all epochs.
bool NextWindow(const WindowRules& rules, WindowPosition* at, Window* window);

// Least returns the minimum number of positions of a file with a window.
inline int64_t Least(const WindowRules& rules) {
  return rules.pad_tail ? 1 : rules.min;
}

// HasWindows reports whether any file is long enough for one.
bool HasWindows(const WindowRules& rules);

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_WINDOW_PLAN_H_
