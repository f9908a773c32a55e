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

// WindowsAhead makes elements of consecutive windows.
//
// Threads that share one element are woken for each element, and wait for each
// other at its end. For elements of a few hundred kilobytes that takes as long
// as reading. Here every thread makes its own element, a few ahead of the
// caller, which is possible because the locations of an element's records are
// computed.
//
// Only sound elements take this path. Other elements are left to the caller,
// who reads their records one by one and can describe the fault. Not for
// several threads.
class WindowsAhead {
 public:
  // Allocate makes the tensors of an element of windows, and returns the
  // destinations of the values.
  using Allocate = std::function<absl::Status(
      tensorflow::Allocator* allocator, const std::vector<Window>& windows,
      std::vector<tensorflow::Tensor>* out, std::vector<char*>* to)>;

  // `threads` includes the calling thread.
  WindowsAhead(WindowRanges ranges, size_t windows, int64_t threads,
               Allocate allocate);

  // Next returns the next element and the position after it. It returns false
  // for an element that is left to the caller, who then calls Seek.
  bool Next(tensorflow::Allocator* allocator,
            std::vector<tensorflow::Tensor>* out, WindowsAt* behind);

  // Seek makes Next continue at a position, with records of the given layout.
  void Seek(const WindowsAt& at, const Layout& layout);

  // Stop drops the prefetched elements; Next returns false until the next Seek.
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
