#include "joined.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace millrace {

// Reserve makes room for so many bytes in all.
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

// Collect copies the elements that are elsewhere.
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

void Joined::Copy(size_t record, size_t bytes, char* to) const {
  const int64_t begin = splits_[record];
  const auto n = static_cast<size_t>(splits_[record + 1] - begin);
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
  for (size_t i = 0; i < n; ++i) {
    std::memcpy(to + i * bytes, e.first + i * e.stride, bytes);
  }
}

bool Joined::AddText(std::string_view text) {
  char* const at = Add(text.size());
  if (at == nullptr) return false;
  if (!text.empty()) std::memcpy(at, text.data(), text.size());
  texts_.push_back(size_);
  return true;
}

}  // namespace millrace
