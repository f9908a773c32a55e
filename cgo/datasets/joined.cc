#include "joined.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace millrace {
namespace {

// CopyElements copies n elements of `bytes` bytes each, which begin `stride`
// bytes apart. Most elements are short, and a call of memcpy takes as long as
// the copy of one. So short elements are copied here, 16 bytes at a time, where
// the last copy may overlap the one before.
void CopyElements(const char* from, size_t n, size_t bytes, size_t stride,
                  char* to) {
  constexpr size_t kStep = 16, kLong = 1024;
  if (bytes < kStep || bytes > kLong) {
    for (; n > 0; --n, from += stride, to += bytes) {
      std::memcpy(to, from, bytes);
    }
    return;
  }
  const size_t last = bytes - kStep;
  for (; n > 0; --n, from += stride, to += bytes) {
    for (size_t i = 0; i < last; i += kStep) {
      std::memcpy(to + i, from + i, kStep);
    }
    std::memcpy(to + last, from + last, kStep);
  }
}

}  // namespace

// Reserve allocates space for `bytes` bytes in total.
bool Joined::Reserve(size_t bytes) {
  if (bytes <= capacity_ && data_ != nullptr) return true;
  const size_t grown = std::max(2 * capacity_, std::max<size_t>(bytes, 1024));
  std::unique_ptr<char[]> larger(new (std::nothrow) char[grown]);
  if (larger == nullptr) return false;
  if (size_ > 0 && elsewhere_.empty()) {
    std::memcpy(larger.get(), data_.get(), size_);
  }
  data_ = std::move(larger);
  capacity_ = grown;
  return true;
}

// Collect copies the elements that are referred to.
bool Joined::Collect() {
  if (!Reserve(size_)) return false;
  char* to = data_.get();
  for (size_t i = 0; i < elsewhere_.size(); ++i) {
    Copy(i, bytes_, to);
    to += (splits_[i + 1] - splits_[i]) * bytes_;
  }
  elsewhere_.clear();
  return true;
}

char* Joined::Add(size_t n) {
  if (!elsewhere_.empty() && !Collect()) return nullptr;
  if (n > SIZE_MAX - size_ || !Reserve(size_ + n)) return nullptr;
  size_ += n;
  return data_.get() + size_ - n;
}

void Joined::Copy(size_t record, size_t bytes, char* to, int64_t most) const {
  const int64_t begin = splits_[record];
  const auto n =
      static_cast<size_t>(std::min(splits_[record + 1] - begin, most));
  if (n == 0) return;
  if (elsewhere_.empty()) {
    std::memcpy(to, data() + begin * bytes, n * bytes);
    return;
  }
  const Elements& e = elsewhere_[record];
  if (e.stride == bytes) {
    std::memcpy(to, e.first, n * bytes);
    return;
  }
  CopyElements(e.first, n, bytes, e.stride, to);
}

bool Joined::AddText(std::string_view text) {
  char* const at = Add(text.size());
  if (at == nullptr) return false;
  if (!text.empty()) std::memcpy(at, text.data(), text.size());
  texts_.push_back(size_);
  return true;
}

}  // namespace millrace
