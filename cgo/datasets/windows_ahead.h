// Elements of windows of plain local files, made ahead by several threads.
#ifndef MILLRACE_CGO_DATASETS_WINDOWS_AHEAD_H_
#define MILLRACE_CGO_DATASETS_WINDOWS_AHEAD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "read_ahead.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/tensor.h"
#include "window_ranges.h"

namespace millrace {

// WindowsAhead makes the elements of windows that lie one behind the other.
//
// Threads that share out one element are woken for each, and wait for each
// other at its end. For elements of a few hundred kilobytes that takes as long
// as reading. Here every thread makes an element of its own, a few ahead of the
// caller, since where the records of an element are is computed.
//
// Only what is as it should be takes this way. An element that is not is left
// to the caller, who reads its records one by one and can say what is wrong.
// Not for several threads.
class WindowsAhead {
 public:
  // Allocate makes the tensors of an element of windows, and tells where the
  // values go.
  using Allocate = std::function<absl::Status(
      tensorflow::Allocator* allocator, const std::vector<Window>& windows,
      std::vector<tensorflow::Tensor>* out, std::vector<char*>* to)>;

  // `threads` counts the calling one.
  WindowsAhead(WindowRanges ranges, size_t windows, int64_t threads,
               Allocate allocate);

  // Next returns the next element and where windows go on behind it. It returns
  // false for an element that is left to the caller, who then calls Seek.
  bool Next(tensorflow::Allocator* allocator,
            std::vector<tensorflow::Tensor>* out, WindowsAt* behind);

  // Seek has Next go on at a place, with records of a layout.
  void Seek(const WindowsAt& at, const Layout& layout);

  // Stop forgets what was made ahead; Next returns false until the next Seek.
  void Stop();

 private:
  class Piece;

  const size_t windows_;
  const Allocate allocate_;
  tensorflow::Allocator* allocator_ = nullptr;  // set by the first Next
  WindowRanges ranges_;
  bool stopped_ = true;
  ReadAhead ahead_;  // the last member: its threads use the others
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_WINDOWS_AHEAD_H_
