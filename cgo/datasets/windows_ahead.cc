#include "windows_ahead.h"

#include <new>
#include <utility>

namespace millrace {

using namespace tensorflow;  // NOLINT

namespace {

// An element that is ready holds its tensors.
constexpr size_t kElementsAhead = 2;

}  // namespace

// Piece is an element and its records.
class WindowsAhead::Piece : public ReadAhead::Piece {
 public:
  explicit Piece(WindowsAhead* all) : all_(*all) {}

  bool Find() {
    if (!all_.ranges_.Find(all_.windows_, &windows_, &ranges_)) return false;
    behind_ = all_.ranges_.at();
    for (const RecordRange& range : ranges_) {
      bytes_ +=
          static_cast<size_t>(range.records * RunBytes(all_.ranges_.layout()));
    }
    return true;
  }

  void Load() override {
    try {
      std::vector<char*> to;
      good_ = all_.allocate_(all_.allocator_, windows_, &out_, &to).ok() &&
              ReadRanges(ranges_, all_.ranges_.layout(), to[0]);
    } catch (const std::bad_alloc&) {
      good_ = false;
    }
  }

  size_t bytes() const override { return bytes_; }

  // Take returns the element, false if it is left to the caller.
  bool Take(std::vector<Tensor>* out, WindowsAt* behind) {
    if (!good_) return false;
    *out = std::move(out_);
    *behind = behind_;
    return true;
  }

 private:
  WindowsAhead& all_;
  std::vector<Window> windows_;
  std::vector<RecordRange> ranges_;
  WindowsAt behind_;
  size_t bytes_ = 0;
  std::vector<Tensor> out_;
  bool good_ = false;
};

WindowsAhead::WindowsAhead(WindowRanges ranges, size_t windows, int64_t threads,
                           Allocate allocate)
    : windows_(windows),
      allocate_(std::move(allocate)),
      ranges_(std::move(ranges)),
      ahead_(threads, kElementsAhead, [this] {
        auto piece = std::make_shared<Piece>(this);
        return piece->Find() ? piece : nullptr;
      }) {}

bool WindowsAhead::Next(Allocator* allocator, std::vector<Tensor>* out,
                        WindowsAt* behind) {
  if (stopped_) return false;
  if (allocator_ == nullptr) allocator_ = allocator;
  const auto piece = std::static_pointer_cast<Piece>(ahead_.Next());
  return piece != nullptr && piece->Take(out, behind);
}

void WindowsAhead::Seek(const WindowsAt& at, const Layout& layout) {
  stopped_ = false;
  ahead_.Restart([&] { ranges_.Seek(at, layout); });
}

void WindowsAhead::Stop() {
  if (!stopped_) ahead_.Restart([&] { ranges_.Clear(); });
  stopped_ = true;
}

}  // namespace millrace
